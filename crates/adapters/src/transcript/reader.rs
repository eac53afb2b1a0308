//! Finds the events in the lines of both streams, and hands them to the one who understands them.

use std::borrow::Cow;

use coven_terminal::sanitise::strip;

use super::document::{DocumentLine, PrintedDocument};
use super::entry::{LINE_EXCERPT, TextExcerpt};
use super::format::TranscriptFormat;
use super::json::{JsonNode, JsonValue, parse};
use super::limits::HEAD_LIMIT;
use super::lines::RawLine;
use super::run::EntrySink;
use super::{claude, codex, copilot, gemini, opencode};

/// What understands the events of a format.
#[derive(Clone, Debug)]
pub(super) enum FormatReader {
    Claude(claude::ClaudeReader),
    Codex(codex::CodexReader),
    Gemini(gemini::GeminiReader),
    Opencode(opencode::OpencodeReader),
    Copilot(copilot::CopilotReader),
    Text,
}

impl FormatReader {
    pub(super) fn new(format: TranscriptFormat) -> Self {
        match format {
            TranscriptFormat::ClaudeStreamJson => {
                Self::Claude(claude::ClaudeReader::new(claude::ClaudeVariant::Claude))
            }
            TranscriptFormat::QwenStreamJson => {
                Self::Claude(claude::ClaudeReader::new(claude::ClaudeVariant::Qwen))
            }
            TranscriptFormat::CodexJson => Self::Codex(codex::CodexReader::default()),
            TranscriptFormat::GeminiStreamJson => Self::Gemini(gemini::GeminiReader::default()),
            TranscriptFormat::OpencodeJson => Self::Opencode(opencode::OpencodeReader::default()),
            TranscriptFormat::CopilotJson => Self::Copilot(copilot::CopilotReader::default()),
            TranscriptFormat::Text => Self::Text,
        }
    }

    /// Reads one line of standard output.
    pub(super) fn line(
        &mut self,
        line: RawLine<'_>,
        document: &mut PrintedDocument,
        out: &mut EntrySink<'_>,
    ) {
        if line.omitted > 0 {
            if let Some(before) = document.abandon() {
                out.unknown(before);
            }
            out.unknown(TextExcerpt::of_bytes(line.bytes, line.omitted, LINE_EXCERPT));
            return;
        }
        match document.line(line.bytes) {
            DocumentLine::Part => {}
            DocumentLine::TooLong(document) => out.unknown(document),
            DocumentLine::Whole(document) => {
                if !parse(&document).is_some_and(|value| self.value(&value, out)) {
                    out.unknown(TextExcerpt::of_bytes(&document, 0, LINE_EXCERPT));
                }
            }
            DocumentLine::Foreign(before) => {
                if let Some(before) = before {
                    out.unknown(before);
                }
                self.single(line.bytes, document, out);
            }
        }
    }

    /// Reads a line that belongs to no document, unless it begins one.
    fn single(&mut self, line: &[u8], document: &mut PrintedDocument, out: &mut EntrySink<'_>) {
        if let Some(known) = self.read_event(line.trim_ascii(), out) {
            if !known {
                out.unknown(TextExcerpt::of_bytes(line, 0, LINE_EXCERPT));
            }
            return;
        }
        // After something that was no document another one may begin.
        if document.line(line) == DocumentLine::Part {
            return;
        }
        let text = strip(&line[..line.len().min(HEAD_LIMIT)]);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if !self.read_stray_line(text, out) {
            out.hint(text);
            out.unknown(TextExcerpt::of_bytes(line, 0, LINE_EXCERPT));
        }
    }

    /// Reads the event in a line, and says whether it was understood; nothing if there is none.
    fn read_event(&mut self, line: &[u8], out: &mut EntrySink<'_>) -> Option<bool> {
        if !line.contains(&b'{') {
            return None;
        }
        if let Some(value) = parse(line) {
            return Some(self.value(&value, out));
        }
        let cleaned = cleaned(line)?;
        parse(cleaned.as_bytes()).map(|value| self.value(&value, out))
    }

    /// Reads one line, or a piece of a very long one, of standard error.
    pub(super) fn complaint(
        &mut self,
        line: &str,
        document: &mut PrintedDocument,
        out: &mut EntrySink<'_>,
    ) {
        let line = line.strip_suffix('\n').unwrap_or(line);
        if matches!(self, Self::Gemini(_)) {
            match document.line(line.as_bytes()) {
                DocumentLine::Part => return,
                DocumentLine::TooLong(rest) => return out.warn(&rest.text),
                DocumentLine::Whole(bytes) => {
                    let value = parse(&bytes);
                    if !gemini::complaint(JsonNode::read(value.as_ref()), out) {
                        out.warn(&String::from_utf8_lossy(&bytes));
                    }
                    return;
                }
                DocumentLine::Foreign(None) => {}
                DocumentLine::Foreign(Some(before)) => {
                    out.warn(&before.text);
                    if document.line(line.as_bytes()) == DocumentLine::Part {
                        return;
                    }
                }
            }
        }
        if line.trim().is_empty() || self.read_stray_line(line, out) {
            return;
        }
        out.hint(line);
        out.warn(line);
    }

    /// A line that is no event, and may mean something all the same.
    fn read_stray_line(&mut self, line: &str, out: &mut EntrySink<'_>) -> bool {
        match self {
            Self::Opencode(opencode) => opencode.line(line, out),
            Self::Codex(_) => codex::CodexReader::log_line(line, out),
            _ => false,
        }
    }

    /// Reads an event, or a list of events, as some agents print when they print everything at
    /// the end. False if anything in it was not understood.
    fn value(&mut self, value: &JsonValue<'_>, out: &mut EntrySink<'_>) -> bool {
        match value {
            JsonValue::Object(_) => self.event(JsonNode::Read(value), out),
            JsonValue::List(events) if !events.is_empty() => {
                events.iter().fold(true, |known, event| {
                    let object = event.is_object();
                    (object && self.event(JsonNode::Read(event), out)) && known
                })
            }
            _ => false,
        }
    }

    fn event(&mut self, event: JsonNode<'_>, out: &mut EntrySink<'_>) -> bool {
        match self {
            Self::Claude(claude) => claude.event(event, out),
            Self::Codex(codex) => codex.event(event, out),
            Self::Gemini(gemini) => gemini.event(event, out),
            Self::Opencode(opencode) => opencode.event(event, out),
            Self::Copilot(copilot) => copilot.event(event, out),
            Self::Text => false,
        }
    }
}

/// A line without what a terminal may have put around an event: escape sequences, or a progress line
/// that it overwrote. A raw control character is never a part of JSON, so those can go. Nothing if
/// there are none.
fn cleaned(line: &[u8]) -> Option<String> {
    let text: Cow<'_, str> = strip(line);
    let text = text.trim_end_matches(|c: char| c == '\r' || c.is_whitespace());
    let last = text.rsplit('\r').next().unwrap_or_default();
    let last = last.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    (last.as_bytes() != line).then(|| last.to_owned())
}
