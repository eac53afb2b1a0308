//! The last lines of a text: where they begin, and printing them before what comes later.

use std::collections::VecDeque;

use coven_api::task::OutputText;

use crate::failure::Result;
use crate::output;

/// How many bytes at the end of an output are looked at first, for the last lines of it.
const FIRST_BLOCK_BYTES: u64 = 64 * 1024;

/// How many times more are looked at next, when those have too few lines, and at most.
const BLOCK_GROWTH: u64 = 4;
const MAX_BLOCK_BYTES: u64 = 8 << 20;

/// Finds where the last lines of an output begin, block by block from the end.
#[derive(Debug)]
pub(super) struct TailSearch {
    wanted: usize,
    /// How many line ends were found.
    found: usize,
    /// Where the blocks that were looked at begin.
    offset: Option<u64>,
    block: u64,
    ended: bool,
}

impl TailSearch {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, found: 0, offset: None, block: FIRST_BLOCK_BYTES, ended: false }
    }

    /// The block to look at next: its offset, as the API takes it, and its length. None once the
    /// place is found.
    pub(super) fn next(&self) -> Option<(i64, u64)> {
        let start = self.start();
        let next = match self.offset {
            None => (-(self.block.cast_signed()), self.block),
            Some(offset) => (start.cast_signed(), offset - start),
        };
        (!self.ended).then_some(next)
    }

    fn start(&self) -> u64 {
        self.offset.unwrap_or_default().saturating_sub(self.block)
    }

    /// Takes the block that was asked for.
    pub(super) fn take(&mut self, piece: &OutputText) {
        let start = match self.offset {
            None => piece.end.saturating_sub(self.block),
            Some(_) => self.start(),
        };
        self.found += piece.text.matches('\n').count();
        // What lies before the first line end may be the rest of a line. Older output than where
        // the block begins may not be kept.
        self.ended = self.found > self.wanted || start == 0 || piece.offset != start;
        self.offset = Some(piece.offset);
        self.block = (self.block * BLOCK_GROWTH).min(MAX_BLOCK_BYTES);
    }

    /// Where to begin to read, and how many bytes before it are missed there.
    pub(super) fn place(&self) -> (u64, u64) {
        let offset = self.offset.unwrap_or_default();
        (offset, if self.found > self.wanted { 0 } else { offset })
    }
}

/// Prints text, after holding back all but the last lines of what there was at first.
#[derive(Debug)]
pub(super) struct TailPrinter {
    /// What there was at first, until it is printed.
    held: Option<HeldLines>,
    is_at_line_end: bool,
}

#[derive(Debug)]
struct HeldLines {
    most: usize,
    lines: VecDeque<String>,
}

impl TailPrinter {
    /// With a number, only so many of the first lines are printed, the last.
    pub(super) fn new(most: Option<usize>) -> Self {
        let held = most.map(|most| HeldLines { most, lines: VecDeque::new() });
        Self { held, is_at_line_end: true }
    }

    /// The next piece of the text.
    pub(super) fn write(&mut self, text: &str) -> Result {
        match &mut self.held {
            Some(held) => {
                held.push(text);
                Ok(())
            }
            None => self.print(text),
        }
    }

    /// What there was at first is complete; what comes is printed as it comes.
    pub(super) fn begin(&mut self) -> Result {
        let Some(held) = self.held.take() else { return Ok(()) };
        self.print(&held.lines.into_iter().collect::<String>())
    }

    /// Whether the end of the last line was printed.
    pub(super) fn is_at_line_end(&self) -> bool {
        self.is_at_line_end
    }

    fn print(&mut self, text: &str) -> Result {
        if text.is_empty() {
            return Ok(());
        }
        self.is_at_line_end = text.ends_with('\n');
        output::write(text)
    }
}

impl HeldLines {
    fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            match self.lines.back_mut().filter(|last| !last.ends_with('\n')) {
                Some(last) => last.push_str(piece),
                None => self.lines.push_back(piece.to_owned()),
            }
            while self.lines.len() > self.most {
                self.lines.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use coven_model::{AttemptId, TaskId};

    use super::*;

    /// A block of a text that is kept from `kept` on, as the daemon gives it.
    fn piece(text: &str, kept: u64, offset: i64, limit: u64) -> OutputText {
        let end = text.len() as u64;
        let wanted = if offset < 0 {
            end.saturating_sub(offset.unsigned_abs())
        } else {
            offset.cast_unsigned()
        };
        let offset = wanted.clamp(kept, end);
        let next = end.min(offset + limit);
        let range = usize::try_from(offset).unwrap()..usize::try_from(next).unwrap();
        let attempt = AttemptId { task: TaskId::new("build").unwrap(), attempt: 1 };
        let text = text[range].to_owned();
        OutputText {
            attempt,
            offset,
            next,
            end,
            live: false,
            dropped: kept - kept.min(wanted),
            text,
        }
    }

    /// The search for the last lines: where they are read from, what is missed, how much was read.
    fn search(text: &str, kept: u64, lines: usize) -> (u64, u64, u64) {
        let (mut search, mut read) = (TailSearch::new(lines), 0);
        while let Some((offset, limit)) = search.next() {
            assert!((1..=16 << 20).contains(&limit), "{limit} is more than the API gives");
            let piece = piece(text, kept, offset, limit);
            read += piece.text.len() as u64;
            search.take(&piece);
        }
        let (offset, missed) = search.place();
        (offset, missed, read)
    }

    #[test]
    fn the_last_lines_of_a_long_output_are_found_from_its_end() {
        let line = "a line of sixty-four bytes, as there are in many a usual log...\n";
        let text = line.repeat(400_000);
        let end = text.len() as u64;
        let (offset, missed, read) = search(&text, 0, 3);
        assert!(read <= FIRST_BLOCK_BYTES && missed == 0, "{read}");
        assert!(text[usize::try_from(offset).unwrap()..].lines().count() > 3);
        // More lines than the first block has.
        let (offset, _, read) = search(&text, 0, 10_000);
        assert!(text[usize::try_from(offset).unwrap()..].lines().count() > 10_000);
        assert!(read < 4 << 20 && offset + read == end, "{read}");
        // All of it, each byte once, and what is no longer kept is missed.
        assert_eq!(search(&text, 0, 1_000_000), (0, 0, end));
        let (offset, missed, _) = search(&text, 1_000_000, 1_000_000);
        assert_eq!((offset, missed), (1_000_000, 1_000_000));
        assert_eq!(search(&text, 1_000_000, 3).1, 0);
    }

    #[test]
    fn an_output_of_one_long_line_is_read_once() {
        let text = "x".repeat(20 << 20);
        assert_eq!(search(&text, 0, 3), (0, 0, text.len() as u64));
        assert_eq!(search("", 0, 3), (0, 0, 0));
        assert_eq!(search("no end", 0, 0).0, 0);
    }

    #[test]
    fn only_the_last_lines_are_held_however_they_come() {
        let mut held = HeldLines { most: 2, lines: VecDeque::new() };
        for piece in ["one\ntw", "o\nthree", "\nfo", "ur"] {
            held.push(piece);
        }
        assert_eq!(held.lines, ["three\n", "four"]);
        let mut none = HeldLines { most: 0, lines: VecDeque::new() };
        none.push("one\ntwo");
        assert!(none.lines.is_empty());
    }
}
