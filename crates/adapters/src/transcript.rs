//! Reads what an agent prints when it runs without a terminal: as entries that are the same for
//! every agent, and at the end as a conclusion.
//!
//! A [`TranscriptDecoder`] takes the bytes of standard output and standard error as they come, in any
//! pieces; the entries are the same for every split. It never fails: what it does not understand
//! becomes [`TranscriptItem::Unknown`]. It keeps a bounded amount of memory ([`TranscriptDecoder::buffered`]),
//! whatever is printed. It does no I/O and knows no clock.
//!
//! Whether a run succeeded is decided in [`TranscriptDecoder::finish`]; the rules are in [`RunConclusion`].

pub(crate) mod announced;
pub(crate) mod claude;
mod codex;
pub(crate) mod codex_items;
mod conclusion;
mod copilot;
mod document;
pub(crate) mod entry;
pub(crate) mod file_diff;
mod format;
mod gemini;
pub(crate) mod json;
mod known_causes;
pub(crate) mod limits;
pub(crate) mod lines;
mod mended;
mod opencode;
mod reader;
pub(crate) mod recent;
pub(crate) mod run;
pub(crate) mod subagents;
mod text;

use coven_model::{ModelRetry, ProcessEnding, TokenUsage};

pub use conclusion::RunConclusion;
pub use entry::{TEXT_LIMIT, TextExcerpt, ToolDenial, TranscriptItem};
pub use format::{TranscriptFormat, UnknownFormat};
pub use limits::{BUFFER_LIMIT, LINE_LIMIT};

use document::PrintedDocument;
use lines::LineSplitter;
use reader::FormatReader;
use run::{EntrySink, RunProgress};

/// Reads one run of one agent.
#[derive(Clone, Debug)]
pub struct TranscriptDecoder {
    format: TranscriptFormat,
    accepted: Vec<i32>,
    reader: FormatReader,
    stdout: StdoutReader,
    /// Standard error is text in every format, with a document in it now and then.
    stderr: text::PrintedLines,
    complaint: PrintedDocument,
    run: RunProgress,
}

/// How standard output is cut into what a format reads.
#[derive(Clone, Debug)]
enum StdoutReader {
    Json { lines: LineSplitter, document: PrintedDocument },
    Text { lines: text::PrintedLines, tail: text::TextTail },
}

impl TranscriptDecoder {
    /// A decoder at the beginning of a run.
    pub fn new(format: TranscriptFormat) -> Self {
        let reader = FormatReader::new(format);
        let stdout = match format {
            TranscriptFormat::Text => StdoutReader::Text {
                lines: text::PrintedLines::default(),
                tail: text::TextTail::default(),
            },
            _ => StdoutReader::Json {
                lines: LineSplitter::new(),
                document: PrintedDocument::default(),
            },
        };
        Self {
            format,
            accepted: vec![0],
            reader,
            stdout,
            stderr: text::PrintedLines::default(),
            complaint: PrintedDocument::default(),
            run: RunProgress::default(),
        }
    }

    /// Says what the conversation had used up before this run resumed it: the sum over all of its
    /// earlier runs. Some agents count over the whole conversation; for those it is taken off.
    #[must_use]
    pub fn resumed_from(mut self, previous: TokenUsage) -> Self {
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
    pub fn feed_stdout(&mut self, bytes: &[u8], emit: &mut impl FnMut(TranscriptItem)) {
        let Self { reader, stdout, run, .. } = self;
        let mut out = EntrySink::new(run, emit);
        match stdout {
            StdoutReader::Text { lines, tail } => {
                lines.feed(bytes, |piece| printed(piece, tail, &mut out));
            }
            StdoutReader::Json { lines, document } => {
                lines.feed(bytes, |line| reader.line(line, document, &mut out));
            }
        }
    }

    /// Reads the next bytes of standard error.
    pub fn feed_stderr(&mut self, bytes: &[u8], emit: &mut impl FnMut(TranscriptItem)) {
        let Self { reader, stderr, complaint, run, .. } = self;
        let mut out = EntrySink::new(run, emit);
        stderr.feed(bytes, |line| reader.complaint(line, complaint, &mut out));
    }

    /// Ends the run: hands over what the last unfinished lines hold, and decides.
    pub fn finish(
        self,
        ending: &ProcessEnding,
        emit: &mut impl FnMut(TranscriptItem),
    ) -> RunConclusion {
        let Self { format, accepted, mut reader, stdout, mut stderr, mut complaint, mut run } =
            self;
        let mut out = EntrySink::new(&mut run, emit);
        match stdout {
            StdoutReader::Text { mut lines, mut tail } => {
                lines.finish(|piece| printed(piece, &mut tail, &mut out));
                out.run.answer.text = tail.answer();
            }
            StdoutReader::Json { mut lines, mut document } => {
                lines.finish(|line| reader.line(line, &mut document, &mut out));
                if let Some(rest) = document.abandon() {
                    out.unknown(rest);
                }
            }
        }
        stderr.finish(|line| reader.complaint(line, &mut complaint, &mut out));
        if let Some(rest) = complaint.abandon() {
            out.warn(&rest.text);
        }
        conclusion::conclude(run, format, ending, &accepted)
    }

    /// The attempt to reach its model that the agent is at.
    pub const fn retry(&self) -> Option<&ModelRetry> {
        self.run.retry.as_ref()
    }

    /// How many bytes of output it keeps at the moment; never more than [`BUFFER_LIMIT`].
    pub fn buffered(&self) -> usize {
        let stdout = match &self.stdout {
            StdoutReader::Json { lines, document } => lines.buffered() + document.buffered(),
            StdoutReader::Text { tail, .. } => tail.buffered(),
        };
        stdout + self.complaint.buffered() + self.run.buffered()
    }
}

/// Plain text: every line is a piece of what the program says.
fn printed(piece: &str, tail: &mut text::TextTail, out: &mut EntrySink<'_>) {
    tail.push(piece);
    out.hint(piece.trim_end());
    out.say_piece(piece);
}
