//! What can be done with a value before it becomes text: `${files | join ', '}`.

use std::fmt;

use serde_json::Value;

use super::to_text;

/// The functions there are, for people who wrote another.
pub(super) const NAMES: [&str; 6] = ["default", "join", "lines", "indent", "quote", "json"];

/// How far a text is indented at most.
const MAX_INDENT: usize = 100;

/// Something done with a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TemplateFunction {
    /// This text instead of null and of empty text.
    Default(String),
    /// The elements of an array, with this between them.
    Join(String),
    /// The elements of an array, a line for each.
    Lines,
    /// All lines but the first begin with so many blanks.
    Indent(usize),
    /// All lines begin with `> `, as what somebody else said.
    Quote,
    /// The value as JSON, texts too.
    Json,
}

/// Why a function cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadFunction {
    Unknown(String),
    /// What it needs, in words.
    Argument(&'static str, &'static str),
}

impl TemplateFunction {
    /// Reads one function with its argument.
    pub(super) fn parse(text: &str) -> Result<Self, BadFunction> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        let (name, argument) = (&text[..end], text[end..].trim());
        let none = |function: Self, name: &'static str| {
            let is_alone = argument.is_empty();
            is_alone.then_some(function).ok_or(BadFunction::Argument(name, "nothing behind it"))
        };
        match name {
            "default" => quoted(argument).map(Self::Default).ok_or(BadFunction::Argument(
                "default",
                "a text in quotes, as in `default 'main'`",
            )),
            "join" => quoted(argument)
                .map(Self::Join)
                .ok_or(BadFunction::Argument("join", "a text in quotes, as in `join ', '`")),
            "indent" => {
                let spaces = argument.parse().ok().filter(|spaces| *spaces <= MAX_INDENT);
                let plain = argument.bytes().all(|byte| byte.is_ascii_digit());
                spaces
                    .filter(|_| plain)
                    .map(Self::Indent)
                    .ok_or(BadFunction::Argument("indent", "a number up to 100, as in `indent 4`"))
            }
            "lines" => none(Self::Lines, "lines"),
            "quote" => none(Self::Quote, "quote"),
            "json" => none(Self::Json, "json"),
            _ => Err(BadFunction::Unknown(name.to_owned())),
        }
    }

    /// What becomes of a value.
    pub(super) fn apply(&self, value: &Value) -> Value {
        let join = |between: &str| match value {
            Value::Array(items) => items.iter().map(to_text).collect::<Vec<_>>().join(between),
            other => to_text(other),
        };
        Value::String(match self {
            Self::Default(text) if is_nothing(value) => text.clone(),
            Self::Default(_) => return value.clone(),
            Self::Join(between) => join(between),
            Self::Lines => join("\n"),
            Self::Indent(spaces) => {
                to_text(value).replace('\n', &format!("\n{}", " ".repeat(*spaces)))
            }
            Self::Quote => {
                let text = to_text(value);
                let lines = text.lines().map(|line| format!("> {line}"));
                lines.collect::<Vec<_>>().join("\n")
            }
            Self::Json => value.to_string(),
        })
    }
}

impl fmt::Display for TemplateFunction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default(text) => write!(formatter, "default {}", Value::from(text.as_str())),
            Self::Join(text) => write!(formatter, "join {}", Value::from(text.as_str())),
            Self::Lines => formatter.write_str("lines"),
            Self::Indent(spaces) => write!(formatter, "indent {spaces}"),
            Self::Quote => formatter.write_str("quote"),
            Self::Json => formatter.write_str("json"),
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(str::is_empty)
}

/// A text in single quotes as it is, or in double quotes as in JSON.
fn quoted(text: &str) -> Option<String> {
    if let Some(inner) = text.strip_prefix('\'') {
        let inner = inner.strip_suffix('\'')?;
        return (!inner.contains('\'')).then(|| inner.to_owned());
    }
    text.starts_with('"').then(|| serde_json::from_str(text).ok()).flatten()
}

/// The first function of what stands behind a bar inside of `${}`, as it is written.
pub(crate) fn first(text: &str) -> &str {
    let end = close(text).unwrap_or(text.len());
    split(&text[..end]).first().map_or("", |function| function.trim())
}

/// The parts of a text between bars that are not in quotes.
pub(super) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    walk(text, |at, byte| {
        if byte == b'|' {
            parts.push(&text[begin..at]);
            begin = at + 1;
        }
        false
    });
    parts.push(&text[begin..]);
    parts
}

/// Where the `}` stands behind functions, those in quotes left out.
pub(super) fn close(text: &str) -> Option<usize> {
    let mut found = None;
    walk(text, |at, byte| {
        if byte == b'}' {
            found = Some(at);
        }
        byte == b'}' || byte == b'\n'
    });
    found
}

/// Goes through what is not in quotes, until it is told to stop.
fn walk(text: &str, mut each: impl FnMut(usize, u8) -> bool) {
    let (mut quote, mut escaped) = (None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(b'"'), b'\\') => escaped = true,
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, _) if each(at, byte) => return,
            _ => {}
        }
    }
}
