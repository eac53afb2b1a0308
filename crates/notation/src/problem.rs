//! One thing that is wrong with a file.

use crate::{MAX_BYTES, SourceSpan};

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProblemSeverity {
    /// The file cannot be used.
    Error,
    /// The file can be used, and probably does not do what its author meant.
    Warning,
}

/// One thing that is wrong with a file, where, and what to do about it.
///
/// Texts may quote the file as it is; [`crate::Report`] makes them harmless when it shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// A stable kebab-case name of this kind of problem, for programs.
    pub code: &'static str,
    /// How much it matters.
    pub severity: ProblemSeverity,
    /// What is wrong, in a lowercase sentence without a full stop.
    pub message: String,
    pub span: SourceSpan,
    /// A few words that stand at the place itself.
    pub label: Option<String>,
    pub help: Option<String>,
    /// Other places that belong to it, each with a few words.
    pub also: Vec<(SourceSpan, String)>,
}

impl FileProblem {
    /// An error at a place; the other parts are added with the methods below.
    pub fn error(code: &'static str, span: SourceSpan, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            severity: ProblemSeverity::Error,
            message,
            span,
            label: None,
            help: None,
            also: vec![],
        }
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, span: SourceSpan, message: impl Into<String>) -> Self {
        Self { severity: ProblemSeverity::Warning, ..Self::error(code, span, message) }
    }

    /// Puts a few words at the place itself.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds what to do, if there is something to say.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// Adds another place that belongs to it.
    #[must_use]
    pub fn with_related(mut self, span: SourceSpan, label: impl Into<String>) -> Self {
        self.also.push((span, label.into()));
        self
    }

    /// Whether the file cannot be used because of it.
    pub fn is_error(&self) -> bool {
        self.severity == ProblemSeverity::Error
    }

    pub(crate) fn too_large(bytes: usize) -> Self {
        let (has, may) = (bytes.div_ceil(1 << 20), MAX_BYTES >> 20);
        Self::error(
            "too-large",
            SourceSpan::default(),
            format!("the file has {has} MiB; at most {may} MiB are read"),
        )
    }
}
