//! Checks what a grimoire wants to be given.

use coven_notation::{Node, Problem};

use super::context::Context;
use crate::bind;
use crate::condition::Type;
use crate::plan::InputType;

/// Checks the inputs, and tells what is known of `${input}`.
pub(super) fn check(context: &mut Context<'_>, root: &Node) -> Type {
    let Some(inputs) = root.get("inputs") else { return Type::object([]) };
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
        let required = entry.value.get("required").and_then(Node::as_bool) == Some(true);
        if let Some(default) = entry.value.get("default").filter(|default| !default.is_null()) {
            if required {
                let message = "an input that is required needs no default";
                let problem =
                    Problem::warning("useless-default", entry.value.key_span("default"), message);
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
            Some(InputType::String) => Type::Text,
            Some(InputType::Number) => Type::Number,
            Some(InputType::Boolean) => Type::Boolean,
            Some(InputType::Array) => Type::array(Type::Any),
            Some(InputType::Object) => Type::OBJECT,
            None => Type::Any,
        };
        fields.push((entry.key.clone(), known));
    }
    Type::object(fields)
}

/// The declared type; nothing if it is none.
fn kind(input: &Node) -> Option<InputType> {
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
