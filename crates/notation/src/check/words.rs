//! What a schema expects and what a file has, in words.

use serde_json::Value as Json;

use super::{SchemaChecker, array, enumeration, title_phrase};
use crate::{NodeValue, SourceNode};

/// How much of a text is quoted.
const MAX_QUOTED_CHARS: usize = 40;
/// How many names are listed.
const MAX_LISTED_NAMES: usize = 20;

impl<'s> SchemaChecker<'s> {
    /// What the schemas allow, as the object of "expected".
    pub(super) fn expected(&self, schemas: &[&'s Json]) -> String {
        let mut words: Vec<String> = Vec::new();
        for schema in schemas {
            for word in self.phrases(schema, 0) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        // The author wrote a value; that `nothing` would be allowed as well does not help.
        if words.len() > 1 {
            words.retain(|word| word != "nothing");
        }
        join(&words, "or")
    }

    fn phrases(&self, schema: &'s Json, depth: usize) -> Vec<String> {
        let outer = schema;
        let schema = self.resolve(schema);
        if let Some(words) = title_phrase(outer).or_else(|| title_phrase(schema)) {
            return vec![words.to_owned()];
        }
        if let Some(values) = enumeration(schema) {
            return values.into_iter().map(json).collect();
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            if schema.get(key).is_some() && schema.get("type").is_none() && depth < 8 {
                let parts = array(schema, key).iter();
                return parts.flat_map(|part| self.phrases(part, depth + 1)).collect();
            }
        }
        let types = types(schema);
        types.into_iter().map(|name| self.phrase(name, schema, depth)).collect()
    }

    fn phrase(&self, name: &str, schema: &'s Json, depth: usize) -> String {
        match name {
            "string" => "a string".to_owned(),
            "integer" => "a whole number".to_owned(),
            "number" => "a number".to_owned(),
            "boolean" => "true or false".to_owned(),
            "null" => "nothing".to_owned(),
            "object" => "a map".to_owned(),
            "array" => match schema.get("items").filter(|items| !items.is_array() && depth < 8) {
                Some(items) => self.list_of(items, depth),
                None => "a list".to_owned(),
            },
            other => format!("`{other}`"),
        }
    }

    fn list_of(&self, items: &'s Json, depth: usize) -> String {
        let each = self.phrases(items, depth + 1);
        match each.as_slice() {
            [] => "a list".to_owned(),
            [one] => match one.as_str() {
                "a string" => "a list of strings".to_owned(),
                "a whole number" => "a list of whole numbers".to_owned(),
                "a number" => "a list of numbers".to_owned(),
                "a map" => "a list of maps".to_owned(),
                one => format!("a list, each entry {one}"),
            },
            more => format!("a list, each entry {}", join(more, "or")),
        }
    }
}

/// The names of the JSON types a schema allows; none means any.
pub(super) fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(name)) => vec![name],
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

/// What a value is, as the object of "found".
pub(super) fn found(node: &SourceNode) -> String {
    match &node.value {
        NodeValue::Null => "nothing".to_owned(),
        NodeValue::Bool(value) => format!("`{value}`"),
        NodeValue::Integer(value) => format!("the number {value}"),
        NodeValue::Unsigned(value) => format!("the number {value}"),
        NodeValue::Float(value) => format!("the number {value}"),
        NodeValue::String(text) if text.is_empty() => "an empty string".to_owned(),
        NodeValue::String(text) => format!("the string {}", quote(text)),
        NodeValue::List(items) if items.is_empty() => "an empty list".to_owned(),
        NodeValue::List(_) => "a list".to_owned(),
        NodeValue::Map(entries) if entries.is_empty() => "an empty map".to_owned(),
        NodeValue::Map(_) => "a map".to_owned(),
    }
}

/// A text in backticks, cut when it is long.
pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// A value of a schema in backticks.
pub(super) fn json(value: &Json) -> String {
    match value {
        Json::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// Names for a sentence: in backticks unless they are, the last joined with `last`.
pub(super) fn list(names: &[impl AsRef<str>], last: &str) -> String {
    let mut words: Vec<String> = names
        .iter()
        .take(MAX_LISTED_NAMES)
        .map(AsRef::as_ref)
        .map(|name| if name.starts_with('`') { name.to_owned() } else { format!("`{name}`") })
        .collect();
    if names.len() > MAX_LISTED_NAMES {
        words.push(format!("{} more", names.len() - MAX_LISTED_NAMES));
    }
    join(&words, last)
}

fn join(words: &[String], last: &str) -> String {
    match words {
        [] => "something else".to_owned(),
        [one] => one.clone(),
        [rest @ .., end] => format!("{} {last} {end}", rest.join(", ")),
    }
}
