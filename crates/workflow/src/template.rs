//! Texts with variables in them: `Implement ${task.title}`.
//!
//! `${name.path[0]}` is a variable and `$${` stands for a plain `${`. A value that is text goes in
//! as it is, null as nothing at all, and everything else as JSON. Functions behind a bar change it
//! before: `${files | join ', '}`.

mod function;
mod parse;
mod reference;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::scope::VariableScope;

pub use function::TemplateFunction;
pub use parse::{TemplateError, TemplateProblem};
pub use reference::{PathSegment, UndefinedReason, UndefinedVariable, VariableReference};

pub(crate) use function::first as first_function;
pub(crate) use parse::reference_at;

/// A text with variables. Equal if its source is; on disk it is its source.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TextTemplate {
    source: String,
    parts: Vec<TemplatePart>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum TemplatePart {
    Text(String),
    Variable(VariableReference),
    /// A value that is no text; then it is the only part.
    Constant(Value),
}

impl TextTemplate {
    /// Reads a text; the first thing that is wrong with it is the error.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let (template, mut errors) = Self::parse_all(source);
        if errors.is_empty() { Ok(template) } else { Err(errors.swap_remove(0)) }
    }

    /// Reads a text and tells everything that is wrong with it, in order. What is wrong is plain
    /// text in the template.
    pub fn parse_all(source: &str) -> (Self, Vec<TemplateError>) {
        let (parts, errors) = parse::parse_parts(source);
        (Self { source: source.to_owned(), parts }, errors)
    }

    /// A template that renders to exactly this text, whatever is in it.
    pub fn verbatim(text: &str) -> Self {
        let parts =
            if text.is_empty() { Vec::new() } else { vec![TemplatePart::Text(text.to_owned())] };
        Self { source: text.replace("${", "$${"), parts }
    }

    /// A template that is this value, as if it were a variable with it. On disk it is the value
    /// in an object of its own.
    pub fn constant(value: Value) -> Self {
        Self { source: value.to_string(), parts: vec![TemplatePart::Constant(value)] }
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The variables in it, in order, with their offsets in the source.
    pub fn references(&self) -> impl Iterator<Item = &VariableReference> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Variable(reference) => Some(reference),
            TemplatePart::Text(_) | TemplatePart::Constant(_) => None,
        })
    }

    /// The variable that this template is, if there is nothing beside it and nothing is done with it.
    pub fn single(&self) -> Option<&VariableReference> {
        match self.parts.as_slice() {
            [TemplatePart::Variable(reference)] => {
                Some(reference).filter(|reference| reference.functions.is_empty())
            }
            _ => None,
        }
    }

    /// The text if there is no variable in it.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with the variables filled in.
    pub fn render(&self, scope: &VariableScope) -> Result<String, UndefinedVariable> {
        // Each value is looked up once and copied once, so that values of megabytes stay cheap.
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(part) => text.push_str(part),
                TemplatePart::Variable(reference) => {
                    append(&mut text, &reference.changed(scope.resolve(reference)?));
                }
                TemplatePart::Constant(value) => append(&mut text, value),
            }
        }
        Ok(text)
    }

    /// The text with the variables filled in that are known; the others stay as they are written.
    pub fn render_known(&self, scope: &VariableScope) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(part) => text.push_str(part),
                TemplatePart::Variable(reference) => match scope.resolve(reference) {
                    Ok(value) => append(&mut text, &reference.changed(value)),
                    Err(_) => {
                        text.extend(["${", &reference.with_functions(), "}"]);
                    }
                },
                TemplatePart::Constant(value) => append(&mut text, value),
            }
        }
        text
    }

    /// The value: that of the variable if the template is a single one, else the rendered text.
    pub fn value(&self, scope: &VariableScope) -> Result<Value, UndefinedVariable> {
        match self.parts.as_slice() {
            [TemplatePart::Variable(reference)] => {
                scope.resolve(reference).map(|value| reference.changed(value).into_owned())
            }
            [TemplatePart::Constant(value)] => Ok(value.clone()),
            _ => self.render(scope).map(Value::String),
        }
    }
}

/// Adds a value to a text as variables do.
fn append(text: &mut String, value: &Value) {
    match value {
        Value::Null => {}
        Value::String(value) => text.push_str(value),
        other => text.push_str(&other.to_string()),
    }
}

/// A value as the text that a variable becomes: text as it is, null as nothing, the rest as JSON.
pub fn to_text(value: &Value) -> String {
    let mut text = String::new();
    append(&mut text, value);
    text
}

impl fmt::Display for TextTemplate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

impl fmt::Debug for TextTemplate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Template({:?})", self.source)
    }
}

impl std::str::FromStr for TextTemplate {
    type Err = TemplateError;

    fn from_str(source: &str) -> Result<Self, TemplateError> {
        Self::parse(source)
    }
}

/// How a template stands on disk: its source, or marked as a constant.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredTemplate {
    Text(String),
    Constant { constant: Value },
}

impl Serialize for TextTemplate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.parts.as_slice() {
            [TemplatePart::Constant(value)] => {
                StoredTemplate::Constant { constant: value.clone() }.serialize(serializer)
            }
            _ => serializer.serialize_str(&self.source),
        }
    }
}

impl<'de> Deserialize<'de> for TextTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match StoredTemplate::deserialize(deserializer)? {
            StoredTemplate::Text(source) => Self::parse(&source).map_err(serde::de::Error::custom),
            StoredTemplate::Constant { constant } => Ok(Self::constant(constant)),
        }
    }
}
