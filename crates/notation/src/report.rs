//! Problems as people and programs see them.

use annotate_snippets::{
    AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet as Lines, Title,
};

use crate::printable::visible;
use crate::{FileProblem, ProblemSeverity, SourceFile, SourceSpan, printable};

/// The width that reports are laid out for.
const REPORT_COLUMNS: usize = 120;
/// A line longer than this was not written by hand; only a piece of it is quoted.
const MAX_QUOTED_LINE: usize = 1000;
/// How many characters of a long line are quoted on each side of the place.
const CONTEXT_CHARS: usize = 40;

/// The problems of one file, ready to be shown.
///
/// Whatever the file contains, no control character of it gets into what is rendered.
#[derive(Debug, Clone)]
pub struct ProblemReport {
    pub source: SourceFile,
    pub problems: Vec<FileProblem>,
}

impl ProblemReport {
    /// A report; the problems are put into the order of the file.
    pub fn new(source: SourceFile, mut problems: Vec<FileProblem>) -> Self {
        problems.sort_by_key(|problem| (problem.span, problem.severity));
        Self { source, problems }
    }

    /// Whether the file cannot be used.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(FileProblem::is_error)
    }

    /// The report as text with the lines of the file, coloured for a terminal or plain.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.term_width(REPORT_COLUMNS);
        let groups = self.problems.iter().map(|problem| {
            let mut text = renderer.render(&[self.group(problem)]);
            text.push('\n');
            text
        });
        groups.collect::<Vec<_>>().join("\n")
    }

    /// The report for programs: a list of `{code, severity, message, file, line, column,
    /// endLine, endColumn, label?, help?, snippet, also?}`. `snippet` is the first line of the
    /// place, cut around it when it is long.
    pub fn to_json(&self) -> serde_json::Value {
        self.problems.iter().map(|problem| self.json(problem)).collect()
    }

    fn json(&self, problem: &FileProblem) -> serde_json::Value {
        let mut json = serde_json::Map::new();
        json.insert("code".into(), problem.code.into());
        let severity = match problem.severity {
            ProblemSeverity::Error => "error",
            ProblemSeverity::Warning => "warning",
        };
        json.insert("severity".into(), severity.into());
        json.insert("message".into(), printable(&problem.message).into());
        json.insert("file".into(), printable(self.source.name()).into());
        json.extend(self.place(problem.span));
        if let Some(label) = &problem.label {
            json.insert("label".into(), printable(label).into());
        }
        if let Some(help) = &problem.help {
            json.insert("help".into(), printable(help).into());
        }
        json.insert("snippet".into(), self.excerpt(problem.span).into());
        if !problem.also.is_empty() {
            let also = problem.also.iter().map(|(span, label)| {
                let mut place = self.place(*span);
                place.insert("label".into(), printable(label).into());
                serde_json::Value::Object(place)
            });
            json.insert("also".into(), also.collect());
        }
        serde_json::Value::Object(json)
    }

    fn place(&self, span: SourceSpan) -> serde_json::Map<String, serde_json::Value> {
        let span = self.source.clamp(span);
        let (start, end) = (self.source.position(span.start), self.source.position(span.end));
        let parts = [
            ("line", start.line),
            ("column", start.column),
            ("endLine", end.line),
            ("endColumn", end.column),
        ];
        parts.into_iter().map(|(name, number)| (name.to_owned(), number.into())).collect()
    }

    fn group(&self, problem: &FileProblem) -> Group<'static> {
        let level = match problem.severity {
            ProblemSeverity::Error => Level::ERROR,
            ProblemSeverity::Warning => Level::WARNING,
        };
        let title: Title<'static> = level.primary_title(printable(&problem.message));
        let mut elements: Vec<Element<'static>> = Vec::new();
        if self.source.text().is_empty() {
            elements.push(Origin::path(printable(self.source.name())).into());
        } else {
            elements.extend(self.quote(problem));
        }
        if let Some(help) = &problem.help {
            elements.push(Level::HELP.message(printable(help)).into());
        }
        title.id(problem.code).elements(elements)
    }

    /// The lines that a problem is about, one after the other, its own place first.
    fn quote(&self, problem: &FileProblem) -> Vec<Element<'static>> {
        let mut lines: Vec<(usize, Vec<LineAnnotation<'_>>)> = Vec::new();
        let own = LineAnnotation { span: problem.span, label: problem.label.as_deref(), own: true };
        let also = problem.also.iter().map(|(span, label)| LineAnnotation {
            span: *span,
            label: Some(label.as_str()),
            own: false,
        });
        for mark in std::iter::once(own).chain(also) {
            let line = self.source.position(mark.span.start).line;
            match lines.iter_mut().find(|(known, _)| *known == line) {
                Some((_, marks)) => marks.push(mark),
                None => lines.push((line, vec![mark])),
            }
        }
        lines.iter().flat_map(|(line, marks)| self.line(*line, marks)).collect()
    }

    fn line(&self, line: usize, marks: &[LineAnnotation<'_>]) -> Vec<Element<'static>> {
        let whole = self.source.line_span(line);
        let text = self.source.slice(whole);
        let path = printable(self.source.name());
        if text.len() > MAX_QUOTED_LINE {
            let place = marks.first().map_or(whole, |mark| mark.span);
            let position = self.source.position(place.start);
            let origin = Origin::path(path).line(position.line).char_column(position.column);
            let near = Level::NOTE.message(format!("near `{}`", self.excerpt(place)));
            return vec![origin.into(), near.into()];
        }
        // Every character is replaced by one character, but not of the same number of bytes.
        let mut shown = String::with_capacity(text.len());
        let mut offsets = Vec::with_capacity(text.len() + 1);
        for (offset, character) in text.char_indices() {
            offsets.resize(offset + 1, shown.len());
            shown.push(visible(character));
        }
        offsets.resize(text.len() + 1, shown.len());
        let annotations = marks.iter().map(|mark| {
            let within = |offset: usize| {
                offsets[self
                    .source
                    .clamp(SourceSpan::new(offset, offset))
                    .start
                    .clamp(whole.start, whole.end)
                    - whole.start]
            };
            // What goes on in further lines is marked to the end of its first.
            let (start, end) = (within(mark.span.start), within(mark.span.end));
            let kind = if mark.own { AnnotationKind::Primary } else { AnnotationKind::Context };
            kind.span(start..end.max(start)).label(mark.label.map(printable))
        });
        let annotations: Vec<_> = annotations.collect();
        vec![Lines::source(shown).path(path).line_start(line).annotations(annotations).into()]
    }

    /// The line of a place, or a piece of it around the place when it is long.
    fn excerpt(&self, span: SourceSpan) -> String {
        let span = self.source.clamp(span);
        let line = self.source.line_span(self.source.position(span.start).line);
        let start = span.start.min(line.end);
        let before = self.source.slice(SourceSpan::new(line.start, start));
        let after = self.source.slice(SourceSpan::new(start, line.end));
        let skip =
            before.char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(offset, _)| offset);
        let take =
            after.char_indices().nth(2 * CONTEXT_CHARS).map_or(after.len(), |(offset, _)| offset);
        let (left, right) = if before.len() + after.len() <= 3 * CONTEXT_CHARS {
            (before, after)
        } else {
            (&before[skip..], &after[..take])
        };
        let cut = |cut: bool| if cut { "…" } else { "" };
        format!(
            "{}{}{}{}",
            cut(left.len() < before.len()),
            printable(left),
            printable(right),
            cut(right.len() < after.len())
        )
    }
}

/// A place in a line and what is said about it.
struct LineAnnotation<'a> {
    span: SourceSpan,
    label: Option<&'a str>,
    own: bool,
}

#[cfg(test)]
mod tests;
