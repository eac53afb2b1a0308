//! Files that people write: YAML and JSON, read strictly, with every problem at its place.
//!
//! A person who edits a configuration makes more than one mistake at a time, and wants to see
//! them all, each with its line and with a suggestion. Deserialising straight into a struct
//! stops at the first one and, behind tagged or flattened enums, blames the wrong line. So a
//! file is read in three steps, and [`read()`] does them all:
//!
//! 1. [`parse()`] makes a tree of [`SourceNode`]s that know their place in the file;
//! 2. [`check()`] holds the tree against the JSON schema of the struct, the same schema that we
//!    publish, and collects every [`FileProblem`];
//! 3. only a tree without errors becomes the struct.
//!
//! ```
//! use coven_notation::{FileSyntax, ProblemReport, SourceFile, read};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Step {
//!     name: String,
//!     prompt: Option<String>,
//! }
//!
//! let source = SourceFile::new("step.yaml", "name: plan\npromt: Split the work\n");
//! let read = read::<Step>(&source, FileSyntax::Yaml);
//! assert!(read.value.is_none());
//!
//! let report = ProblemReport::new(source, read.problems);
//! assert!(report.render(false).contains("did you mean `prompt`?"));
//! ```
//!
//! What a caller checks beyond the schema (a name that is used twice, a variable that does not
//! exist) becomes a [`FileProblem`] too, at the span of its [`SourceNode`], or exactly at a piece
//! of a string with [`within`].

mod check;
pub mod duration;
mod node;
mod parse;
pub mod pattern;
mod printable;
mod problem;
mod read;
mod report;
mod source;
mod suggestions;
mod trusted;
mod within;

#[cfg(test)]
mod stopwatch;
#[cfg(test)]
mod work;

pub use check::{check, more_problems};
pub use duration::HumanDuration;
pub use node::{MapEntry, NodeValue, PathStep, SourceNode};
pub use parse::{FileSyntax, MAX_BYTES, MAX_DEPTH, MAX_PROBLEMS, parse};
pub use printable::{is_unprintable, printable};
pub use problem::{FileProblem, ProblemSeverity};
pub use read::{ParsedFile, read, schema_of};
pub use report::ProblemReport;
pub use source::{LineColumn, SourceFile, SourceSpan};
pub use suggestions::near;
pub use trusted::{TrustedFiles, named_paths, path_within};
pub use within::within;
