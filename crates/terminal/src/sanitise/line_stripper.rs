//! Line mode: each line as it stood when the program left it.

use crate::parser::{ControlSequence, ParserSink, SequenceParser};

/// Longest line that is kept to be overwritten, in characters. What a longer line has before that
/// is handed over and can no longer be changed, so that a line without end cannot eat memory.
const MAX_LINE: usize = 64 * 1024;

/// Clean text line by line. Within a line, carriage return goes back to its beginning, backspace
/// one character back, and what is printed then overwrites; erase-in-line erases. The output has
/// no control but tab and line feed.
#[derive(Clone, Debug, Default)]
pub struct LineStripper {
    parser: SequenceParser,
    pub(super) line: PendingLine,
}

impl LineStripper {
    /// A liner at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes and hands over every line that became complete, with its line feed.
    pub fn feed(&mut self, bytes: &[u8], out: impl FnMut(&str)) {
        self.parser.feed(bytes, &mut LineSink { line: &mut self.line, out });
    }

    /// Ends the stream: hands over the last line, which has no line feed.
    pub fn finish(&mut self, out: impl FnMut(&str)) {
        let mut lines = LineSink { line: &mut self.line, out };
        self.parser.finish(&mut lines);
        lines.hand_over();
    }
}

/// The unfinished line. Zero-width marks are characters of their own here: line mode has no
/// columns, only what was printed after what.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingLine {
    pub(super) chars: Vec<char>,
    /// Where the next character goes; beyond the end after an erase, and padded then.
    at: usize,
}

struct LineSink<'a, F> {
    line: &'a mut PendingLine,
    out: F,
}

impl<F: FnMut(&str)> LineSink<'_, F> {
    fn hand_over(&mut self) {
        let text: String = self.line.chars.drain(..).collect();
        self.line.at = 0;
        if !text.is_empty() {
            (self.out)(text.as_str());
        }
    }

    fn print(&mut self, char: char) {
        let PendingLine { chars, at } = &mut *self.line;
        if let Some(old) = chars.get_mut(*at) {
            *old = char;
        } else {
            chars.resize(*at, ' ');
            chars.push(char);
        }
        *at += 1;
        if *at >= MAX_LINE {
            self.hand_over();
        }
    }
}

impl<F: FnMut(&str)> ParserSink for LineSink<'_, F> {
    fn text(&mut self, text: &str) {
        for char in text.chars() {
            self.print(char);
        }
    }

    fn control(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => {
                self.hand_over();
                (self.out)("\n");
            }
            b'\r' => self.line.at = 0,
            0x08 => self.line.at = self.line.at.saturating_sub(1),
            b'\t' => self.print('\t'),
            _ => {}
        }
    }

    fn csi(&mut self, csi: &ControlSequence<'_>) {
        if (csi.last, csi.marker, csi.intermediates) != (b'K', 0, &[]) {
            return;
        }
        let PendingLine { chars, at } = &mut *self.line;
        match csi.params.get(0) {
            0 => chars.truncate(*at),
            1 if *at + 1 < chars.len() => chars[..=*at].fill(' '),
            1 | 2 => chars.clear(),
            _ => {}
        }
    }
}
