//! Reads what an agent prints when it runs without a terminal: as entries that are the same for
//! every agent, and at the end as a conclusion.
//!
//! A [`Decoder`] takes the bytes of standard output and standard error as they come, in any
//! pieces; the entries are the same for every split. It never fails: what it does not understand
//! becomes [`Entry::Unknown`]. It keeps a bounded amount of memory ([`Decoder::buffered`]),
//! whatever is printed. It does no I/O and knows no clock.
//!
//! Whether a run succeeded is decided in [`Decoder::finish`]; the rules are in [`Conclusion`].

mod claude;
mod codex;
mod conclusion;
mod copilot;
mod document;
mod entry;
mod format;
mod gemini;
mod json;
mod limits;
mod lines;
mod opencode;
mod run;
mod text;

use std::borrow::Cow;

use coven_model::{Ending, Usage};
use coven_terminal::sanitise::strip;
use serde_json::Value;

pub use conclusion::Conclusion;
pub use entry::{Denial, Entry, Excerpt, LINE_EXCERPT, TEXT_LIMIT, TOOL_LIMIT};
pub use format::{Format, UnknownFormat};
pub use limits::{BUFFER_LIMIT, DENIALS_LIMIT, LINE_LIMIT};

use document::{Document, Taken};
use json::Node;
use lines::{Line, Lines};
use run::{Out, Run};

/// Reads one run of one agent.
#[derive(Clone, Debug)]
pub struct Decoder {
    format: Format,
    accepted: Vec<i32>,
    reader: Reader,
    stdout: Stdout,
    /// Standard error is text in every format, with a document in it now and then.
    stderr: text::Printed,
    complaint: Document,
    run: Run,
}

/// What understands the events of a format.
#[derive(Clone, Debug)]
enum Reader {
    Claude(claude::Claude),
    Codex(codex::Codex),
    Gemini,
    Opencode(opencode::Opencode),
    Copilot(copilot::Copilot),
    Text,
}

/// How standard output is cut into what a format reads.
#[derive(Clone, Debug)]
enum Stdout {
    Json { lines: Lines, document: Document },
    Text { lines: text::Printed, tail: text::Tail },
}

impl Decoder {
    /// A decoder at the beginning of a run.
    pub fn new(format: Format) -> Self {
        let reader = match format {
            Format::ClaudeStreamJson => Reader::Claude(claude::Claude::new(claude::Kind::Claude)),
            Format::QwenStreamJson => Reader::Claude(claude::Claude::new(claude::Kind::Qwen)),
            Format::CodexJson => Reader::Codex(codex::Codex::default()),
            Format::GeminiStreamJson => Reader::Gemini,
            Format::OpencodeJson => Reader::Opencode(opencode::Opencode::default()),
            Format::CopilotJson => Reader::Copilot(copilot::Copilot::default()),
            Format::Text => Reader::Text,
        };
        let stdout = match format {
            Format::Text => {
                Stdout::Text { lines: text::Printed::default(), tail: text::Tail::default() }
            }
            _ => Stdout::Json { lines: Lines::new(), document: Document::default() },
        };
        Self {
            format,
            accepted: vec![0],
            reader,
            stdout,
            stderr: text::Printed::default(),
            complaint: Document::default(),
            run: Run::default(),
        }
    }

    /// Says what the conversation had used up before this run resumed it: the sum over all of its
    /// earlier runs. Some agents count over the whole conversation; for those it is taken off.
    #[must_use]
    pub fn resumed_from(mut self, previous: Usage) -> Self {
        self.run.previous = previous;
        self
    }

    /// Says which exit codes are as good as 0, which is the only good one otherwise. A result is
    /// needed all the same where the format has one.
    #[must_use]
    pub fn accepting(mut self, codes: impl IntoIterator<Item = i32>) -> Self {
        self.accepted = codes.into_iter().collect();
        self
    }

    /// Reads the next bytes of standard output.
    pub fn feed_stdout(&mut self, bytes: &[u8], emit: &mut impl FnMut(Entry)) {
        let Self { reader, stdout, run, .. } = self;
        let mut out = Out::new(run, emit);
        match stdout {
            Stdout::Text { lines, tail } => {
                lines.feed(bytes, |piece| printed(piece, tail, &mut out));
            }
            Stdout::Json { lines, document } => {
                lines.feed(bytes, |line| reader.line(line, document, &mut out));
            }
        }
    }

    /// Reads the next bytes of standard error.
    pub fn feed_stderr(&mut self, bytes: &[u8], emit: &mut impl FnMut(Entry)) {
        let Self { reader, stderr, complaint, run, .. } = self;
        let mut out = Out::new(run, emit);
        stderr.feed(bytes, |line| reader.complaint(line, complaint, &mut out));
    }

    /// Ends the run: hands over what the last unfinished lines hold, and decides.
    pub fn finish(self, ending: &Ending, emit: &mut impl FnMut(Entry)) -> Conclusion {
        let Self { format, accepted, mut reader, stdout, mut stderr, mut complaint, mut run } =
            self;
        let mut out = Out::new(&mut run, emit);
        match stdout {
            Stdout::Text { mut lines, mut tail } => {
                lines.finish(|piece| printed(piece, &mut tail, &mut out));
                out.run.answer.text = tail.answer();
            }
            Stdout::Json { mut lines, mut document } => {
                lines.finish(|line| reader.line(line, &mut document, &mut out));
                if let Some(rest) = document.give_up() {
                    out.unknown(rest);
                }
            }
        }
        stderr.finish(|line| reader.complaint(line, &mut complaint, &mut out));
        if let Some(rest) = complaint.give_up() {
            out.warn(&rest.text);
        }
        conclusion::conclude(run, format, ending, &accepted)
    }

    /// How many bytes of output it keeps at the moment; never more than [`BUFFER_LIMIT`].
    pub fn buffered(&self) -> usize {
        let stdout = match &self.stdout {
            Stdout::Json { lines, document } => lines.buffered() + document.buffered(),
            Stdout::Text { tail, .. } => tail.buffered(),
        };
        stdout + self.complaint.buffered() + self.run.buffered()
    }
}

impl Reader {
    /// Reads one line of standard output.
    fn line(&mut self, line: Line<'_>, document: &mut Document, out: &mut Out<'_>) {
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
                if !json::parse(&document).is_some_and(|value| self.value(&value, out)) {
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
        let text = strip(&line[..line.len().min(limits::HEAD_LIMIT)]);
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
    fn complaint(&mut self, line: &str, document: &mut Document, out: &mut Out<'_>) {
        let line = line.strip_suffix('\n').unwrap_or(line);
        if matches!(self, Self::Gemini) {
            match document.line(line.as_bytes()) {
                Taken::Part => return,
                Taken::TooLong(rest) => return out.warn(&rest.text),
                Taken::Whole(bytes) => {
                    let value = json::parse(&bytes);
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
    json::parse(trimmed).or_else(|| {
        let text: Cow<'_, str> = strip(trimmed);
        let text = text.trim_end_matches(|c: char| c == '\r' || c.is_whitespace());
        let last = text.rsplit('\r').next().unwrap_or_default();
        let last = last.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        (last.as_bytes() != trimmed).then(|| json::parse(last.as_bytes())).flatten()
    })
}

/// Plain text: every line is a piece of what the program says.
fn printed(piece: &str, tail: &mut text::Tail, out: &mut Out<'_>) {
    tail.push(piece);
    out.hint(piece.trim_end());
    out.say_piece(piece);
}
