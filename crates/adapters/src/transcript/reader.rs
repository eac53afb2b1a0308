//! Finds the events in the lines of both streams, and hands them to the one who understands them.

use std::borrow::Cow;

use coven_terminal::sanitise::strip;
use serde_json::Value;

use super::document::{Document, Taken};
use super::entry::{Excerpt, LINE_EXCERPT};
use super::format::Format;
use super::json::{Node, parse};
use super::limits::HEAD_LIMIT;
use super::lines::Line;
use super::run::Out;
use super::{claude, codex, copilot, gemini, opencode};

/// What understands the events of a format.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    Claude(claude::Claude),
    Codex(codex::Codex),
    Gemini,
    Opencode(opencode::Opencode),
    Copilot(copilot::Copilot),
    Text,
}

impl Reader {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::ClaudeStreamJson => Self::Claude(claude::Claude::new(claude::Kind::Claude)),
            Format::QwenStreamJson => Self::Claude(claude::Claude::new(claude::Kind::Qwen)),
            Format::CodexJson => Self::Codex(codex::Codex::default()),
            Format::GeminiStreamJson => Self::Gemini,
            Format::OpencodeJson => Self::Opencode(opencode::Opencode::default()),
            Format::CopilotJson => Self::Copilot(copilot::Copilot::default()),
            Format::Text => Self::Text,
        }
    }

    /// Reads one line of standard output.
    pub(super) fn line(&mut self, line: Line<'_>, document: &mut Document, out: &mut Out<'_>) {
        if line.omitted > 0 {
            if let Some(before) = document.give_up() {
                out.unknown(before);
            }
            out.unknown(Excerpt::of_bytes(line.bytes, line.omitted, LINE_EXCERPT));
            return;
        }
        match document.line(line.bytes) {
            Taken::Part => {}
            Taken::TooLong(document) => out.unknown(document),
            Taken::Whole(document) => {
                if !parse(&document).is_some_and(|value| self.value(&value, out)) {
                    out.unknown(Excerpt::of_bytes(&document, 0, LINE_EXCERPT));
                }
            }
            Taken::Foreign(before) => {
                if let Some(before) = before {
                    out.unknown(before);
                }
                self.single(line.bytes, document, out);
            }
        }
    }

    /// Reads a line that belongs to no document, unless it begins one.
    fn single(&mut self, line: &[u8], document: &mut Document, out: &mut Out<'_>) {
        if let Some(value) = event(line) {
            if !self.value(&value, out) {
                out.unknown(Excerpt::of_bytes(line, 0, LINE_EXCERPT));
            }
            return;
        }
        // After something that was no document another one may begin.
        if document.line(line) == Taken::Part {
            return;
        }
        let text = strip(&line[..line.len().min(HEAD_LIMIT)]);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if !self.stray(text, out) {
            out.hint(text);
            out.unknown(Excerpt::of_bytes(line, 0, LINE_EXCERPT));
        }
    }

    /// Reads one line, or a piece of a very long one, of standard error.
    pub(super) fn complaint(&mut self, line: &str, document: &mut Document, out: &mut Out<'_>) {
        let line = line.strip_suffix('\n').unwrap_or(line);
        if matches!(self, Self::Gemini) {
            match document.line(line.as_bytes()) {
                Taken::Part => return,
                Taken::TooLong(rest) => return out.warn(&rest.text),
                Taken::Whole(bytes) => {
                    let value = parse(&bytes);
                    if !gemini::complaint(Node(value.as_ref()), out) {
                        out.warn(&String::from_utf8_lossy(&bytes));
                    }
                    return;
                }
                Taken::Foreign(None) => {}
                Taken::Foreign(Some(before)) => {
                    out.warn(&before.text);
                    if document.line(line.as_bytes()) == Taken::Part {
                        return;
                    }
                }
            }
        }
        if line.trim().is_empty() || self.stray(line, out) {
            return;
        }
        out.hint(line);
        out.warn(line);
    }

    /// A line that is no event, and may mean something all the same.
    fn stray(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        match self {
            Self::Opencode(opencode) => opencode.line(line, out),
            _ => false,
        }
    }

    /// Reads an event, or a list of events, as some agents print when they print everything at
    /// the end. False if anything in it was not understood.
    fn value(&mut self, value: &Value, out: &mut Out<'_>) -> bool {
        match value {
            Value::Object(_) => self.event(Node(Some(value)), out),
            Value::Array(events) if !events.is_empty() => {
                events.iter().fold(true, |known, event| {
                    let object = event.is_object();
                    (object && self.event(Node(Some(event)), out)) && known
                })
            }
            _ => false,
        }
    }

    fn event(&mut self, event: Node<'_>, out: &mut Out<'_>) -> bool {
        match self {
            Self::Claude(claude) => claude.event(event, out),
            Self::Codex(codex) => codex.event(event, out),
            Self::Gemini => gemini::event(event, out),
            Self::Opencode(opencode) => opencode.event(event, out),
            Self::Copilot(copilot) => copilot.event(event, out),
            Self::Text => false,
        }
    }
}

/// The event in a line. On a terminal there may be escape sequences around it, or a progress line
/// that it overwrote; a raw control character is never a part of JSON, so those can go.
fn event(line: &[u8]) -> Option<Value> {
    let trimmed = line.trim_ascii();
    if !trimmed.contains(&b'{') {
        return None;
    }
    parse(trimmed).or_else(|| {
        let text: Cow<'_, str> = strip(trimmed);
        let text = text.trim_end_matches(|c: char| c == '\r' || c.is_whitespace());
        let last = text.rsplit('\r').next().unwrap_or_default();
        let last = last.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        (last.as_bytes() != trimmed).then(|| parse(last.as_bytes())).flatten()
    })
}
