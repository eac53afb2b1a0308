//! Reads texts with variables.

use super::TemplatePart;
use super::function::{self, BadFunction, TemplateFunction};
use super::reference::{PathSegment, VariableReference};

/// Something that cannot be read, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct TemplateError {
    /// The first byte of what cannot be read.
    pub offset: usize,
    /// How many bytes it takes.
    pub length: usize,
    pub problem: TemplateProblem,
}

/// What can be wrong with a variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    #[error("`${{` has no `}}`; write `$${{` if it is meant as text")]
    Unclosed,
    /// Nothing between `${` and `}`.
    #[error("there is no name in `${{}}`; write `$${{` if it is meant as text")]
    Empty,
    /// Blanks around the name.
    #[error("`${{{0}}}` has blanks in it; write `${{{trimmed}}}`", trimmed = .0.trim())]
    Blanks(String),
    /// Operators of a shell, in something that no shell reads.
    #[error(
        "`${{{0}}}` is written as for a shell, and no shell reads this; a variable is a name and a path such as `${{task.files[0]}}`, and `$${{` is the text `${{`"
    )]
    ShellOperator(String),
    /// Nothing of that name can be done with a value.
    #[error(
        "`{name}` is no function{near}; there are `default`, `join`, `lines`, `indent`, `quote` and `json`"
    )]
    UnknownFunction {
        name: String,
        /// What may have been meant, as the end of a sentence.
        near: String,
    },
    /// A function with the wrong thing behind it, or with nothing.
    #[error("`{name}` takes {wanted}")]
    Argument { name: &'static str, wanted: &'static str },
    #[error(
        "`${{{0}}}` is no variable: write a name and a path such as `${{task.files[0]}}`, or `$${{` for the text `${{`"
    )]
    Malformed(String),
}

/// The parts of a text, and what is wrong with it.
pub(super) fn parse_parts(source: &str) -> (Vec<TemplatePart>, Vec<TemplateError>) {
    let mut parts = Vec::new();
    let mut errors = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&source.as_bytes()[at..], b"${") {
        let start = at + found;
        if source[..start].ends_with('$') && start > at {
            // `$${`: one dollar is taken back, the rest is text.
            text.push_str(&source[at..start - 1]);
            text.push_str("${");
            at = start + 2;
            continue;
        }
        text.push_str(&source[at..start]);
        match reference_at(source, start) {
            Ok(reference) => {
                if !text.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut text)));
                }
                at = start + reference.length;
                parts.push(TemplatePart::Variable(reference));
            }
            Err(error) => {
                // Of functions only the one is told that cannot be read.
                at = start + if error.offset == start { error.length } else { 2 };
                text.push_str(&source[start..at]);
                errors.push(error);
            }
        }
    }
    text.push_str(&source[at..]);
    if !text.is_empty() {
        parts.push(TemplatePart::Text(text));
    }
    (parts, errors)
}

/// How far a `}` is looked for: no variable is longer, and a text may have many openings.
const MAX_REFERENCE_CHARS: usize = 1024;

/// The variable whose `${` stands at `start`.
pub(crate) fn reference_at(source: &str, start: usize) -> Result<VariableReference, TemplateError> {
    let inside = start + 2;
    let limit = source.len().min(inside + MAX_REFERENCE_CHARS);
    let close = close(&source.as_bytes()[inside..limit]);
    let Some(length) = close else {
        return Err(TemplateError { offset: start, length: 2, problem: TemplateProblem::Unclosed });
    };
    if let Some(found) = with_functions(start, &source[inside..char_end(source, limit)]) {
        return found;
    }
    let length_all = length + 3;
    match reference(&source[inside..inside + length]) {
        Ok(reference) => Ok(VariableReference { offset: start, length: length_all, ..reference }),
        Err(problem) => Err(TemplateError { offset: start, length: length_all, problem }),
    }
}

/// The nearest end of a character up to here.
fn char_end(source: &str, mut at: usize) -> usize {
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A variable with functions, if a bar stands behind a variable.
fn with_functions(start: usize, rest: &str) -> Option<Result<VariableReference, TemplateError>> {
    let bar = rest.find(['|', '}', '\n']).filter(|bar| rest[*bar..].starts_with('|'))?;
    let variable = reference(rest[..bar].trim_end()).ok()?;
    let end = bar + function::close(&rest[bar..])?;
    let mut found = VariableReference { offset: start, length: end + 3, ..variable };
    for text in function::split(&rest[bar + 1..end]) {
        let problem = match TemplateFunction::parse(text) {
            Ok(function) => {
                found.functions.push(function);
                continue;
            }
            Err(BadFunction::Argument(name, wanted)) => TemplateProblem::Argument { name, wanted },
            Err(BadFunction::Unknown(name)) => {
                let near = coven_notation::near(&name, function::NAMES);
                let near = near.first().map(|near| format!("; did you mean `{near}`?"));
                TemplateProblem::UnknownFunction { name, near: near.unwrap_or_default() }
            }
        };
        let offset = start + 2 + (text.as_ptr() as usize - rest.as_ptr() as usize);
        return Some(Err(TemplateError { offset, length: text.len().max(1), problem }));
    }
    Some(Ok(found))
}

/// Where the `}` stands, quoted keys left out.
fn close(bytes: &[u8]) -> Option<usize> {
    let mut quoted = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' if quoted || at.checked_sub(1).is_some_and(|before| bytes[before] == b'[') => {
                quoted = !quoted;
            }
            b'}' if !quoted => return Some(at),
            b'\n' => return None,
            _ => {}
        }
    }
    None
}

/// Reads what stands between `${` and `}`.
pub(super) fn reference(text: &str) -> Result<VariableReference, TemplateProblem> {
    let malformed = || {
        if text.trim().is_empty() {
            TemplateProblem::Empty
        } else if text.trim() != text && reference(text.trim()).is_ok() {
            TemplateProblem::Blanks(text.to_owned())
        } else if text.starts_with(['#', '!', '@', '*', '?'])
            || text.contains([':', '%', '#', '/', '^', ',', '@', '*'])
        {
            TemplateProblem::ShellOperator(text.to_owned())
        } else {
            TemplateProblem::Malformed(text.to_owned())
        }
    };
    let end = text.find(|c: char| !is_key_char(c)).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Err(malformed());
    }
    let name = if name == "inputs" { "input" } else { name };
    let mut path = Vec::new();
    while !rest.is_empty() {
        let (segment, after) = segment(rest).ok_or_else(malformed)?;
        path.push(segment);
        rest = after;
    }
    let (name, functions) = (name.to_owned(), Vec::new());
    Ok(VariableReference { name, path, offset: 0, length: text.len(), functions })
}

/// The first step of a path, and what follows it.
fn segment(rest: &str) -> Option<(PathSegment, &str)> {
    if let Some(rest) = rest.strip_prefix('.') {
        let end = rest.find(|c: char| !is_key_char(c)).unwrap_or(rest.len());
        let (key, rest) = rest.split_at(end);
        return (!key.is_empty()).then(|| (PathSegment::Key(key.to_owned()), rest));
    }
    let rest = rest.strip_prefix('[')?;
    if let Some(quoted) = rest.strip_prefix('"') {
        let (key, rest) = quoted.split_once('"')?;
        return Some((PathSegment::Key(key.to_owned()), rest.strip_prefix(']')?));
    }
    let (index, rest) = rest.split_once(']')?;
    let plain = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    let index = index.parse().ok().filter(|_| plain)?;
    Some((PathSegment::Index(index), rest))
}

/// Whether a key can stand behind a dot.
pub(super) fn is_plain_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(is_key_char)
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
