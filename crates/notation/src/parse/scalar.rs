//! What a plain YAML scalar means: the core schema of YAML 1.2.

use std::sync::LazyLock;

use regex::Regex;

use crate::Value;

#[expect(clippy::expect_used, reason = "a constant, compiled by every test of this crate")]
static FLOAT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$").expect("a valid pattern")
});

/// What an unquoted, untagged scalar is. `None` for numbers that JSON cannot hold.
pub(super) fn plain(text: &str) -> Option<Value> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return None,
        _ if infinite(text) => return None,
        _ => match number(text) {
            Some(Value::Float(number)) if !number.is_finite() => return None,
            Some(number) => number,
            None => Value::String(text.to_owned()),
        },
    })
}

fn infinite(text: &str) -> bool {
    matches!(text.trim_start_matches(['+', '-']), ".inf" | ".Inf" | ".INF") && text.len() <= 5
}

/// A number of the core schema: decimal, `0o17`, `0xff`, or a float.
pub(super) fn number(text: &str) -> Option<Value> {
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
        return Some(Value::Integer(number));
    }
    if let Ok(number) = text.parse::<u64>() {
        return Some(Value::Unsigned(number));
    }
    if FLOAT.is_match(text) { text.parse().ok().map(Value::Float) } else { None }
}

fn radix(digits: &str, radix: u32) -> Option<Value> {
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let number = u64::from_str_radix(digits, radix).ok()?;
    Some(i64::try_from(number).map_or(Value::Unsigned(number), Value::Integer))
}
