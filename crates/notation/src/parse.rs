//! Text to a tree, within limits.

mod json;
mod scalar;
mod yaml;
mod yaml_errors;

use crate::{FileProblem, NodeValue, SourceFile, SourceNode, SourceSpan};

/// The largest file that is read.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;
/// How deep lists and maps may lie in each other.
pub const MAX_DEPTH: usize = 64;
/// How many values a file may have once its aliases are expanded.
pub(crate) const MAX_NODES: usize = 1_000_000;
/// How much text a file may have once its aliases are expanded: a long string behind many aliases
/// is a bomb too.
const MAX_EXPANDED: usize = 4 * MAX_BYTES;
/// A report with more problems is not read to its end, and each one costs memory.
pub const MAX_PROBLEMS: usize = 100;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileSyntax {
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
pub fn parse(source: &SourceFile, syntax: FileSyntax) -> Result<SourceNode, Vec<FileProblem>> {
    let bytes = source.text().len();
    if bytes > MAX_BYTES {
        return Err(vec![FileProblem::too_large(bytes)]);
    }
    match syntax {
        FileSyntax::Yaml => yaml::parse(source.text()),
        FileSyntax::Json => json::parse(source.text()),
    }
}

/// How much of the limits a tree has used.
#[derive(Debug, Clone, Copy, Default)]
struct LimitUsage {
    nodes: usize,
    bytes: usize,
}

impl LimitUsage {
    fn plus(self, other: Self) -> Self {
        Self { nodes: self.nodes + other.nodes, bytes: self.bytes + other.bytes }
    }

    fn exceeds_limits(self) -> bool {
        self.nodes > MAX_NODES || self.bytes > MAX_EXPANDED
    }
}

fn too_many_nodes(span: SourceSpan) -> FileProblem {
    FileProblem::error(
        "too-many-values",
        span,
        format!("the file has more than {MAX_NODES} values or too much text, aliases expanded"),
    )
    .label("the limit is reached here")
}

fn too_deep(span: SourceSpan) -> FileProblem {
    FileProblem::error(
        "too-deep",
        span,
        format!("lists and maps lie in each other more than {MAX_DEPTH} deep"),
    )
    .label("the limit is reached here")
}

fn empty_file() -> FileProblem {
    FileProblem::error("empty-file", SourceSpan::default(), "the file is empty")
}

/// Reports every key of a map that was there before, with both places.
fn duplicates(node: &SourceNode, problems: &mut Vec<FileProblem>) {
    let NodeValue::Map(entries) = &node.value else { return };
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
                FileProblem::error("duplicate-key", entry.key_span, message)
                    .label("again here")
                    .with_related(original.key_span, "first here")
                    .help("remove one of the two, or merge them"),
            );
        } else {
            first = index;
        }
    }
}

#[cfg(test)]
mod tests;
