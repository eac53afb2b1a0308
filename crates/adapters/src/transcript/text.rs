//! Plain text: what a program prints, line by line as a terminal would leave it. Its end is the
//! answer.

use coven_terminal::sanitise::LineStripper;

use super::entry::{TEXT_LIMIT, TextExcerpt};

/// Cuts what a program prints into lines as a terminal would leave them. A line has its line feed
/// with it, unless it is the last one or too long: then it comes in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct PrintedLines {
    liner: LineStripper,
    /// A line whose line feed may follow.
    held: String,
}

impl PrintedLines {
    /// Reads the next bytes and hands over every line that became complete.
    pub(super) fn feed(&mut self, bytes: &[u8], mut out: impl FnMut(&str)) {
        let Self { liner, held } = self;
        liner.feed(bytes, |piece| join(held, piece, &mut out));
    }

    /// Ends the stream and hands over the last line.
    pub(super) fn finish(&mut self, mut out: impl FnMut(&str)) {
        let Self { liner, held } = self;
        liner.finish(|piece| join(held, piece, &mut out));
        join(held, "", &mut out);
    }
}

/// The liner hands over a line and its line feed one after the other.
fn join(held: &mut String, piece: &str, mut out: impl FnMut(&str)) {
    if piece == "\n" {
        held.push('\n');
        out(held);
        held.clear();
    } else {
        if !held.is_empty() {
            out(held);
            held.clear();
        }
        held.push_str(piece);
    }
}

/// The end of everything printed.
#[derive(Clone, Debug, Default)]
pub(super) struct TextTail {
    text: String,
    omitted: u64,
}

impl TextTail {
    pub(super) fn push(&mut self, piece: &str) {
        // Cutting moves what is kept, so it is done once per mebibyte and not for every line.
        if self.text.len() + piece.len() > 2 * TEXT_LIMIT {
            self.trim_front(piece.len());
        }
        self.text.push_str(piece);
    }

    /// What is left, without blank lines around it.
    pub(super) fn answer(mut self) -> Option<TextExcerpt> {
        self.trim_front(0);
        let mut text = self.text.trim_end();
        if self.omitted == 0 {
            // The indentation of the first line stays.
            let blank = text.len() - text.trim_start().len();
            text = &text[text[..blank].rfind('\n').map_or(0, |end| end + 1)..];
        }
        (!text.is_empty()).then(|| TextExcerpt { text: text.to_owned(), omitted: self.omitted })
    }

    pub(super) fn buffered(&self) -> usize {
        self.text.capacity()
    }

    fn trim_front(&mut self, more: usize) {
        let surplus = (self.text.len() + more).saturating_sub(TEXT_LIMIT).min(self.text.len());
        let surplus = self.text.ceil_char_boundary(surplus);
        self.text.drain(..surplus);
        self.omitted += surplus as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_end_and_says_how_much_is_missing() {
        let mut tail = TextTail::default();
        for number in 0..1_000_000 {
            tail.push(&format!("line é {number}\n"));
            assert!(tail.buffered() <= 4 * TEXT_LIMIT);
        }
        let answer = tail.answer().unwrap();
        assert!(answer.text.ends_with("line é 999999"));
        assert!(answer.text.len() <= TEXT_LIMIT && answer.text.len() > TEXT_LIMIT - 10);
        assert_eq!(
            answer.omitted + TEXT_LIMIT as u64,
            answer.omitted + answer.text.len() as u64 + 1
        );
    }

    #[test]
    fn a_line_comes_with_its_line_feed_however_it_was_cut() {
        let bytes = "10%\r100%\n\n\x1b[1mdone\x1b[0m\r\nlast".as_bytes();
        for at in 0..=bytes.len() {
            let (mut printed, mut lines) = (PrintedLines::default(), Vec::new());
            printed.feed(&bytes[..at], |line| lines.push(line.to_owned()));
            printed.feed(&bytes[at..], |line| lines.push(line.to_owned()));
            printed.finish(|line| lines.push(line.to_owned()));
            assert_eq!(lines, ["100%\n", "\n", "done\n", "last"], "{at}");
        }
    }

    #[test]
    fn blank_lines_around_the_answer_are_no_part_of_it() {
        let answer = |text: &str| {
            let mut tail = TextTail::default();
            tail.push(text);
            tail.answer().map(|answer| answer.text)
        };
        assert_eq!(answer("\n\n  one\n two \n\n"), Some("  one\n two".to_owned()));
        assert_eq!(answer(" \n\n"), None);
    }
}
