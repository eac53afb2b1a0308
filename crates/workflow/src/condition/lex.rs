//! Cuts a condition into words and signs.

use super::parse::FILTER_NAMES;
use super::{ConditionError, ConditionProblem};
use crate::template::{TemplateProblem, VariableReference, first_function, reference_at};

/// One word or sign of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ConditionToken {
    Text(String),
    Number(serde_json::Number),
    /// A name with its path, or a word of the language.
    Name(VariableReference),
    /// `${name}`: never a word of the language.
    Variable(VariableReference),
    Sign(&'static str),
}

#[derive(Clone, Debug)]
pub(super) struct SpannedToken {
    pub(super) token: ConditionToken,
    pub(super) offset: usize,
    pub(super) length: usize,
}

/// All signs; those that begin like another come first.
const OPERATORS: [&str; 21] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", ",", "|", "+", "-", "*",
    "/", "%", "=",
];

pub(super) fn error(offset: usize, length: usize, message: impl Into<String>) -> ConditionError {
    ConditionError { offset, length, problem: ConditionProblem::Syntax(message.into()) }
}

pub(super) fn tokens(source: &str) -> Result<Vec<SpannedToken>, ConditionError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = next_token(source, at, first)?;
        found.push(SpannedToken { token, offset: at, length });
        at += length;
    }
    Ok(found)
}

fn next_token(
    source: &str,
    at: usize,
    first: char,
) -> Result<(ConditionToken, usize), ConditionError> {
    let rest = &source[at..];
    match first {
        '\'' | '"' => text(rest, first, at),
        '0'..='9' => number(rest, at),
        '$' if rest.starts_with("${") => {
            let reference = reference_at(source, at).map_err(|wrong| match wrong.problem {
                TemplateProblem::UnknownFunction { .. } | TemplateProblem::Argument { .. } => {
                    function_of_texts(source, at)
                }
                _ => error(wrong.offset, wrong.length, wrong.to_string()),
            })?;
            let length = reference.length;
            Ok((ConditionToken::Variable(reference), length))
        }
        'a'..='z' | 'A'..='Z' | '_' => name(rest, at),
        _ => {
            let sign = OPERATORS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| unknown(first, at))?;
            if *sign == "=" {
                return Err(error(at, 1, "`=` gives no answer; `==` compares"));
            }
            Ok((ConditionToken::Sign(sign), sign.len()))
        }
    }
}

/// What is told of the first function inside of the `${}` that begins here. Functions make texts, and
/// a condition compares values.
pub(super) fn function_of_texts(source: &str, at: usize) -> ConditionError {
    let (variable, rest) = source[at..].split_once('|').unwrap_or((&source[at..], ""));
    let blanks = rest.len() - rest.trim_start().len();
    let text = first_function(rest);
    let offset = at + variable.len() + 1 + blanks;
    let name = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
    let name = name.unwrap_or_default();
    let names = FILTER_NAMES.map(|(name, _)| name);
    let message = if names.contains(&name) {
        let variable = variable.trim_end();
        format!("write `{variable}}} | {name}`: in a condition a filter stands outside of `${{}}`")
    } else {
        let names = names.join(", ");
        format!(
            "`{name}` does not work in a condition; after `|` comes one of {names}, outside of `${{}}`"
        )
    };
    error(offset, text.len().max(1), message)
}

fn unknown(first: char, at: usize) -> ConditionError {
    let message = match first {
        '&' => "`&` does not belong in a condition; write `and` or `&&`".to_owned(),
        '$' => "a variable is written `${name}` or just `name`".to_owned(),
        '{' => "conditions need no braces; write the name alone".to_owned(),
        _ => format!("`{first}` does not belong in a condition"),
    };
    error(at, first.len_utf8(), message)
}

/// A text in quotes; `\` takes the next character as it is.
fn text(rest: &str, quote: char, at: usize) -> Result<(ConditionToken, usize), ConditionError> {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((place, character)) = characters.next() {
        match character {
            '\\' => value
                .extend(characters.next().map(|(_, next)| if next == 'n' { '\n' } else { next })),
            _ if character == quote => {
                let length = place + 1;
                if let Some(inside) = rest[..length].find("${") {
                    return Err(error(
                        at + inside,
                        2,
                        "a variable in quotes is only text; write it without the quotes",
                    ));
                }
                return Ok((ConditionToken::Text(value), length));
            }
            _ => value.push(character),
        }
    }
    Err(error(at, rest.len(), format!("the text has no closing {quote}")))
}

fn number(rest: &str, at: usize) -> Result<(ConditionToken, usize), ConditionError> {
    let length = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'))
        .unwrap_or(rest.len());
    let text = &rest[..length];
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match text.parse::<serde_json::Number>() {
        Ok(number) if plain => Ok((ConditionToken::Number(number), length)),
        _ => Err(error(at, length, format!("`{text}` is no number; text needs quotes"))),
    }
}

/// A name with its path. A `-` inside a name belongs to it, because step names have it; minus
/// needs a blank before it.
fn name(rest: &str, at: usize) -> Result<(ConditionToken, usize), ConditionError> {
    let bytes = rest.as_bytes();
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        match byte {
            byte if byte.is_ascii_alphanumeric() || *byte == b'_' => length += 1,
            b'-' | b'.' if bytes.get(length + 1).copied().is_some_and(is_word) => length += 1,
            b'[' => match rest[length..].find(']') {
                Some(close) => length += close + 1,
                None => break,
            },
            _ => break,
        }
    }
    let reference = VariableReference::parse(&rest[..length])
        .map_err(|_| error(at, length, format!("`{}` is no name with a path", &rest[..length])))?;
    Ok((ConditionToken::Name(VariableReference { offset: at, length, ..reference }), length))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
