//! Text to a tree, within limits.

mod json;
mod scalar;
mod yaml;
mod yaml_errors;

use crate::{Node, Problem, Source, Span, Value};

/// The largest file that is read.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;
/// How deep lists and maps may lie in each other.
pub const MAX_DEPTH: usize = 64;
/// How many values a file may have once its aliases are expanded.
pub const MAX_NODES: usize = 1_000_000;
/// How much text a file may have once its aliases are expanded: a long string behind many aliases
/// is a bomb too.
const MAX_EXPANDED: usize = 4 * MAX_BYTES;
/// Nobody reads more problems than this, and each one costs memory.
pub(crate) const MAX_PROBLEMS: usize = 200;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// YAML 1.2, one document.
    Yaml,
    /// JSON as the standard has it: no comments, no trailing commas.
    Json,
}

/// Reads a text into a tree.
///
/// Refused, each with its own problem: more than [`MAX_BYTES`], [`MAX_DEPTH`] or [`MAX_NODES`],
/// an empty file, a second YAML document, a key that comes twice, and what the syntax does not
/// allow. As many problems as can be told apart are reported together.
pub fn parse(source: &Source, syntax: Syntax) -> Result<Node, Vec<Problem>> {
    let bytes = source.text().len();
    if bytes > MAX_BYTES {
        return Err(vec![Problem::too_large(bytes)]);
    }
    match syntax {
        Syntax::Yaml => yaml::parse(source.text()),
        Syntax::Json => json::parse(source.text()),
    }
}

/// How much of the limits a tree has used.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    bytes: usize,
}

impl Weight {
    fn plus(self, other: Self) -> Self {
        Self { nodes: self.nodes + other.nodes, bytes: self.bytes + other.bytes }
    }

    fn is_too_much(self) -> bool {
        self.nodes > MAX_NODES || self.bytes > MAX_EXPANDED
    }
}

fn too_many_nodes(span: Span) -> Problem {
    Problem::error(
        "too-many-values",
        span,
        format!("the file has more than {MAX_NODES} values or too much text, aliases expanded"),
    )
    .label("the limit is reached here")
}

fn too_deep(span: Span) -> Problem {
    Problem::error(
        "too-deep",
        span,
        format!("lists and maps lie in each other more than {MAX_DEPTH} deep"),
    )
    .label("the limit is reached here")
}

fn empty_file() -> Problem {
    Problem::error("empty-file", Span::default(), "the file is empty")
}

/// Reports every key of a map that was there before, with both places.
fn duplicates(node: &Node, problems: &mut Vec<Problem>) {
    let Value::Map(entries) = &node.value else { return };
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| entries[*a].key.cmp(&entries[*b].key));
    let mut first = 0;
    for index in 1..order.len() {
        let (original, entry) = (&entries[order[first]], &entries[order[index]]);
        if problems.len() >= MAX_PROBLEMS {
            return;
        }
        if original.key == entry.key {
            let message = format!("duplicate key `{}`", entry.key);
            problems.push(
                Problem::error("duplicate-key", entry.key_span, message)
                    .label("again here")
                    .also(original.key_span, "first here")
                    .help("remove one of the two, or merge them"),
            );
        } else {
            first = index;
        }
    }
}

#[cfg(test)]
mod tests;
