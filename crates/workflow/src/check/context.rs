//! Collects problems and knows where they stand.

use std::ops::Range;

use coven_notation::{FileProblem, SourceFile, SourceNode, SourceSpan, more_problems, within};

use super::CheckEnvironment;

/// How many problems of one file are reported; an author with this many reads no further.
const MAX_FILE_PROBLEMS: usize = coven_notation::MAX_PROBLEMS;
/// How many problems of one text in the file are reported.
pub(super) const MAX_TEXT_PROBLEMS: usize = 20;

/// What all checks share.
pub(super) struct CheckContext<'a> {
    pub(super) source: &'a SourceFile,
    pub(super) known: &'a CheckEnvironment,
    problems: Vec<FileProblem>,
    /// How many more there were, as far as they were looked for.
    uncounted: usize,
    /// Whether something was not looked at, because there were enough problems already.
    skipped: bool,
}

impl<'a> CheckContext<'a> {
    pub(super) fn new(source: &'a SourceFile, known: &'a CheckEnvironment) -> Self {
        Self { source, known, problems: Vec::new(), uncounted: 0, skipped: false }
    }

    pub(super) fn push(&mut self, problem: FileProblem) {
        if self.is_full() {
            self.uncounted += 1;
        } else {
            self.problems.push(problem);
        }
    }

    fn is_full(&self) -> bool {
        self.problems.len() >= MAX_FILE_PROBLEMS
    }

    /// Whether there are as many problems as are told, so that nothing more is looked for: a file
    /// can have as many wrong names as it has room for, and each is held against all that are
    /// known. A definition of which something was skipped is never used.
    pub(super) fn skips(&mut self) -> bool {
        self.skipped |= self.is_full();
        self.is_full()
    }

    /// An error at a place.
    pub(super) fn error(
        &mut self,
        code: &'static str,
        span: SourceSpan,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(FileProblem::error(code, span, message).help(help));
    }

    /// The place of a piece of a text.
    pub(super) fn span_inside(
        &self,
        node: &SourceNode,
        offset: usize,
        length: usize,
    ) -> SourceSpan {
        let piece: Range<usize> = offset..offset + length.max(1);
        within(self.source, node, piece)
    }

    /// Adds what we know better than a schema to the problems that a schema finds.
    pub(super) fn improve_schema_problems(&mut self) {
        for problem in &mut self.problems {
            let text = self.source.slice(problem.span).trim_matches(['"', '\'']);
            let better = match (problem.code, text) {
                ("not-one-of", "retry") => {
                    Some("a step that is to be tried again has `retry: {attempts: 3}`".to_owned())
                }
                ("not-one-of", _) if problem.message.starts_with("`trigger`") => {
                    Some("write `manual`, or `{event: workflow.completed}`".to_owned())
                }
                ("wrong-type", _) if is_about(problem, &["until"]) => Some(
                    "write `until: {command: cargo test}`, or in a `loop` a condition".to_owned(),
                ),
                ("not-one-of" | "wrong-type", _)
                    if is_about(problem, &["ok_exit_codes", "okExitCodes"]) =>
                {
                    Some("write `any`, or a list such as `[0, 2]`".to_owned())
                }
                ("wrong-type", _) if is_about(problem, &["retry"]) => {
                    Some("write `retry: {attempts: 3}`".to_owned())
                }
                ("not-one-of", _) => our_term(text, &problem.message),
                ("unknown-key", "stages") => Some(
                    "a file has `steps` (a grimoire) or `stages` (a stage workflow)".to_owned(),
                ),
                ("wrong-type", _) if is_about(problem, &["needs"]) => {
                    Some("write a list of steps: `needs: [build]`".to_owned())
                }
                ("wrong-type", _) if is_about(problem, &["for_each"]) => {
                    Some("name the array, as in `for_each: ${tasks}`, or write a list".to_owned())
                }
                _ => None,
            };
            problem.help = better.or(problem.help.take());
        }
    }

    pub(super) fn into_problems(mut self) -> Vec<FileProblem> {
        self.problems.sort_by_key(|problem| (problem.span, problem.severity));
        if (self.uncounted > 0 || self.skipped)
            && let Some(last) = self.problems.last()
        {
            self.problems.push(more_problems(last.span, self.uncounted));
        }
        self.problems
    }
}

/// Whether a schema's problem is about one of these keys itself.
fn is_about(problem: &FileProblem, keys: &[&str]) -> bool {
    keys.iter().any(|key| problem.message.contains(&format!(".{key}`: ")))
}

/// Words of other systems, and what they are called here.
const FOREIGN_TERMS: [(&str, &str); 18] = [
    ("ignore", "continue"),
    ("skip", "continue"),
    ("continue", "proceed"),
    ("stop", "fail"),
    ("abort", "fail"),
    ("ask", "block"),
    ("pause", "block"),
    ("yolo", "all"),
    ("plan", "read-only"),
    ("readonly", "read-only"),
    ("integer", "number"),
    ("bool", "boolean"),
    ("list", "array"),
    ("map", "object"),
    ("shell", "script"),
    ("command", "script"),
    ("repeat", "loop"),
    ("parallel", "parallel-agents"),
];

/// Our name for what another system calls `word`, if it is among the offered keys.
fn our_term(word: &str, offered: &str) -> Option<String> {
    let meant = FOREIGN_TERMS.iter().find(|(other, ours)| {
        word.eq_ignore_ascii_case(other) && offered.contains(&format!("`{ours}`"))
    });
    meant.map(|(_, ours)| format!("here it is called `{ours}`"))
}

/// `a`, `b` and `c`.
pub(super) fn list<S: AsRef<str>>(words: &[S]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `; did you mean ...?`, or nothing.
pub(super) fn did_you_mean<'a, S: AsRef<str> + ?Sized + 'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a S>,
) -> String {
    match coven_notation::near(word, known).first() {
        Some(best) => format!("; did you mean `{best}`?"),
        None => String::new(),
    }
}
