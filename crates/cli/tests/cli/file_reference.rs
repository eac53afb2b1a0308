//! The references of files that people write: their tables are made from the schemas, so that no key
//! is missing and none is described that is not there. What stands above the tables is written by
//! hand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::home::Home;

/// Where in a page the part begins that is made from the schema.
const MARK: &str = "<!-- The rest is made from the schema: run the test with COVEN_BLESS=1. -->\n";

/// One table: the keys of an object in the file.
struct Table<'a> {
    /// Where the object is in the file, such as `modes.headless`; empty for the file itself.
    place: String,
    schema: &'a Value,
    /// The name of its definition, of which there is one table.
    definition: &'a str,
}

/// Follows references, and takes the one alternative that is not null.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> (&'a Value, &'a str) {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/definitions/"))
    {
        let (found, inner) = resolved(&root["definitions"][name], root);
        return (found, if inner.is_empty() { name } else { inner });
    }
    let alternatives = schema["allOf"].as_array().or_else(|| schema["anyOf"].as_array());
    let mut others = alternatives.into_iter().flatten().filter(|other| other["type"] != "null");
    match (others.next(), others.next()) {
        (Some(only), None) => resolved(only, root),
        _ => (schema, ""),
    }
}

/// What a value is, in a few words.
fn type_of(schema: &Value, root: &Value) -> String {
    let (schema, _) = resolved(schema, root);
    if let Some(words) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        let words: Vec<String> = words
            .iter()
            .map(|word| match word["const"].as_str() {
                Some(word) => format!("`{word}`"),
                None => type_of(word, root),
            })
            .collect();
        return words.join(", ");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().filter(|word| !word.is_null());
        return words
            .map(|word| format!("`{}`", word.as_str().unwrap_or("?")))
            .collect::<Vec<_>>()
            .join(", ");
    }
    let name = match &schema["type"] {
        Value::String(name) => name.as_str(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("any")
        }
        _ => "any",
    };
    match name {
        "array" => format!("list of {}", type_of(&schema["items"], root)),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map to {}", type_of(&schema["additionalProperties"], root))
        }
        "string" => "text".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        other => other.to_owned(),
    }
}

/// The object whose keys are described in a table of their own, and where it is.
fn inner<'a>(
    key: &str,
    schema: &'a Value,
    root: &'a Value,
) -> Option<(String, &'a Value, &'a str)> {
    let (schema, name) = resolved(schema, root);
    if schema["properties"].is_object() {
        return Some((key.to_owned(), schema, name));
    }
    let (inside, place) = if schema["items"].is_object() {
        (&schema["items"], format!("{key}[]"))
    } else if schema["additionalProperties"].is_object() {
        (&schema["additionalProperties"], format!("{key}.NAME"))
    } else if let Some(words) = schema["anyOf"].as_array() {
        let objects = words.iter().map(|word| resolved(word, root));
        let (found, name) = objects.into_iter().find(|(word, _)| word["properties"].is_object())?;
        return Some((key.to_owned(), found, name));
    } else {
        return None;
    };
    inner(&place, inside, root)
}

/// A description on one line, first letter small, no dot at the end.
fn words(schema: &Value) -> String {
    let text =
        schema["description"].as_str().unwrap_or_default().replace("\n\n", " ").replace('\n', " ");
    let text = text.trim_end_matches('.').replace('|', "\\|");
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !text.starts_with('`') => first.to_lowercase().chain(letters).collect(),
        _ => text,
    }
}

/// Every key of a file, object by object.
fn tables(root: &Value) -> String {
    let mut text = String::new();
    let mut open = vec![Table { place: String::new(), schema: root, definition: "" }];
    let mut places: Vec<(&str, String)> = Vec::new();
    let mut next = 0;
    while next < open.len() {
        let Table { place, schema, definition } = &open[next];
        let (place, schema) = (place.clone(), *schema);
        if !definition.is_empty() {
            places.push((definition, place.clone()));
        }
        next += 1;
        let title = if place.is_empty() { "The file".to_owned() } else { format!("`{place}`") };
        write!(text, "\n## {title}\n\n| key | what it is | meaning |\n|---|---|---|\n").unwrap();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, value) in schema["properties"].as_object().unwrap() {
            let needed = if required.contains(&key.as_str()) { " (needed)" } else { "" };
            let mut kind = type_of(value, root);
            if let Some((at, object, name)) = inner(key, value, root) {
                let at = if place.is_empty() { at } else { format!("{place}.{at}") };
                let known = open.iter().find(|table| !name.is_empty() && table.definition == name);
                let shown = known.map_or(at.clone(), |table| table.place.clone());
                kind = kind.replace("object", &format!("the keys of `{shown}`"));
                if known.is_none() {
                    open.push(Table { place: at, schema: object, definition: name });
                }
            }
            writeln!(text, "| `{key}` | {kind}{needed} | {} |", words(value)).unwrap();
        }
    }
    text
}

fn reference_is_that_of_the_schema(file: &str) {
    let home = Home::new();
    let schema = home.coven(&["schema", file]).ok().json();
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/reference/{file}.md"));
    let kept = fs::read_to_string(&path).unwrap();
    let (head, rest) = kept.split_once(MARK).unwrap();
    let made = tables(&schema);
    if std::env::var_os("COVEN_BLESS").is_some() {
        fs::write(&path, format!("{head}{MARK}{made}")).unwrap();
        return;
    }
    assert!(
        made == rest,
        "{} is not what the schema says; run this test with COVEN_BLESS=1",
        path.display()
    );
}

#[test]
fn the_reference_of_adapter_files_is_that_of_their_schema() {
    reference_is_that_of_the_schema("adapter");
}

#[test]
fn the_reference_of_policies_is_that_of_their_schema() {
    reference_is_that_of_the_schema("policy");
}
