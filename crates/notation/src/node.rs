//! The tree of a file: values that know where they stand.

use crate::SourceSpan;

/// One value of a file and its place.
///
/// The place of an aliased value (`*name`) is where the alias stands; what lies inside it keeps
/// the place of its definition.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceNode {
    pub value: NodeValue,
    /// Where it stands, quotes and brackets included.
    pub span: SourceSpan,
}

/// What a node is: the values of JSON, with maps in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// `null`, `~`, or nothing where a value could be.
    Null,
    /// `true` or `false`. In YAML 1.2 `yes` and `on` are strings.
    Bool(bool),
    /// A whole number that fits.
    Integer(i64),
    /// A whole number too large for `Integer`.
    Unsigned(u64),
    /// Any other number; never infinite.
    Float(f64),
    String(String),
    List(Vec<SourceNode>),
    /// A map, without duplicate keys.
    Map(Vec<MapEntry>),
}

/// One `key: value` of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct MapEntry {
    /// The key; a number or a boolean as it was written.
    pub key: String,
    /// Where the key stands, quotes included.
    pub key_span: SourceSpan,
    pub value: SourceNode,
}

/// One step of a path into a tree: a key of a map, or an index of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStep<'a> {
    /// The value of this key.
    Key(&'a str),
    /// The entry with this index, from 0.
    Index(usize),
}

impl<'a> From<&'a str> for PathStep<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for PathStep<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl SourceNode {
    /// The entry of a map; `None` for anything else.
    pub fn entry(&self, key: &str) -> Option<&MapEntry> {
        self.entries().iter().find(|entry| {
            #[cfg(test)]
            crate::work::count();
            entry.key == key
        })
    }

    /// The value of a map's key; `None` for anything else.
    pub fn get(&self, key: &str) -> Option<&SourceNode> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The node at the end of a path, e.g. `node.at(&["steps".into(), 2.into()])`.
    pub fn at(&self, path: &[PathStep<'_>]) -> Option<&SourceNode> {
        path.iter().try_fold(self, |node, step| match step {
            PathStep::Key(key) => node.get(key),
            PathStep::Index(index) => node.items().get(*index),
        })
    }

    /// The place of a map's key, or else of the node itself: where to say that something is
    /// wrong with that key.
    pub fn key_span(&self, key: &str) -> SourceSpan {
        self.entry(key).map_or(self.span, |entry| entry.key_span)
    }

    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[MapEntry] {
        match &self.value {
            NodeValue::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The entries of a list; none for anything else.
    pub fn items(&self) -> &[SourceNode] {
        match &self.value {
            NodeValue::List(items) => items,
            _ => &[],
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            NodeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            NodeValue::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Whether this is nothing.
    pub fn is_null(&self) -> bool {
        self.value == NodeValue::Null
    }

    /// The same value without places; maps keep the order of the file.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            NodeValue::Null => Json::Null,
            NodeValue::Bool(value) => Json::Bool(*value),
            NodeValue::Integer(value) => Json::from(*value),
            NodeValue::Unsigned(value) => Json::from(*value),
            NodeValue::Float(value) => Json::from(*value),
            NodeValue::String(text) => Json::String(text.clone()),
            NodeValue::List(items) => Json::Array(items.iter().map(SourceNode::to_json).collect()),
            NodeValue::Map(entries) => Json::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect(),
            ),
        }
    }
}
