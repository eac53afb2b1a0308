//! Regular expressions of an adapter file, made ready.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder, RegexSetBuilder};

use super::{CompiledRule, RegionError, RegionPatterns, ScreenRegion};

/// The largest compiled pattern, in bytes. A pattern that needs more is a mistake or an attack.
const MAX_COMPILED_BYTES: usize = 4 << 20;

/// A pattern that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RuleError {
    #[error("the pattern of `{rule}` is no regular expression: {error}")]
    Pattern { rule: String, error: Box<regex::Error> },
    /// The region cannot be read.
    #[error("the region of `{rule}`: {error}")]
    Region { rule: String, error: RegionError },
}

/// The patterns of all rules, one set for each region, so that a region is searched once.
pub(super) fn sets(rules: &[CompiledRule]) -> Result<Vec<RegionPatterns>, RuleError> {
    let mut by_region: BTreeMap<ScreenRegion, Vec<usize>> = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        by_region.entry(rule.region).or_default().push(index);
    }
    by_region
        .into_iter()
        .map(|(region, members)| {
            let patterns = RegexSetBuilder::new(members.iter().map(|&rule| &rules[rule].source))
                .multi_line(true)
                .size_limit(MAX_COMPILED_BYTES * 4)
                .build()
                .map_err(|error| RuleError::Pattern {
                    rule: format!("all rules of {region}"),
                    error: Box::new(error),
                })?;
            Ok(RegionPatterns { region, patterns, rules: members })
        })
        .collect()
}

/// A pattern with its flags in itself. The line break ends a comment that `x` may have allowed.
pub(super) fn with_inline_flags(pattern: &str, flags: &str) -> String {
    let pattern = ascii_boundaries(pattern);
    let flags: String = flags.chars().filter(|flag| matches!(flag, 'i' | 's' | 'x')).collect();
    match flags.as_str() {
        "" => pattern,
        flags if flags.contains('x') => format!("(?{flags}:{pattern}\n)"),
        flags => format!("(?{flags}:{pattern})"),
    }
}

pub(super) fn compile(rule: &str, pattern: &str, flags: &str) -> Result<Regex, RuleError> {
    RegexBuilder::new(&ascii_boundaries(pattern))
        .multi_line(true)
        .case_insensitive(flags.contains('i'))
        .dot_matches_new_line(flags.contains('s'))
        .ignore_whitespace(flags.contains('x'))
        .size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|error| RuleError::Pattern { rule: rule.to_owned(), error: Box::new(error) })
}

/// Makes `\b` and `\B` look at ASCII only: with Unicode they make a set of fifty patterns some
/// two hundred times slower, and the words of these rules are ASCII.
fn ascii_boundaries(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    let mut in_class = 0_u32;
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(boundary @ ('b' | 'B')) if in_class == 0 => {
                    // `\b{start}` and its kin are already something else.
                    if chars.as_str().starts_with('{') {
                        out.push('\\');
                        out.push(boundary);
                    } else {
                        out.push_str("(?-u:\\");
                        out.push(boundary);
                        out.push(')');
                    }
                }
                Some(escaped) => {
                    out.push('\\');
                    out.push(escaped);
                }
                None => out.push('\\'),
            },
            '[' => {
                in_class += 1;
                out.push(char);
            }
            ']' => {
                in_class = in_class.saturating_sub(1);
                out.push(char);
            }
            _ => out.push(char),
        }
    }
    out
}
