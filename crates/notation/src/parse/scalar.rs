//! What a plain YAML scalar means: the core schema of YAML 1.2.

use std::sync::LazyLock;

use regex::Regex;

use crate::NodeValue;

#[expect(clippy::expect_used, reason = "a constant, compiled by every test of this crate")]
static FLOAT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$").expect("a valid pattern")
});

/// What an unquoted, untagged scalar is. `None` for numbers that JSON cannot hold.
pub(super) fn plain(text: &str) -> Option<NodeValue> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => NodeValue::Null,
        "true" | "True" | "TRUE" => NodeValue::Bool(true),
        "false" | "False" | "FALSE" => NodeValue::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return None,
        _ if is_infinite(text) => return None,
        _ => match number(text) {
            Some(NodeValue::Float(number)) if !number.is_finite() => return None,
            Some(number) => number,
            None => NodeValue::String(text.to_owned()),
        },
    })
}

fn is_infinite(text: &str) -> bool {
    matches!(text.trim_start_matches(['+', '-']), ".inf" | ".Inf" | ".INF") && text.len() <= 5
}

/// A number of the core schema: decimal, `0o17`, `0xff`, or a float.
pub(super) fn number(text: &str) -> Option<NodeValue> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return None;
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Ok(number) = text.parse::<i64>() {
        return Some(NodeValue::Integer(number));
    }
    if let Ok(number) = text.parse::<u64>() {
        return Some(NodeValue::Unsigned(number));
    }
    if FLOAT.is_match(text) { text.parse().ok().map(NodeValue::Float) } else { None }
}

fn radix(digits: &str, radix: u32) -> Option<NodeValue> {
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let number = u64::from_str_radix(digits, radix).ok()?;
    Some(i64::try_from(number).map_or(NodeValue::Unsigned(number), NodeValue::Integer))
}
