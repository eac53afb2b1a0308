//! Terminal output as clean text: what a program printed, without the sequences that coloured it
//! or moved the cursor. For logs and search; the state of a screen is read from
//! [`Screen`](crate::screen::Screen), because programs that address the cursor print words
//! without the blanks between them.
//!
//! [`SequenceStripper`] only removes. [`LineStripper`] also plays carriage return, backspace and
//! erase-in-line within a line, so that a progress bar leaves its last state.

mod line_stripper;

use std::borrow::Cow;

use crate::parser::{ParserSink, SequenceParser};

pub use line_stripper::LineStripper;

/// Clean text of a whole output at once. Output without anything to remove is not copied.
pub fn strip(bytes: &[u8]) -> Cow<'_, str> {
    if clean_length(bytes) == bytes.len()
        && let Ok(text) = str::from_utf8(bytes)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    let mut stripper = SequenceStripper::new();
    stripper.feed(bytes, |run| text.push_str(run));
    stripper.finish(|run| text.push_str(run));
    Cow::Owned(text)
}

/// Removes sequences and control characters from a stream. What stays is printable text, tab,
/// line feed and carriage return; vertical tab and form feed become line feeds; bytes that are
/// not UTF-8 become U+FFFD. Stripping clean text changes nothing.
#[derive(Clone, Debug, Default)]
pub struct SequenceStripper {
    parser: SequenceParser,
}

impl SequenceStripper {
    /// A stripper at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes and hands the clean text over in runs, in order. Plain text is handed
    /// over as it lies in `bytes`, without a copy.
    pub fn feed(&mut self, bytes: &[u8], out: impl FnMut(&str)) {
        let mut rest = bytes;
        let mut sink = TextRuns(out);
        if self.parser.is_idle() {
            // A character cut off by the end of the chunk is left to the parser, which holds it.
            let clean = &bytes[..clean_length(bytes)];
            let valid = match str::from_utf8(clean) {
                Ok(text) => text,
                Err(error) => str::from_utf8(&clean[..error.valid_up_to()]).unwrap_or_default(),
            };
            if !valid.is_empty() {
                sink.text(valid);
            }
            rest = &bytes[valid.len()..];
        }
        self.parser.feed(rest, &mut sink);
    }

    /// Ends the stream: a character that was never finished becomes U+FFFD.
    pub fn finish(&mut self, out: impl FnMut(&str)) {
        self.parser.finish(&mut TextRuns(out));
    }
}

/// Hands text and the whitespace controls on.
struct TextRuns<F>(F);

impl<F: FnMut(&str)> ParserSink for TextRuns<F> {
    fn text(&mut self, text: &str) {
        (self.0)(text);
    }

    fn control(&mut self, byte: u8) {
        match byte {
            b'\t' => (self.0)("\t"),
            b'\r' => (self.0)("\r"),
            b'\n' | 0x0b | 0x0c => (self.0)("\n"),
            _ => {}
        }
    }
}

/// Length of the leading part that is certainly clean: no control but tab, line feed and carriage
/// return, and no byte that may begin a C1 character.
fn clean_length(bytes: &[u8]) -> usize {
    let dirty = |byte: u8| {
        (byte < 0x20 && byte != b'\n' && byte != b'\t' && byte != b'\r')
            || byte == 0x7f
            || byte == 0xc2
    };
    // Whole blocks in a form the compiler turns into vector instructions.
    let (blocks, _) = bytes.as_chunks::<64>();
    let is_clean = |block: &[u8; 64]| !block.iter().fold(false, |any, &byte| any | dirty(byte));
    let clean = blocks.iter().take_while(|block| is_clean(block)).count() * 64;
    let tail = &bytes[clean..];
    clean + tail.iter().position(|&byte| dirty(byte)).unwrap_or(tail.len())
}

#[cfg(test)]
mod tests;
