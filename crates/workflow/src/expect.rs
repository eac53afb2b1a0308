//! What a step's output must be: any text, JSON, JSON of a given shape, or a review.
//!
//! The shape is a JSON schema of a small, useful part of the language. A keyword that would be
//! ignored is refused when the definition is checked, so that no author relies on a
//! constraint that is never enforced.

pub mod comments;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::verdict;

/// How the output of an agent on a terminal begins whose answer could not be found: why, and then all
/// that its screen shows. There may be JSON on that screen which is not the answer.
pub const UNREAD_ANSWER: &str = "[Its answer could not be found: ";

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedOutput {
    /// Text. A headless agent must have said something.
    #[default]
    Text,
    /// Any text, also none.
    Any,
    /// JSON: the whole text, or the last fenced block in it.
    Json,
    /// JSON that is a review: [`comments`].
    Comments,
    /// JSON that fits a schema.
    Schema(OutputSchema),
}

impl ExpectedOutput {
    pub(crate) fn is_text(&self) -> bool {
        *self == Self::Text
    }

    /// Whether the value is the text itself.
    pub(crate) fn is_any_text(&self) -> bool {
        matches!(self, Self::Text | Self::Any)
    }

    /// Whether it is data that nothing else may stand around.
    pub(crate) fn is_structured(&self) -> bool {
        matches!(self, Self::Json | Self::Comments | Self::Schema(_))
    }

    /// The value of an output, or why it is not what was asked for.
    pub fn read(&self, output: &str) -> Result<Value, OutputMismatch> {
        match self {
            Self::Text | Self::Any => {
                Ok(Value::String(output.trim_end_matches(['\n', '\r']).to_owned()))
            }
            Self::Json => json(output),
            Self::Comments => {
                let value = json(output)?;
                comments::review(&value)?;
                Ok(value)
            }
            Self::Schema(schema) => {
                let value = json(output)?;
                schema.check(&value).map_err(OutputMismatch::Shape)?;
                Ok(value)
            }
        }
    }
}

fn json(output: &str) -> Result<Value, OutputMismatch> {
    if let Some(rest) = output.strip_prefix(UNREAD_ANSWER) {
        let why = rest.split_once(". ").map_or(rest, |(why, _)| why);
        return Err(OutputMismatch::Unread(why.to_owned()));
    }
    verdict::json_answer(output).ok_or(OutputMismatch::NoJson)
}

/// Why an output is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputMismatch {
    /// There is no JSON, or it is not clear which.
    #[error("the output is not JSON")]
    NoJson,
    /// It is a screen, and not an answer.
    #[error("its answer could not be found: {0}")]
    Unread(String),
    /// It does not fit the schema.
    #[error("the output does not fit the schema: {0}")]
    Shape(String),
    /// It is not the JSON of comments, or one of them cannot be shown.
    #[error("the answer is no review: {0}")]
    Comments(String),
}

/// A schema all of whose keywords we understand.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct OutputSchema(Value);

/// A schema that we cannot check against.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct BadSchema {
    /// Where in the schema, as a path such as `/items/properties`.
    pub path: String,
    pub why: String,
}

/// Keywords that only describe.
const ANNOTATION_KEYWORDS: [&str; 8] =
    ["$schema", "$id", "$comment", "title", "description", "default", "examples", "format"];
const JSON_TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];
/// Deeper schemas are refused, so that checking needs no deeper stack.
const MAX_SCHEMA_DEPTH: usize = 64;

impl OutputSchema {
    /// Accepts a schema if every keyword in it is one we check.
    pub fn new(schema: Value) -> Result<Self, BadSchema> {
        check_keywords(&schema, "", 0)?;
        Ok(Self(schema))
    }

    /// Whether a value fits, or where and why not.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        check(&self.0, value, "")
    }
}

impl TryFrom<Value> for OutputSchema {
    type Error = BadSchema;

    fn try_from(schema: Value) -> Result<Self, BadSchema> {
        Self::new(schema)
    }
}

impl From<OutputSchema> for Value {
    fn from(schema: OutputSchema) -> Self {
        schema.0
    }
}

fn check_keywords(schema: &Value, path: &str, depth: usize) -> Result<(), BadSchema> {
    let bad = |path: &str, why: &str| BadSchema {
        path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
        why: why.to_owned(),
    };
    if depth > MAX_SCHEMA_DEPTH {
        return Err(bad(path, "it is nested too deeply"));
    }
    let keywords = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(keywords) => keywords,
        _ => return Err(bad(path, "a schema is an object, true or false")),
    };
    for (keyword, value) in keywords {
        let here = format!("{path}/{keyword}");
        let fits = match keyword.as_str() {
            "type" => names_of(value).is_some_and(|names| {
                !names.is_empty() && names.iter().all(|name| JSON_TYPES.contains(name))
            }),
            "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
            "const" => true,
            "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
            "properties" => {
                let Some(properties) = value.as_object() else {
                    return Err(bad(&here, "it must be an object of schemas"));
                };
                for (name, property) in properties {
                    check_keywords(property, &format!("{here}/{name}"), depth + 1)?;
                }
                true
            }
            "items" | "additionalProperties" | "not" => {
                check_keywords(value, &here, depth + 1)?;
                true
            }
            "anyOf" | "oneOf" | "allOf" => {
                let Some(choices) = value.as_array().filter(|choices| !choices.is_empty()) else {
                    return Err(bad(&here, "it must be a list of schemas"));
                };
                for (index, choice) in choices.iter().enumerate() {
                    check_keywords(choice, &format!("{here}/{index}"), depth + 1)?;
                }
                true
            }
            "minItems" | "maxItems" | "minLength" | "maxLength" => value.is_u64(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "uniqueItems" => value.is_boolean(),
            other if ANNOTATION_KEYWORDS.contains(&other) => true,
            _ => return Err(bad(&here, "this keyword is not supported here")),
        };
        if !fits {
            return Err(bad(&here, "it has a value that makes no sense here"));
        }
    }
    Ok(())
}

/// The one name or the list of names in `type`.
fn names_of(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => names.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_whole(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn check(schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let fail = |why: String| {
        let place = if path.is_empty() { "it".to_owned() } else { format!("`{path}`") };
        Err(format!("{place} {why}"))
    };
    let keywords = match schema {
        Value::Bool(false) => return fail("is not allowed".to_owned()),
        Value::Object(keywords) => keywords,
        _ => return Ok(()),
    };
    if let Some(names) = keywords.get("type").and_then(names_of) {
        let kind = kind(value);
        let fits = |name: &&str| *name == kind || (*name == "number" && kind == "integer");
        if !names.iter().any(fits) {
            return fail(format!("is {kind}, not {}", names.join(" or ")));
        }
    }
    if let Some(values) = keywords.get("enum").and_then(Value::as_array)
        && !values.contains(value)
    {
        return fail("is none of the allowed values".to_owned());
    }
    if let Some(constant) = keywords.get("const")
        && constant != value
    {
        return fail(format!("is not {constant}"));
    }
    if let Some(why) = out_of_bounds(keywords, value) {
        return fail(why);
    }
    match value {
        Value::Object(object) => check_object(keywords, object, path)?,
        Value::Array(items) => check_items(keywords, items, path)?,
        _ => {}
    }
    check_choices(keywords, value, path)
}

fn out_of_bounds(keywords: &Map<String, Value>, value: &Value) -> Option<String> {
    let bound = |name: &str| keywords.get(name).and_then(Value::as_f64);
    let too = |amount: f64, least: &str, most: &str, unit: &str| {
        let least = bound(least).filter(|least| amount < *least);
        let most = bound(most).filter(|most| amount > *most);
        least
            .map(|least| format!("must be at least {least}{unit}"))
            .or_else(|| most.map(|most| format!("must be at most {most}{unit}")))
    };
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    match value {
        Value::Number(number) => {
            let number = number.as_f64()?;
            too(number, "minimum", "maximum", "").or_else(|| {
                let above = bound("exclusiveMinimum").is_none_or(|least| number > least);
                let below = bound("exclusiveMaximum").is_none_or(|most| number < most);
                (!above || !below).then(|| "is out of bounds".to_owned())
            })
        }
        Value::String(text) => {
            too(text.chars().count() as f64, "minLength", "maxLength", " characters long")
        }
        Value::Array(items) => too(items.len() as f64, "minItems", "maxItems", " elements long"),
        _ => None,
    }
}

fn check_object(
    keywords: &Map<String, Value>,
    object: &Map<String, Value>,
    path: &str,
) -> Result<(), String> {
    let required = keywords.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            let place = if path.is_empty() { "it".to_owned() } else { format!("`{path}`") };
            return Err(format!("{place} has no `{name}`"));
        }
    }
    let properties = keywords.get("properties").and_then(Value::as_object);
    for (name, value) in object {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let known = properties.and_then(|properties| properties.get(name));
        if let Some(schema) = known.or_else(|| keywords.get("additionalProperties")) {
            check(schema, value, &inner)?;
        }
    }
    Ok(())
}

fn check_items(keywords: &Map<String, Value>, items: &[Value], path: &str) -> Result<(), String> {
    if let Some(schema) = keywords.get("items") {
        for (index, item) in items.iter().enumerate() {
            check(schema, item, &format!("{path}[{index}]"))?;
        }
    }
    if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
        let distinct: std::collections::HashSet<&Value> = items.iter().collect();
        if distinct.len() < items.len() {
            return Err(format!("`{path}` has equal elements"));
        }
    }
    Ok(())
}

fn check_choices(keywords: &Map<String, Value>, value: &Value, path: &str) -> Result<(), String> {
    let choices = |name: &str| keywords.get(name).and_then(Value::as_array);
    let place = if path.is_empty() { "it".to_owned() } else { format!("`{path}`") };
    for schema in choices("allOf").into_iter().flatten() {
        check(schema, value, path)?;
    }
    let fitting = |schemas: &Vec<Value>| {
        schemas.iter().filter(|schema| check(schema, value, path).is_ok()).count()
    };
    if choices("anyOf").is_some_and(|schemas| fitting(schemas) == 0) {
        return Err(format!("{place} fits none of the shapes in anyOf"));
    }
    if choices("oneOf").is_some_and(|schemas| fitting(schemas) != 1) {
        return Err(format!("{place} does not fit exactly one of the shapes in oneOf"));
    }
    if keywords.get("not").is_some_and(|schema| check(schema, value, path).is_ok()) {
        return Err(format!("{place} has a shape that is excluded"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(value: Value) -> OutputSchema {
        OutputSchema::new(value).unwrap()
    }

    #[test]
    fn a_schema_says_where_a_value_does_not_fit() {
        let tasks = schema(json!({
            "type": "array", "minItems": 1, "items": {
                "type": "object", "required": ["title"], "additionalProperties": false,
                "properties": {"title": {"type": "string", "minLength": 1},
                               "size": {"enum": ["s", "m"]}, "rank": {"type": "integer"}}}
        }));
        let wrong = |value: Value| tasks.check(&value).unwrap_err();
        assert_eq!(tasks.check(&json!([{"title": "a", "size": "s", "rank": 2.0}])), Ok(()));
        assert_eq!(wrong(json!({})), "it is object, not array");
        assert_eq!(wrong(json!([])), "it must be at least 1 elements long");
        assert_eq!(wrong(json!([{}])), "`[0]` has no `title`");
        assert_eq!(wrong(json!([{"title": ""}])), "`[0].title` must be at least 1 characters long");
        assert_eq!(
            wrong(json!([{"title": "a", "size": "x"}])),
            "`[0].size` is none of the allowed values"
        );
        assert_eq!(wrong(json!([{"title": "a", "more": 1}])), "`[0].more` is not allowed");
        assert_eq!(
            wrong(json!([{"title": "a", "rank": 1.5}])),
            "`[0].rank` is number, not integer"
        );
    }

    #[test]
    fn choices_and_bounds_are_checked() {
        let either = schema(json!({"oneOf": [{"type": "string"}, {"minimum": 3}]}));
        assert!(either.check(&json!(4)).is_ok() && either.check(&json!(2)).is_err());
        let any = schema(json!({"anyOf": [{"const": 1}, {"const": 2}], "not": {"const": 2}}));
        assert!(any.check(&json!(1)).is_ok() && any.check(&json!(2)).is_err());
        let open = schema(json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1}));
        assert!(open.check(&json!(0.5)).is_ok() && open.check(&json!(1)).is_err());
        let distinct = schema(json!({"uniqueItems": true}));
        assert!(distinct.check(&json!([1, 1])).is_err());
    }

    #[test]
    fn a_keyword_that_would_do_nothing_is_refused() {
        let refused = |value: Value| OutputSchema::new(value).unwrap_err().to_string();
        assert_eq!(
            refused(json!({"items": {"pattern": "x"}})),
            "/items/pattern: this keyword is not supported here"
        );
        assert_eq!(refused(json!(3)), "/: a schema is an object, true or false");
        assert!(refused(json!({"type": "text"})).starts_with("/type"));
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({"not": deep});
        }
        assert!(refused(deep).contains("too deeply"));
    }
}
