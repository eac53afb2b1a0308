//! One variable in a text, and why it may have no value.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use super::function::TemplateFunction;
use super::parse::{self, TemplateProblem};

/// A variable: its name, the way into its value, and where it stands in its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariableReference {
    /// The name. `inputs` is the same as `input` and read as that.
    pub name: String,
    /// The way into the value.
    pub path: Vec<PathSegment>,
    /// The first byte of `${`, or of the name where no `${` is needed.
    pub offset: usize,
    /// How many bytes it takes, `${` and `}` included.
    pub length: usize,
    /// What is done with its value, in order.
    pub functions: Vec<TemplateFunction>,
}

/// One step of the way into a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathSegment {
    /// `.key` or `["key"]`, into an object.
    Key(String),
    /// `[0]`, into an array.
    Index(usize),
}

impl VariableReference {
    /// Reads what stands between `${` and `}`.
    pub fn parse(text: &str) -> Result<Self, TemplateProblem> {
        parse::reference(text)
    }

    /// Its value with everything done that is to be done with it.
    pub fn changed<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        let mut value = Cow::Borrowed(value);
        for function in &self.functions {
            value = Cow::Owned(function.apply(&value));
        }
        value
    }

    /// The variable with what is done with it, as text. Two that are the same have the same value.
    pub(crate) fn with_functions(&self) -> String {
        let mut text = self.to_string();
        for function in &self.functions {
            text.extend([" | ", &function.to_string()]);
        }
        text
    }

    /// The first `segments` steps, as text.
    pub(crate) fn prefix(&self, segments: usize) -> String {
        let mut text = self.name.clone();
        for segment in &self.path[..segments] {
            text.push_str(&segment.to_string());
        }
        text
    }

    /// The key at this place of the path, if there is one.
    pub fn key(&self, place: usize) -> Option<&str> {
        match self.path.get(place) {
            Some(PathSegment::Key(key)) => Some(key),
            _ => None,
        }
    }
}

impl fmt::Display for VariableReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.prefix(self.path.len()))
    }
}

impl fmt::Display for PathSegment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) if parse::is_plain_key(key) => write!(formatter, ".{key}"),
            Self::Key(key) => write!(formatter, "[\"{key}\"]"),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// A variable that has no value where it is used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`${{{name}}}` is not defined: {reason}")]
pub struct UndefinedVariable {
    /// The whole variable, without `${` and `}`.
    pub name: String,
    /// Where it stands in its text, in bytes.
    pub offset: usize,
    pub reason: UndefinedReason,
}

/// Why a variable has no value. `at` is the part of the variable that still had one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndefinedReason {
    /// The name is not there.
    #[error("there is no variable of that name{}", suggestion(near.as_deref()))]
    NoSuchName {
        /// A name that may have been meant.
        near: Option<String>,
    },
    /// An object without the key.
    #[error("`{at}` has no `{key}`{}", suggestion(near.as_deref()))]
    NoSuchKey {
        /// The part that has a value.
        at: String,
        key: String,
        /// A key that may have been meant.
        near: Option<String>,
    },
    /// An array that is too short.
    #[error("`{at}` has {length} element{}, and [{index}] is beyond them; they count from 0",
            if *length == 1 { "" } else { "s" })]
    NoSuchIndex {
        /// The part that has a value.
        at: String,
        index: usize,
        /// How many elements there are.
        length: usize,
    },
    /// A key where an index belongs.
    #[error("`{at}` is an array; choose an element with `{at}[0]`")]
    NeedsIndex {
        /// The part that has a value.
        at: String,
    },
    /// An index where a key belongs.
    #[error("`{at}` is an object; choose a part with `{at}.name`")]
    NeedsKey {
        /// The part that has a value.
        at: String,
    },
    /// A way into text.
    #[error("`{at}` is text; if the step answers in JSON, give it `expect: json`")]
    InsideText {
        /// The part that has a value.
        at: String,
    },
    /// A way into something without parts.
    #[error("`{at}` is {kind} and has no parts")]
    InsideNothing {
        /// The part that has a value.
        at: String,
        /// What it is, in words.
        kind: &'static str,
    },
}

impl UndefinedReason {
    /// The same with the part of the variable that still had a value.
    pub(crate) fn named(mut self, name: String) -> Self {
        match &mut self {
            Self::NoSuchName { .. } => {}
            Self::NoSuchKey { at, .. }
            | Self::NoSuchIndex { at, .. }
            | Self::NeedsIndex { at }
            | Self::NeedsKey { at }
            | Self::InsideText { at }
            | Self::InsideNothing { at, .. } => *at = name,
        }
        self
    }
}

fn suggestion(near: Option<&str>) -> String {
    near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
