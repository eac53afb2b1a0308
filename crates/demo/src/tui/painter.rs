//! Paints on a terminal in one of two ways that agents have: inline, below what is already there,
//! or on the alternate screen, which belongs to the agent alone.

use super::TuiSize;
use super::line::{ConversationBlock, ConversationHistory, StyledLine};
use crate::text;

const SYNC_START: &str = "\x1b[?2026h";
const SYNC_END: &str = "\x1b[?2026l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// The part of the screen that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TuiFrame {
    pub(super) lines: Vec<StyledLine>,
    /// Row and column within the lines; without it the cursor is hidden.
    pub(super) cursor: Option<(usize, usize)>,
}

#[derive(Debug)]
pub(super) enum TuiPainter {
    Inline(InlinePainter),
    Alternate(AlternatePainter),
}

impl TuiPainter {
    pub(super) fn new(alternate: bool, size: TuiSize) -> Self {
        if alternate {
            Self::Alternate(AlternatePainter { size, ..AlternatePainter::default() })
        } else {
            Self::Inline(InlinePainter { size, drawn: None })
        }
    }

    pub(super) fn enter(&self) -> &'static str {
        match self {
            Self::Inline(_) => "\x1b[?2004h",
            Self::Alternate(_) => "\x1b[?1049h\x1b[2J\x1b[?2004h",
        }
    }

    /// Adds the blocks to the conversation and shows the frame below it. Nothing comes out if
    /// nothing has changed.
    pub(super) fn paint(&mut self, blocks: Vec<ConversationBlock>, frame: TuiFrame) -> String {
        match self {
            Self::Inline(inline) => inline.paint(&blocks, frame),
            Self::Alternate(alternate) => alternate.paint(blocks, frame),
        }
    }

    /// The terminal has another size now.
    pub(super) fn resize(&mut self, size: TuiSize) {
        match self {
            Self::Inline(inline) => inline.size = size,
            Self::Alternate(alternate) => {
                alternate.size = size;
                alternate.painted.clear();
            }
        }
    }

    /// Takes the frame away, so that something else can be written from here on.
    pub(super) fn suspend(&mut self) -> String {
        match self {
            Self::Inline(inline) => {
                let erased = inline.erase();
                inline.drawn = None;
                erased
            }
            Self::Alternate(alternate) => {
                alternate.painted.clear();
                "\x1b[2J\x1b[H".to_owned()
            }
        }
    }
}

/// Paints below what is there. The conversation scrolls away like any output; only the frame is
/// erased and painted again.
#[derive(Debug)]
pub(super) struct InlinePainter {
    size: TuiSize,
    drawn: Option<TuiFrame>,
}

impl InlinePainter {
    fn paint(&mut self, blocks: &[ConversationBlock], frame: TuiFrame) -> String {
        if blocks.is_empty() && self.drawn.as_ref() == Some(&frame) {
            return String::new();
        }
        let mut out = format!("{SYNC_START}{HIDE_CURSOR}{}", self.erase());
        for line in blocks.iter().flat_map(|block| block.lines(self.size.usable_columns())) {
            push(&mut out, &line);
            out.push_str("\r\n");
        }
        for (row, line) in frame.lines.iter().enumerate() {
            out.push_str(if row == 0 { "" } else { "\r\n" });
            push(&mut out, line);
        }
        if let Some((row, column)) = frame.cursor {
            up(&mut out, frame.lines.len() - 1 - row);
            out.push_str(&format!("\x1b[{}G{SHOW_CURSOR}", column + 1));
        }
        out.push_str(SYNC_END);
        self.drawn = Some(frame);
        out
    }

    /// Goes to where the frame begins and erases it.
    fn erase(&self) -> String {
        let mut out = String::new();
        if let Some(frame) = &self.drawn {
            up(&mut out, self.rows_above_cursor(frame));
            out.push_str("\r\x1b[J");
        }
        out
    }

    /// How far below the beginning of the frame the cursor is now. If the terminal was made
    /// narrower since the frame was painted, it has wrapped the longer lines.
    fn rows_above_cursor(&self, frame: &TuiFrame) -> usize {
        let columns = self.size.columns;
        let last = frame.lines.len() - 1;
        let (row, column) =
            frame.cursor.unwrap_or_else(|| (last, text::width(&frame.lines[last].text)));
        let rows = |line: &StyledLine| text::width(&line.text).div_ceil(columns).max(1);
        frame.lines[..row].iter().map(rows).sum::<usize>() + column.saturating_sub(1) / columns
    }
}

/// Paints a screen of its own, and of that only what has changed. Words are put where they belong
/// by moving the cursor, not by printing spaces, as real agents do it: a reader
/// of the bytes that has no screen gets the words run together.
#[derive(Debug, Default)]
pub(super) struct AlternatePainter {
    size: TuiSize,
    history: ConversationHistory,
    /// The rows as they are on the screen.
    painted: Vec<StyledLine>,
    cursor: Option<(usize, usize)>,
}

impl AlternatePainter {
    fn paint(&mut self, blocks: Vec<ConversationBlock>, frame: TuiFrame) -> String {
        for block in blocks {
            self.history.push(block);
        }
        let room = self.size.rows - frame.lines.len();
        let mut rows = self.history.tail(self.size.usable_columns(), room);
        rows.resize(room, StyledLine::empty());
        rows.extend(frame.lines);
        let cursor = frame.cursor.map(|(row, column)| (room + row, column));
        if rows == self.painted && cursor == self.cursor {
            return String::new();
        }
        let mut out = format!("{SYNC_START}{HIDE_CURSOR}");
        if self.painted.is_empty() {
            out.push_str("\x1b[2J");
        }
        for (row, line) in rows.iter().enumerate() {
            if self.painted.get(row) != Some(line) {
                out.push_str(&format!("\x1b[{};1H\x1b[2K", row + 1));
                push_words(&mut out, line);
            }
        }
        if let Some((row, column)) = cursor {
            out.push_str(&format!("\x1b[{};{}H{SHOW_CURSOR}", row + 1, column + 1));
        }
        out.push_str(SYNC_END);
        (self.painted, self.cursor) = (rows, cursor);
        out
    }
}

fn up(out: &mut String, rows: usize) {
    if rows > 0 {
        out.push_str(&format!("\x1b[{rows}A"));
    }
}

fn push(out: &mut String, line: &StyledLine) {
    out.push_str(line.style.start());
    out.push_str(&line.text);
    out.push_str(line.style.end());
}

fn push_words(out: &mut String, line: &StyledLine) {
    out.push_str(line.style.start());
    let mut column = 0;
    for word in line.text.split_inclusive(' ') {
        let bare = word.trim_end_matches(' ');
        if !bare.is_empty() {
            if column > 0 {
                out.push_str(&format!("\x1b[{}G", column + 1));
            }
            out.push_str(bare);
        }
        column += text::width(word);
    }
    out.push_str(line.style.end());
}
