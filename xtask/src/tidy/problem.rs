//! What a check has to say, and where.

use std::fmt;

/// One thing a check found. Problems sort by place, which is the order they are reported in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TidyProblem {
    /// Path from the root of the workspace, with `/`.
    pub(crate) path: String,
    /// Line, counted from 1.
    pub(crate) line: usize,
    pub(crate) severity: TidySeverity,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TidySeverity {
    Error,
    /// Is said and nothing more.
    Warning,
}

impl TidyProblem {
    pub(crate) fn error(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, severity: TidySeverity::Error, message: message.into() }
    }

    pub(crate) fn warning(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { severity: TidySeverity::Warning, ..Self::error(path, line, message) }
    }
}

impl fmt::Display for TidyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.severity {
            TidySeverity::Error => "",
            TidySeverity::Warning => "warning: ",
        };
        write!(f, "{}:{}: {mark}{}", self.path, self.line, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_read_like_compiler_messages_and_sort_by_place() {
        let mut problems = [
            TidyProblem::error("b.rs", 1, "third"),
            TidyProblem::warning("a.rs", 10, "second"),
            TidyProblem::error("a.rs", 9, "first"),
        ];
        problems.sort();
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a.rs:9: first", "a.rs:10: warning: second", "b.rs:1: third"]);
    }
}
