//! The variables that a step can see, as they are when it starts.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::template::{PathSegment, UndefinedReason, UndefinedVariable, VariableReference};

/// Names and their values. Cloning and adding a name are cheap, however large the values are.
#[derive(Clone, Debug, Default)]
pub struct VariableScope {
    base: Arc<Map<String, Value>>,
    /// What was added since, the newest last; a handful at most (item, index, verdict, ...).
    added: Vec<(String, Arc<Value>)>,
}

impl VariableScope {
    pub fn new(names: Map<String, Value>) -> Self {
        Self { base: Arc::new(names), added: Vec::new() }
    }

    /// The same scope with one more name, which hides an older one.
    #[must_use]
    pub fn with(&self, name: impl Into<String>, value: Value) -> Self {
        self.with_shared(name, Arc::new(value))
    }

    /// As [`VariableScope::with`], for a value that others hold too.
    #[must_use]
    pub(crate) fn with_shared(&self, name: impl Into<String>, value: Arc<Value>) -> Self {
        let mut added = self.added.clone();
        added.push((name.into(), value));
        Self { base: Arc::clone(&self.base), added }
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        let newest = self.added.iter().rev().find(|(known, _)| known == name);
        newest.map(|(_, value)| value.as_ref()).or_else(|| self.base.get(name))
    }

    /// All names, without order; a hidden one may come twice.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.added.iter().map(|(name, _)| name.as_str()).chain(self.base.keys().map(String::as_str))
    }

    /// The value that a reference points to.
    pub fn resolve(&self, reference: &VariableReference) -> Result<&Value, UndefinedVariable> {
        let undefined = |reason| UndefinedVariable {
            name: reference.to_string(),
            offset: reference.offset,
            reason,
        };
        let Some(mut value) = self.get(&reference.name) else {
            let near = near(&reference.name, self.names());
            return Err(undefined(UndefinedReason::NoSuchName { near }));
        };
        for (depth, segment) in reference.path.iter().enumerate() {
            value = step(value, segment)
                .map_err(|what| undefined(what.named(reference.prefix(depth))))?;
        }
        Ok(value)
    }
}

/// One step into a value.
fn step<'a>(value: &'a Value, segment: &PathSegment) -> Result<&'a Value, UndefinedReason> {
    let at = String::new();
    match (segment, value) {
        (PathSegment::Key(key), Value::Object(map)) => map.get(key).ok_or_else(|| {
            let near = near(key, map.keys().map(String::as_str));
            UndefinedReason::NoSuchKey { at, key: key.clone(), near }
        }),
        (PathSegment::Index(index), Value::Array(items)) => items
            .get(*index)
            .ok_or(UndefinedReason::NoSuchIndex { at, index: *index, length: items.len() }),
        (PathSegment::Key(_), Value::Array(_)) => Err(UndefinedReason::NeedsIndex { at }),
        (PathSegment::Index(_), Value::Object(_)) => Err(UndefinedReason::NeedsKey { at }),
        (_, Value::String(_)) => Err(UndefinedReason::InsideText { at }),
        (_, other) => Err(UndefinedReason::InsideNothing { at, kind: kind(other) }),
    }
}

/// What a value is, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn near<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // A scope may hold thousands of names; a suggestion is not worth more than this.
    let known: Vec<&str> = known.take(1000).collect();
    coven_notation::near(word, known.iter().copied()).first().map(|name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scope() -> VariableScope {
        match json!({"task": {"title": "Fix it", "files": ["a", "b"]}, "note": "{\"a\": 1}"}) {
            Value::Object(map) => VariableScope::new(map),
            _ => VariableScope::default(),
        }
    }

    #[test]
    fn a_newer_name_hides_an_older_one_and_leaves_the_older_scope_alone() {
        let old = scope();
        let new = old.with("task", json!(1)).with("item", json!(2)).with("item", json!(3));
        assert_eq!(new.get("task"), Some(&json!(1)));
        assert_eq!(new.get("item"), Some(&json!(3)));
        assert_eq!(old.get("item"), None);
        assert!(old.get("task").is_some_and(Value::is_object));
    }

    #[test]
    fn a_path_that_leads_nowhere_says_where_it_ends() {
        let why = |text: &str| {
            let reference = VariableReference::parse(text).unwrap();
            scope().resolve(&reference).unwrap_err().to_string()
        };
        insta::assert_snapshot!(
            ["tsk.title", "task.titel", "task.files[2]", "task.files.first", "task[0]", "note.a",
             "task.title.length", "zebra"]
                .map(why).join("\n"),
            @"
        `${tsk.title}` is not defined: there is no variable of that name; did you mean `task`?
        `${task.titel}` is not defined: `task` has no `titel`; did you mean `title`?
        `${task.files[2]}` is not defined: `task.files` has 2 elements, and [2] is beyond them; they count from 0
        `${task.files.first}` is not defined: `task.files` is an array; choose an element with `task.files[0]`
        `${task[0]}` is not defined: `task` is an object; choose a part with `task.name`
        `${note.a}` is not defined: `note` is text; if the step answers in JSON, give it `expect: json`
        `${task.title.length}` is not defined: `task.title` is text; if the step answers in JSON, give it `expect: json`
        `${zebra}` is not defined: there is no variable of that name
        "
        );
    }
}
