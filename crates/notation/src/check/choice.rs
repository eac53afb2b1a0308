//! Alternatives of a schema: which of them the author meant, and what is wrong with a value that
//! has the wrong type altogether.
//!
//! "Matches none of the alternatives" does not say what to change. The type of the value says most:
//! of a string and a map, only one can have been meant. Maps that differ in a key with a fixed
//! value are told apart by that key, and for what is left the alternative with the fewest problems
//! is blamed.

use serde_json::Value as Json;

use super::words::{found, types};
use super::{
    KnownKeys, LocatedProblem, SchemaChecker, ValuePath, add, array, description, enumeration,
    missing, not_one_of, unknown,
};
use crate::{FileProblem, NodeValue, SourceNode};

/// How deep alternatives of alternatives are looked at.
const MAX_NESTED: usize = 16;

impl<'s> SchemaChecker<'s> {
    /// Holds a value against alternatives, of which one must fit.
    pub(super) fn choose(
        &mut self,
        node: &SourceNode,
        branches: &'s [Json],
        path: &ValuePath<'_>,
        out: &mut Vec<LocatedProblem>,
    ) {
        let place = (std::ptr::from_ref(node), branches.as_ptr());
        if !self.is_key
            && let Some(known) = self.tried.get(&place)
        {
            return out.extend(known.iter().cloned());
        }
        let mut problems = Vec::new();
        self.try_each(node, branches, path, &mut problems);
        if !self.is_key && !problems.is_empty() {
            self.tried.insert(place, problems.clone());
        }
        out.append(&mut problems);
    }

    fn try_each(
        &mut self,
        node: &SourceNode,
        branches: &'s [Json],
        path: &ValuePath<'_>,
        out: &mut Vec<LocatedProblem>,
    ) {
        let mut all = Vec::new();
        self.flatten(branches, 0, &mut all);
        let fitting: Vec<&'s Json> =
            all.iter().copied().filter(|branch| self.fits(node, branch, 0)).collect();
        if fitting.is_empty() {
            return add(out, path, self.wrong_type(node, &all));
        }
        let mut tried = Vec::with_capacity(fitting.len());
        for branch in &fitting {
            let mut problems = Vec::new();
            self.visit(node, branch, path, &mut problems);
            if problems.is_empty() {
                return;
            }
            tried.push(problems);
        }
        let enumerated: Option<Vec<Vec<&Json>>> =
            fitting.iter().map(|branch| enumeration(branch)).collect();
        if let Some(values) = enumerated {
            return add(out, path, not_one_of(node, &values.concat()));
        }
        if let Some((key, problem)) = choose_by_key(node, &fitting) {
            return match key {
                Some(key) => add(out, &ValuePath::Key(path, key), problem),
                None => add(out, path, problem),
            };
        }
        let blamed = by_key(node, &fitting).or_else(|| {
            let score = |index: &usize| (unknown_keys(node, fitting[*index]), tried[*index].len());
            (0..fitting.len()).min_by_key(score)
        });
        if let Some(index) = blamed {
            out.extend(tried.swap_remove(index));
        }
    }

    /// Alternatives of alternatives are alternatives.
    fn flatten(&self, branches: &'s [Json], depth: usize, into: &mut Vec<&'s Json>) {
        for branch in branches {
            let branch = self.resolve(branch);
            let nested = ["anyOf", "oneOf"].into_iter().find(|key| branch.get(key).is_some());
            match nested {
                Some(key) if branch.get("type").is_none() && depth < MAX_NESTED => {
                    self.flatten(array(branch, key), depth + 1, into);
                }
                _ => into.push(branch),
            }
        }
    }

    /// Whether a schema could be about a value of this type.
    fn fits(&self, node: &SourceNode, schema: &'s Json, depth: usize) -> bool {
        let schema = self.resolve(schema);
        if depth > MAX_NESTED {
            return true;
        }
        let kind = |value: &&Json| std::mem::discriminant(*value);
        if let Some(values) = enumeration(schema) {
            let own = node.to_json_kind();
            return values.iter().any(|value| kind(value) == std::mem::discriminant(&own));
        }
        let any = |key: &str| {
            let parts = array(schema, key);
            parts.is_empty() || parts.iter().any(|part| self.fits(node, part, depth + 1))
        };
        let all = array(schema, "allOf").iter().all(|part| self.fits(node, part, depth + 1));
        has_type(node, schema) && all && any("anyOf") && any("oneOf")
    }

    /// What is expected instead of a value of the wrong type.
    pub(super) fn wrong_type(&self, node: &SourceNode, schemas: &[&'s Json]) -> FileProblem {
        let expected = self.expected(schemas);
        let message = format!("expected {expected}, found {}", found(node));
        let allows = |name: &str| schemas.iter().any(|schema| types(schema).contains(&name));
        // Quotes help only where any text will do.
        let any_text = schemas.iter().any(|schema| {
            let limits = ["enum", "const", "pattern", "format"];
            types(schema).contains(&"string") && !limits.iter().any(|key| schema.get(key).is_some())
        });
        let help = match &node.value {
            NodeValue::Integer(_)
            | NodeValue::Unsigned(_)
            | NodeValue::Float(_)
            | NodeValue::Bool(_)
                if any_text =>
            {
                Some("put it in quotes to make it a string".to_owned())
            }
            NodeValue::String(text) if allows("boolean") => match text.to_lowercase().as_str() {
                "yes" | "on" | "y" | "true" => Some("write `true`, without quotes".to_owned()),
                "no" | "off" | "n" | "false" => Some("write `false`, without quotes".to_owned()),
                _ => None,
            },
            NodeValue::String(text)
                if (allows("integer") || allows("number")) && text.parse::<f64>().is_ok() =>
            {
                Some("write the number without quotes".to_owned())
            }
            NodeValue::Null if !allows("null") => {
                Some("write a value, or remove the key".to_owned())
            }
            _ => None,
        };
        let help = help.or_else(|| match schemas {
            [one] => description(one),
            _ => None,
        });
        FileProblem::error("wrong-type", node.span, message).maybe_help(help)
    }
}

/// Whether a value has a type that the schema names.
pub(super) fn has_type(node: &SourceNode, schema: &Json) -> bool {
    let types = types(schema);
    types.is_empty() || types.into_iter().any(|name| is_a(&node.value, name))
}

fn is_a(value: &NodeValue, name: &str) -> bool {
    match value {
        NodeValue::Null => name == "null",
        NodeValue::Bool(_) => name == "boolean",
        NodeValue::Integer(_) | NodeValue::Unsigned(_) => matches!(name, "integer" | "number"),
        NodeValue::Float(_) => name == "number",
        NodeValue::String(_) => name == "string",
        NodeValue::List(_) => name == "array",
        NodeValue::Map(_) => name == "object",
    }
}

impl SourceNode {
    /// A JSON value of the same type, to compare types with.
    fn to_json_kind(&self) -> Json {
        match &self.value {
            NodeValue::Null => Json::Null,
            NodeValue::Bool(_) => Json::Bool(true),
            NodeValue::Integer(_) | NodeValue::Unsigned(_) | NodeValue::Float(_) => Json::from(0),
            NodeValue::String(_) => Json::String(String::new()),
            NodeValue::List(_) => Json::Array(Vec::new()),
            NodeValue::Map(_) => Json::Object(serde_json::Map::new()),
        }
    }
}

/// Maps whose alternatives differ in a key, when that key is missing or says something else; with
/// the key when the problem is its value.
fn choose_by_key<'s>(
    node: &SourceNode,
    branches: &[&'s Json],
) -> Option<(Option<&'s str>, FileProblem)> {
    let NodeValue::Map(entries) = &node.value else { return None };
    if branches.len() < 2 {
        return None;
    }
    if let Some(tag) = tag(branches) {
        let values: Vec<&Json> = branches.iter().filter_map(|b| tag_value(b, tag)).collect();
        let Some(value) = node.get(tag) else {
            let all: Vec<String> = values.iter().map(|value| super::words::json(value)).collect();
            let help = format!("`{tag}` is one of {}", super::list(&all, "or"));
            return Some((None, missing(node, tag, None).help(help)));
        };
        let known = values.iter().any(|known| super::is(value, known));
        return (!known).then(|| (Some(tag), not_one_of(value, &values)));
    }
    // Alternatives with one key each: the key says which one is meant.
    let keys: Option<Vec<&String>> = branches.iter().map(|branch| only_key(branch)).collect();
    let keys = keys?;
    match entries.first() {
        Some(entry) if !entries.iter().any(|entry| keys.contains(&&entry.key)) => {
            let known = keys.iter().map(|key| key.as_str()).collect();
            Some((None, unknown(entry, &mut KnownKeys { node, known, free: None })))
        }
        None => {
            let message = format!("expected one of the keys {}", super::list(&keys, "or"));
            Some((None, FileProblem::error("missing-key", node.span, message)))
        }
        _ => None,
    }
}

/// The alternative that a key of the map names.
fn by_key(node: &SourceNode, branches: &[&Json]) -> Option<usize> {
    if let Some(tag) = tag(branches) {
        let value = node.get(tag)?;
        let says =
            |branch: &&Json| tag_value(branch, tag).is_some_and(|known| super::is(value, known));
        return branches.iter().position(says);
    }
    let says = |branch: &&Json| only_key(branch).is_some_and(|key| node.get(key).is_some());
    branches.iter().position(says)
}

/// The key that has a fixed value in every alternative.
fn tag<'s>(branches: &[&'s Json]) -> Option<&'s str> {
    let first = branches.first()?.get("properties")?.as_object()?;
    let is_tag = |key: &str| branches.iter().all(|branch| tag_value(branch, key).is_some());
    first.keys().map(String::as_str).find(|key| is_tag(key))
}

fn tag_value<'s>(branch: &'s Json, key: &str) -> Option<&'s Json> {
    match enumeration(branch.get("properties")?.get(key)?)?.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

fn only_key(branch: &Json) -> Option<&String> {
    let properties = branch.get("properties")?.as_object()?;
    let closed = branch.get("additionalProperties") == Some(&Json::Bool(false));
    properties.keys().next().filter(|_| properties.len() == 1 && closed)
}

fn unknown_keys(node: &SourceNode, branch: &Json) -> usize {
    let properties = branch.get("properties").and_then(Json::as_object);
    let is_known = |key: &str| properties.is_some_and(|known| known.contains_key(key));
    node.entries().iter().filter(|entry| !is_known(&entry.key)).count()
}
