//! Checks what a grimoire wants to be given.

use coven_notation::{FileProblem, SourceNode};

use super::context::CheckContext;
use crate::bind;
use crate::condition::ValueType;
use crate::plan::InputType;

/// Checks the inputs, and tells what is known of `${input}`.
pub(super) fn check(context: &mut CheckContext<'_>, root: &SourceNode) -> ValueType {
    let Some(inputs) = root.get("inputs") else { return ValueType::object([]) };
    let mut fields = Vec::new();
    for entry in inputs.entries() {
        if !is_name(&entry.key) {
            context.error(
                "bad-input-name",
                entry.key_span,
                format!("`{}` cannot be the name of an input", entry.key),
                "use letters, digits, `_` and `-`, and begin with a letter",
            );
        }
        let kind = kind(&entry.value);
        let required = entry.value.get("required").and_then(SourceNode::as_bool) == Some(true);
        if let Some(default) = entry.value.get("default").filter(|default| !default.is_null()) {
            if required {
                let message = "an input that is required needs no default";
                let problem = FileProblem::warning(
                    "useless-default",
                    entry.value.key_span("default"),
                    message,
                );
                context.push(problem.help("remove `required: true`, or the default"));
            }
            if let Some(kind) = kind
                && !bind::fits(kind, &default.to_json())
            {
                let message = format!("the default is not {}", kind.in_words());
                context.error(
                    "bad-default",
                    default.span,
                    message,
                    "change the default, or `type`",
                );
            }
        }
        let known = match kind {
            Some(InputType::String) => ValueType::Text,
            Some(InputType::Number) => ValueType::Number,
            Some(InputType::Boolean) => ValueType::Boolean,
            Some(InputType::Array) => ValueType::array(ValueType::Any),
            Some(InputType::Object) => ValueType::OBJECT,
            None => ValueType::Any,
        };
        fields.push((entry.key.clone(), known));
    }
    ValueType::object(fields)
}

/// The declared type; nothing if it is none.
fn kind(input: &SourceNode) -> Option<InputType> {
    match input.get("type") {
        None => Some(InputType::String),
        Some(kind) => serde_json::from_value(kind.to_json()).ok(),
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
