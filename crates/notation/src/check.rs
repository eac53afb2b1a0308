//! A tree held against a JSON schema.

mod choice;
mod words;

use std::collections::{HashMap, HashSet};
use std::fmt;

use regex::Regex;
use serde_json::Value as Json;

use crate::parse::MAX_PROBLEMS;
use crate::{FileProblem, MapEntry, NodeValue, SourceNode, SourceSpan, near};
use words::{found, list, quote};

/// How many references may follow each other; a longer chain is a circle.
const MAX_REFERENCES: usize = 32;
/// How many times a value may be held against a part of the schema. Alternatives inside
/// alternatives multiply, and a file must not be able to keep us busy for ever.
const MAX_STEPS: usize = 20_000_000;
/// How deep visits may lie in each other: several for each of the levels a file may have.
const MAX_VISITS: usize = 400;

/// Every way in which a tree differs from a JSON schema.
///
/// The schema is one that schemars makes (draft-07): types, properties, required and additional
/// ones, enumerations, items, alternatives, references, patterns and bounds. What else a schema
/// says is not looked at. A `title` that begins with a lowercase letter is used as words for what
/// is expected ("a duration such as `30m`"); a property's description becomes the help.
pub fn check(node: &SourceNode, schema: &Json) -> Vec<FileProblem> {
    let mut checker = SchemaChecker {
        root: schema,
        patterns: HashMap::new(),
        known: HashSet::new(),
        steps: 0,
        depth: 0,
        tried: HashMap::new(),
        is_key: false,
        uncounted: 0,
    };
    let mut found = Vec::new();
    checker.visit(node, schema, &ValuePath::Root, &mut found);
    let uncounted = checker.uncounted;
    let mut problems = Vec::new();
    for LocatedProblem { path, mut problem } in found {
        // A value behind several aliases is wrong once, where it is written.
        if checker.known.insert((problem.code, problem.span, problem.message.clone())) {
            if !path.is_empty() {
                problem.message = format!("`{path}`: {}", problem.message);
            }
            problems.push(problem);
        }
    }
    if uncounted > 0 {
        problems.extend(problems.last().map(|last| more_problems(last.span, uncounted)));
    }
    problems
}

/// Says that so many more problems are not told, and that the rest of the file was not checked.
pub fn more_problems(span: SourceSpan, count: usize) -> FileProblem {
    let message = match count {
        0 => "the rest of the file was not checked".to_owned(),
        1 => "1 more problem is not shown, and the rest of the file was not checked".to_owned(),
        _ => format!("{count} more problems are not shown, and the rest was not checked"),
    };
    FileProblem::error("more-problems", span, message).help("mend those above first")
}

struct SchemaChecker<'s> {
    root: &'s Json,
    patterns: HashMap<&'s str, Option<Regex>>,
    known: HashSet<(&'static str, SourceSpan, String)>,
    steps: usize,
    depth: usize,
    /// What came out of alternatives, by value and alternatives: without it, alternatives inside
    /// alternatives are tried again and again.
    tried: HashMap<(*const SourceNode, *const Json), Vec<LocatedProblem>>,
    /// Whether the value is not a part of the tree, and its address means nothing.
    is_key: bool,
    /// How many unknown keys were found when there were enough problems already.
    uncounted: usize,
}

/// A problem and the way to it, which becomes a part of the message.
#[derive(Clone)]
struct LocatedProblem {
    path: String,
    problem: FileProblem,
}

/// The way from the root to a value.
enum ValuePath<'a> {
    Root,
    Key(&'a ValuePath<'a>, &'a str),
    Index(&'a ValuePath<'a>, usize),
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(ValuePath::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

impl<'s> SchemaChecker<'s> {
    /// Holds one value against one schema.
    fn visit(
        &mut self,
        node: &SourceNode,
        schema: &'s Json,
        path: &ValuePath<'_>,
        out: &mut Vec<LocatedProblem>,
    ) {
        self.steps += 1;
        if out.len() >= MAX_PROBLEMS {
            return;
        }
        if self.steps > MAX_STEPS || self.depth > MAX_VISITS {
            let message = "the file is too complicated to be checked";
            return add(out, path, FileProblem::error("too-complicated", node.span, message));
        }
        self.depth += 1;
        self.visit_once(node, schema, path, out);
        self.depth -= 1;
    }

    fn visit_once(
        &mut self,
        node: &SourceNode,
        schema: &'s Json,
        path: &ValuePath<'_>,
        out: &mut Vec<LocatedProblem>,
    ) {
        let schema = self.resolve(schema);
        if schema == &Json::Bool(false) {
            let message = format!("nothing is allowed here, found {}", found(node));
            return add(out, path, FileProblem::error("not-allowed", node.span, message));
        }
        for part in array(schema, "allOf") {
            self.visit(node, part, path, out);
        }
        for key in ["anyOf", "oneOf"] {
            if schema.get(key).is_some() {
                self.choose(node, array(schema, key), path, out);
            }
        }
        if !choice::has_type(node, schema) {
            return add(out, path, self.wrong_type(node, &[schema]));
        }
        if let Some(values) = enumeration(schema)
            && !values.iter().any(|value| is(node, value))
        {
            return add(out, path, not_one_of(node, &values));
        }
        match &node.value {
            NodeValue::String(text) => self.string(node, text, schema, path, out),
            NodeValue::Integer(_) | NodeValue::Unsigned(_) | NodeValue::Float(_) => {
                number(node, schema, path, out);
            }
            NodeValue::List(items) => self.list(node, items, schema, path, out),
            NodeValue::Map(entries) => self.map(node, entries, schema, path, out),
            NodeValue::Null | NodeValue::Bool(_) => {}
        }
    }

    /// Follows references to the definition they name.
    fn resolve(&self, schema: &'s Json) -> &'s Json {
        let mut schema = schema;
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = schema.get("$ref").and_then(Json::as_str) else { break };
            let target = reference.strip_prefix('#').and_then(|path| self.root.pointer(path));
            let Some(target) = target else { break };
            schema = target;
        }
        schema
    }

    fn string(
        &mut self,
        node: &SourceNode,
        text: &str,
        schema: &'s Json,
        path: &ValuePath<'_>,
        out: &mut Vec<LocatedProblem>,
    ) {
        let expected = title_phrase(schema).map(|words| format!("expected {words}"));
        if schema.get("format").and_then(Json::as_str) == Some("coven-duration") {
            if let Err(error) = crate::duration::parse(text) {
                add(out, path, FileProblem::error("bad-duration", node.span, error.to_string()));
            }
            return;
        }
        let length = text.chars().count() as u64;
        if let Some(least) = bound(schema, "minLength").filter(|least| length < *least) {
            let message = match (length, least) {
                (0, _) => "must not be empty".to_owned(),
                _ => format!("must have at least {least} characters, found {length}"),
            };
            let problem = FileProblem::error("too-short", node.span, message);
            return add(out, path, problem.maybe_help(expected));
        }
        if let Some(most) = bound(schema, "maxLength").filter(|most| length > *most) {
            let message = format!("may have at most {most} characters, found {length}");
            let problem = FileProblem::error("too-long", node.span, message);
            return add(out, path, problem.maybe_help(expected));
        }
        let Some(pattern) = schema.get("pattern").and_then(Json::as_str) else { return };
        let regex = self.patterns.entry(pattern).or_insert_with(|| Regex::new(pattern).ok());
        if regex.as_ref().is_some_and(|regex| !regex.is_match(text)) {
            let shown = quote(text);
            let message = match title_phrase(schema) {
                Some(words) => format!("{shown} is not {words}"),
                None => format!("{shown} does not have the form `{pattern}`"),
            };
            let problem = FileProblem::error("bad-form", node.span, message);
            add(out, path, problem.maybe_help(description(schema)));
        }
    }

    fn list(
        &mut self,
        node: &SourceNode,
        items: &[SourceNode],
        schema: &'s Json,
        path: &ValuePath<'_>,
        out: &mut Vec<LocatedProblem>,
    ) {
        let count = items.len() as u64;
        if let Some(least) = bound(schema, "minItems").filter(|least| count < *least) {
            let message = match (count, least) {
                (0, 1) => "the list must not be empty".to_owned(),
                _ => format!("the list needs at least {least} entries, found {count}"),
            };
            add(out, path, FileProblem::error("too-short", node.span, message));
        }
        if let Some(most) = bound(schema, "maxItems").filter(|most| count > *most) {
            let message = format!("the list may have at most {most} entries, found {count}");
            add(out, path, FileProblem::error("too-long", node.span, message));
        }
        if schema.get("uniqueItems") == Some(&Json::Bool(true)) {
            let mut seen: HashMap<String, SourceSpan> = HashMap::new();
            for (index, item) in items.iter().enumerate() {
                if let Some(first) = seen.insert(item.to_json().to_string(), item.span) {
                    let message = format!("{} is in the list twice", found(item));
                    let problem = FileProblem::error("duplicate-entry", item.span, message);
                    add(
                        out,
                        &ValuePath::Index(path, index),
                        problem.with_related(first, "first here"),
                    );
                }
            }
        }
        let Some(schemas) = schema.get("items") else { return };
        for (index, item) in items.iter().enumerate() {
            let each = match schemas {
                Json::Array(each) => each.get(index),
                one => Some(one),
            };
            if let Some(each) = each {
                self.visit(item, each, &ValuePath::Index(path, index), out);
            }
        }
    }

    fn map(
        &mut self,
        node: &SourceNode,
        entries: &[MapEntry],
        schema: &'s Json,
        path: &ValuePath<'_>,
        out: &mut Vec<LocatedProblem>,
    ) {
        let properties = schema.get("properties").and_then(Json::as_object);
        let additional = schema.get("additionalProperties");
        for name in array(schema, "required").iter().filter_map(Json::as_str) {
            if node.get(name).is_none() {
                let about = properties.and_then(|known| known.get(name));
                add(out, path, missing(node, name, about));
            }
        }
        let names = schema.get("propertyNames");
        let mut keys = KnownKeys::new(node, properties);
        for entry in entries {
            let inner = ValuePath::Key(path, &entry.key);
            if let Some(names) = names {
                let value = NodeValue::String(entry.key.clone());
                let outer = std::mem::replace(&mut self.is_key, true);
                self.visit(&SourceNode { value, span: entry.key_span }, names, &inner, out);
                self.is_key = outer;
            }
            let known = properties.and_then(|known| known.get(&entry.key));
            match (known, additional) {
                (Some(known), _) => self.visit(&entry.value, known, &inner, out),
                (None, Some(Json::Bool(false))) if out.len() >= MAX_PROBLEMS => self.uncounted += 1,
                (None, Some(Json::Bool(false))) => add(out, path, unknown(entry, &mut keys)),
                (None, Some(additional)) => self.visit(&entry.value, additional, &inner, out),
                (None, None) => {}
            }
        }
    }
}

fn add(out: &mut Vec<LocatedProblem>, path: &ValuePath<'_>, problem: FileProblem) {
    if out.len() < MAX_PROBLEMS {
        out.push(LocatedProblem { path: path.to_string(), problem });
    }
}

fn number(node: &SourceNode, schema: &Json, path: &ValuePath<'_>, out: &mut Vec<LocatedProblem>) {
    let Some(value) = node.to_json().as_f64() else { return };
    let limit = |name: &str| schema.get(name).and_then(Json::as_f64);
    let message = if let Some(least) = limit("minimum").filter(|least| value < *least) {
        format!("must be at least {least}, found {value}")
    } else if let Some(most) = limit("maximum").filter(|most| value > *most) {
        format!("may be at most {most}, found {value}")
    } else if let Some(least) = limit("exclusiveMinimum").filter(|least| value <= *least) {
        format!("must be more than {least}, found {value}")
    } else if let Some(most) = limit("exclusiveMaximum").filter(|most| value >= *most) {
        format!("must be less than {most}, found {value}")
    } else {
        return;
    };
    add(out, path, FileProblem::error("out-of-range", node.span, message));
}

/// The keys that a map may have. What is there already is looked up once for all of its entries:
/// a map can have as many wrong keys as a file has room for.
struct KnownKeys<'a> {
    node: &'a SourceNode,
    known: Vec<&'a str>,
    free: Option<Vec<&'a str>>,
}

impl<'a> KnownKeys<'a> {
    fn new(node: &'a SourceNode, properties: Option<&'a serde_json::Map<String, Json>>) -> Self {
        let known = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        Self { node, known, free: None }
    }

    /// Those that are not there.
    fn free(&mut self) -> &[&'a str] {
        let (node, known) = (self.node, &self.known);
        self.free.get_or_insert_with(|| {
            let there: HashSet<&str> =
                node.entries().iter().map(|entry| entry.key.as_str()).collect();
            known.iter().copied().filter(|name| !there.contains(name)).collect()
        })
    }
}

fn unknown(entry: &MapEntry, keys: &mut KnownKeys<'_>) -> FileProblem {
    let key = quote(&entry.key);
    // What is there already is hardly what was meant.
    let meant = near(&entry.key, keys.free().iter().copied());
    let message = match meant.first() {
        Some(best) => format!("unknown key {key}; did you mean `{best}`?"),
        None => format!("unknown key {key}"),
    };
    let problem = FileProblem::error("unknown-key", entry.key_span, message);
    if entry.key == "<<" {
        return problem.help("YAML 1.2 has no merge keys; repeat the keys, or alias the whole map");
    }
    match keys.known.as_slice() {
        [] => problem.help("no keys are allowed here"),
        known if meant.is_empty() => problem.help(format!("known keys are {}", list(known, "and"))),
        _ => problem,
    }
}

fn missing(node: &SourceNode, name: &str, about: Option<&Json>) -> FileProblem {
    // A map in block style has no bracket to point at: its first key stands for it.
    let span = match node.entries().first() {
        Some(entry) if entry.key_span.start == node.span.start => entry.key_span,
        _ => node.span,
    };
    let problem = FileProblem::error("missing-key", span, format!("missing key `{name}`"));
    problem.maybe_help(about.and_then(description).map(|text| format!("`{name}`: {text}")))
}

fn not_one_of(node: &SourceNode, values: &[&Json]) -> FileProblem {
    let names: Vec<&str> = values.iter().filter_map(|value| value.as_str()).collect();
    let meant = near(node.as_str().unwrap_or_default(), names.iter().copied());
    let all: Vec<String> = values.iter().map(|value| words::json(value)).collect();
    let expected =
        if all.len() == 1 { all[0].clone() } else { format!("one of {}", list(&all, "or")) };
    let message = format!("expected {expected}, found {}", found(node));
    let help = meant.first().map(|meant| format!("did you mean `{meant}`?"));
    FileProblem::error("not-one-of", node.span, message).maybe_help(help)
}

/// The values a schema enumerates.
fn enumeration(schema: &Json) -> Option<Vec<&Json>> {
    if let Some(value) = schema.get("const") {
        return Some(vec![value]);
    }
    schema.get("enum").and_then(Json::as_array).map(|values| values.iter().collect())
}

fn is(node: &SourceNode, value: &Json) -> bool {
    match (&node.value, value) {
        (NodeValue::String(text), Json::String(value)) => text == value,
        (NodeValue::String(_), _) | (_, Json::String(_)) => false,
        _ => node.to_json() == *value,
    }
}

fn array<'s>(schema: &'s Json, key: &str) -> &'s [Json] {
    schema.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn bound(schema: &Json, key: &str) -> Option<u64> {
    schema.get(key).and_then(Json::as_u64)
}

/// A title that reads as a part of a sentence.
fn title_phrase(schema: &Json) -> Option<&str> {
    let title = schema.get("title").and_then(Json::as_str)?;
    title.starts_with(char::is_lowercase).then_some(title)
}

/// The first sentence of what a schema says about itself.
fn description(schema: &Json) -> Option<String> {
    let text = schema.get("description").and_then(Json::as_str)?;
    let first = text.split("\n\n").next().unwrap_or(text).replace('\n', " ");
    let end = first.find(". ").map_or(first.len(), |end| end + 1);
    Some(first[..end].trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests;
