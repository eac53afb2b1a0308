//! Why an adapter cannot be loaded.

use std::io;
use std::path::PathBuf;

use coven_notation::ProblemReport;

/// An adapter that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Nothing is known about it.
    #[error("{}", unknown(kind, near))]
    Unknown {
        kind: String,
        /// Types with a similar name.
        near: Vec<String>,
    },
    /// The name cannot be an adapter's.
    #[error("{0:?} cannot be the type of an adapter: use lower-case letters, digits, `-` and `_`")]
    Name(String),
    /// The only file about it is broken.
    #[error("the adapter `{kind}` cannot be used:\n{}", .report.render(false))]
    Broken { kind: String, report: Box<ProblemReport> },
    #[error("the adapter file {} cannot be read: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    /// The files are right one by one, but not together.
    #[error("the adapter `{kind}` cannot be used: {error}")]
    Together { kind: String, error: String },
}

impl LoadError {
    /// What is wrong, in one line and without naming the adapter.
    pub(crate) fn brief(&self) -> String {
        match self {
            Self::Broken { report, .. } => {
                match report.problems.iter().find(|one| one.is_error()) {
                    Some(problem) => format!("{}: {}", report.source.name(), problem.message),
                    None => format!("{} is broken", report.source.name()),
                }
            }
            Self::Together { error, .. } => error.clone(),
            error => error.to_string(),
        }
    }
}

fn unknown(kind: &str, near: &[String]) -> String {
    let mut text = format!("there is no adapter `{kind}`");
    if near.is_empty() {
        text.push_str("; `coven adapter ls` shows what there is");
    } else {
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        text.push_str("; did you mean ");
        text.push_str(&near.join(" or "));
        text.push('?');
    }
    text
}
