//! A file to a value of a type, in one call.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use crate::{FileProblem, FileSyntax, SourceFile, SourceNode, check, parse};

/// What came out of reading a file.
#[derive(Debug, Clone)]
pub struct ParsedFile<T> {
    /// The tree, when the syntax was right.
    pub node: Option<SourceNode>,
    /// The value, when there was no error at all.
    pub value: Option<T>,
    /// What is wrong with the file.
    pub problems: Vec<FileProblem>,
}

/// Parses, checks against the schema of `T` and deserialises, collecting every problem.
///
/// There is a value exactly when no problem is an error.
pub fn read<T: DeserializeOwned + JsonSchema + 'static>(
    source: &SourceFile,
    syntax: FileSyntax,
) -> ParsedFile<T> {
    let node = match parse(source, syntax) {
        Ok(node) => node,
        Err(problems) => return ParsedFile { node: None, value: None, problems },
    };
    let mut problems = check(&node, &cached::<T>());
    let mut value = None;
    if !problems.iter().any(FileProblem::is_error) {
        match serde_path_to_error::deserialize(node.to_json()) {
            Ok(read) => value = Some(read),
            Err(error) => {
                let place = node_at_serde_path(&node, error.path());
                let message = error.into_inner().to_string();
                problems.push(FileProblem::error("bad-value", place.span, message));
            }
        }
    }
    ParsedFile { node: Some(node), value, problems }
}

/// The JSON schema (draft-07) of a type: what [`read`] checks, and what we publish.
pub fn schema_of<T: JsonSchema>() -> serde_json::Value {
    SchemaSettings::draft07().into_generator().into_root_schema_for::<T>().to_value()
}

/// Schemas by type, since making one costs more than checking a small file.
static SCHEMAS: LazyLock<Mutex<HashMap<TypeId, Arc<serde_json::Value>>>> =
    LazyLock::new(Mutex::default);

fn cached<T: JsonSchema + 'static>() -> Arc<serde_json::Value> {
    let mut schemas = SCHEMAS.lock();
    Arc::clone(schemas.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(schema_of::<T>())))
}

/// The node that a refusal of serde is about, as far as its path leads.
fn node_at_serde_path<'a>(node: &'a SourceNode, path: &Path) -> &'a SourceNode {
    let mut node = node;
    for segment in path {
        let next = match segment {
            Segment::Seq { index } => node.items().get(*index),
            Segment::Map { key } => node.get(key),
            Segment::Enum { variant } => node.get(variant).or(Some(node)),
            Segment::Unknown => None,
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    node
}
