//! The rule that a person makes by approving a command for always, and how it gets into a policy.
//!
//! The rule is for the whole command as it was asked, and nothing in it is a pattern. What could
//! not be read, is not whole, or cannot be taken apart as a shell does makes no rule.

use std::fmt::Write;

use coven_model::event::SessionRule;
use coven_model::{AskedAction, ContentDigest};
use coven_notation::{FileSyntax, ProblemReport, SourceFile, SourceNode, is_unprintable, parse};

use crate::Policy;
use crate::shell::{UnreadCommand, parts};

/// How many hexadecimal digits a name has, which makes equal names for different commands unlikely.
const NAME_DIGITS: usize = 12;

/// What a policy begins with that has none but such rules.
const NEW_POLICY: &str = "# Which questions of agents are answered without you.\n\
                          # `coven policy edit` changes it, `coven policy test` tries it.\n\
                          version: 2\nrules: []\n";

/// Why a command cannot be approved for always.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAlwaysRule {
    #[error("the agent does not show a command that can be read")]
    Unread,
    #[error("a part of the command is not shown")]
    Truncated,
    #[error("the agent broke the command into rows, which looks like line breaks of the command")]
    Wrapped,
    #[error(
        "the agent asks for more than the command ({0}), which a rule about the command cannot see"
    )]
    Extras(String),
    #[error("the command cannot be taken apart: {0}")]
    Unparsed(&'static str),
}

/// Why a rule was not added to a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddRuleError {
    #[error("your policy cannot be read, and was left as it is ({0})")]
    Wrong(String),
    #[error("your policy has version 1, in which a rule has no command")]
    OldVersion,
    #[error("your policy is written in a way to which no rule can be added")]
    Layout,
}

impl AddRuleError {
    /// That a policy cannot be read, with the first of what is wrong with it.
    pub fn wrong(report: &ProblemReport) -> Self {
        Self::Wrong(report.render(false).lines().next().unwrap_or_default().to_owned())
    }
}

/// The rule that approving this for always makes.
pub fn always_rule(adapter: &str, action: &AskedAction) -> Result<SessionRule, NoAlwaysRule> {
    if action.truncated {
        return Err(NoAlwaysRule::Truncated);
    }
    let command = action.command.as_deref().ok_or(NoAlwaysRule::Unread)?;
    if action.wrapped {
        return Err(NoAlwaysRule::Wrapped);
    }
    if !action.extras.is_empty() {
        return Err(NoAlwaysRule::Extras(action.extras.join(", ")));
    }
    parts(command).map_err(|UnreadCommand(why)| NoAlwaysRule::Unparsed(why))?;
    let digest = ContentDigest::of_bytes(format!("{adapter}\n{command}").as_bytes());
    let digits = digest.as_str().rsplit(':').next().unwrap_or_default();
    let name = format!("always-{}", digits.chars().take(NAME_DIGITS).collect::<String>());
    Ok(SessionRule { name, adapter: adapter.to_owned(), command: command.to_owned() })
}

/// The rule as it stands in a policy of version 2.
pub fn rule_text(rule: &SessionRule) -> String {
    let SessionRule { name, adapter, command } = rule;
    let (adapter, command) = (quoted(adapter), quoted(&literal(command)));
    format!("- name: {name}\n  adapter: {adapter}\n  command: {command}\n  decision: allow\n")
}

/// A policy with this rule behind all of its own, otherwise as it was: comments and layout stay.
/// A policy that has the rule stays as it is.
pub fn add_rule(source: Option<&SourceFile>, rule: &SessionRule) -> Result<String, AddRuleError> {
    let new = SourceFile::new("policy.yaml", NEW_POLICY);
    let source = source.unwrap_or(&new);
    let policy = Policy::read(source).map_err(|report| AddRuleError::wrong(&report))?;
    if policy.version() < 2 {
        return Err(AddRuleError::OldVersion);
    }
    let before = tree(source)?;
    let items = before.get("rules").map_or(&[][..], SourceNode::items);
    let named = |item: &&SourceNode| {
        item.get("name").and_then(SourceNode::as_str) == Some(rule.name.as_str())
    };
    if let Some(found) = items.iter().find(named) {
        let same = found.to_json() == as_json(rule)?;
        return if same { Ok(source.text().to_owned()) } else { Err(AddRuleError::Layout) };
    }
    let text = with_item(source.text(), &before, items, rule).ok_or(AddRuleError::Layout)?;
    // However the file is written: it must say the same as before, and this rule.
    let after = SourceFile::new(source.name(), text.as_str());
    Policy::read(&after).map_err(|_| AddRuleError::Layout)?;
    let mut expected = before.to_json();
    let rules = expected.get_mut("rules").and_then(serde_json::Value::as_array_mut);
    rules.ok_or(AddRuleError::Layout)?.push(as_json(rule)?);
    if tree(&after)?.to_json() != expected {
        return Err(AddRuleError::Layout);
    }
    Ok(text)
}

fn tree(source: &SourceFile) -> Result<SourceNode, AddRuleError> {
    parse(source, FileSyntax::Yaml).map_err(|_| AddRuleError::Layout)
}

fn as_json(rule: &SessionRule) -> Result<serde_json::Value, AddRuleError> {
    let source = SourceFile::new("rule.yaml", rule_text(rule));
    tree(&source)?.items().first().map(SourceNode::to_json).ok_or(AddRuleError::Layout)
}

/// The text with one more item in its list of rules.
fn with_item(
    text: &str,
    policy: &SourceNode,
    items: &[SourceNode],
    rule: &SessionRule,
) -> Option<String> {
    let (place, indent, end) = if let Some(last) = items.last() {
        let start = text.get(..last.span.start)?.trim_end_matches(' ').strip_suffix('-')?;
        let line = start.rfind('\n').map_or(0, |at| at + 1);
        let indent = &start[line..];
        if !indent.bytes().all(|byte| byte == b' ') {
            return None;
        }
        let end = text.get(..last.span.end)?.trim_end().len();
        let place = text[end..].find('\n').map_or(text.len(), |at| end + at);
        let place = text[..place].trim_end_matches('\r').len();
        (place, indent, place)
    } else {
        let empty = policy.get("rules")?.span;
        (text.get(..empty.start)?.trim_end_matches(' ').len(), "  ", empty.end)
    };
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut added = String::new();
    for line in rule_text(rule).lines() {
        write!(added, "{ending}{indent}{line}").ok()?;
    }
    Some(format!("{}{added}{}", &text[..place], &text[end..]))
}

/// A pattern that is nothing but this text.
fn literal(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// A text in YAML: plain quotes on one line, else the escapes of JSON.
fn quoted(text: &str) -> String {
    if !text.contains(is_unprintable) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let text = serde_json::Value::from(text).to_string();
    text.chars().map(shown).collect()
}

/// A character between double quotes: what would not show is written by its number, because a
/// person reads a rule before making it.
fn shown(character: char) -> String {
    match u32::from(character) {
        _ if !is_unprintable(character) => character.to_string(),
        number @ 0..=0xffff => format!("\\u{number:04x}"),
        number => format!("\\U{number:08x}"),
    }
}

#[cfg(test)]
mod tests;
