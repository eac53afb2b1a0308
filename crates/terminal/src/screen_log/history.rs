//! The lines that have left a screen, each once.

use std::collections::VecDeque;
use std::ops::Range;

use super::shift::{MAX_HEADER_ROWS, common_beginning, is_same};

/// How many bytes of lines are kept; the oldest go first.
const MAX_HISTORY_BYTES: usize = 8 << 20;

/// How many lines that reappear at the top are looked for among those that left.
const MAX_REJOINED_LINES: usize = 2000;

/// How many lines with text are a sign that they came back, if what left goes on differently.
const MIN_REJOINED_LINES: usize = 3;

/// Lines that have left, and how far a program has come that shows them again.
#[derive(Debug, Default)]
pub(super) struct LineHistory {
    lines: VecDeque<String>,
    bytes: usize,
    /// How many lines before `lines` are no longer kept.
    dropped: u64,
    /// Where the lines begin that the program may still print again.
    era: usize,
    /// Where the next line is expected if the program shows again what has left before.
    again: Option<Again>,
    /// The size changed, so that the next lines of a program that prints everything again may be
    /// broken elsewhere.
    resized: bool,
    /// The number of the first line that is not as it was when this was taken.
    changed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Again {
    begin: usize,
    next: usize,
    /// What comes is the same text in any case.
    certain: bool,
    /// How many rows stand above them on the screen.
    header: usize,
}

impl LineHistory {
    /// The number of the line that comes next.
    pub(super) fn end(&self) -> u64 {
        self.dropped + self.lines.len() as u64
    }

    /// Lines from a number on, and the number of the first.
    pub(super) fn from(&self, first: u64) -> (u64, Vec<String>) {
        let skip = usize::try_from(first.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        let lines = self.lines.iter().skip(skip).cloned().collect();
        (first.max(self.dropped), lines)
    }

    /// A line left at the top.
    pub(super) fn push(&mut self, line: String) {
        if let Some(again) = self.again {
            if self.lines.get(again.next).is_some_and(|left| is_same(left, &line)) {
                let next = again.next + 1;
                self.again = (next < self.lines.len()).then_some(Again { next, ..again });
                return;
            }
            // All of it is printed again, and from here on it is another text.
            if again.certain || again.next > again.begin {
                self.truncate(again.next);
            } else {
                self.era = self.lines.len();
            }
            self.again = None;
        }
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > MAX_HISTORY_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
            self.dropped += 1;
            self.era = self.era.saturating_sub(1);
        }
    }

    /// The number of the first line that may have changed since the last call.
    pub(super) fn take_changed(&mut self) -> u64 {
        let end = self.end();
        std::mem::replace(&mut self.changed, end).min(end)
    }

    fn truncate(&mut self, length: usize) {
        self.changed = self.changed.min(self.dropped + length as u64);
        for line in self.lines.drain(length.min(self.lines.len())..) {
            self.bytes -= line.len();
        }
    }

    /// The program erased what had scrolled off, as programs do that print everything again.
    pub(super) fn erased(&mut self) {
        let certain = std::mem::take(&mut self.resized);
        let again = Again { begin: self.era, next: self.era, certain, header: 0 };
        self.again = (self.era < self.lines.len()).then_some(again);
    }

    pub(super) fn may_repaint(&mut self) {
        self.resized = true;
    }

    /// Another program, or another screen: nothing of what has left is printed again.
    pub(super) fn begin_era(&mut self) {
        (self.era, self.again) = (self.lines.len(), None);
    }

    /// The last picture of a screen that is left: its lines stay.
    pub(super) fn settle(&mut self, mut lines: Vec<String>) {
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let repeated = self.repeated(&lines);
        lines.drain(repeated);
        self.again = None;
        for line in lines {
            self.push(line);
        }
        self.begin_era();
    }

    /// The rows of a screen that have left before, and came back.
    pub(super) fn repeated(&self, rows: &[String]) -> Range<usize> {
        let Some(Again { next, header, .. }) = self.again else { return 0..0 };
        let header = header.min(rows.len());
        let common = common_beginning(&rows[header..], self.lines.range(next..));
        header..header + common
    }

    /// A screen that is not the one before moved up: lines that left may be on it again, perhaps
    /// below a few rows that stay.
    pub(super) fn rejoin(&mut self, rows: &[String]) {
        let oldest = self.lines.len().saturating_sub(MAX_REJOINED_LINES).max(self.era);
        let headers = 0..=MAX_HEADER_ROWS.min(rows.len());
        let places =
            headers.flat_map(|header| (oldest..self.lines.len()).map(move |from| (header, from)));
        let found = places.filter_map(|(header, from)| {
            let common = common_beginning(&rows[header..], self.lines.range(from..));
            let came = &rows[header..header + common];
            let told = came.iter().filter(|row| !row.trim().is_empty()).count();
            let is_end = from + common == self.lines.len();
            (told >= MIN_REJOINED_LINES || (told > 0 && is_end)).then_some((told, from, header))
        });
        self.again = found.max().map(|(_, next, header)| Again {
            begin: next,
            next,
            certain: false,
            header,
        });
    }

    /// The main screen got another size: lines left it, or came back.
    pub(super) fn resized(&mut self, before: &[String], after: &[String]) {
        if after.len() < before.len() {
            for line in &before[..before.len() - after.len()] {
                self.push(line.clone());
            }
            return;
        }
        let back = after.len() - before.len();
        let held = (0..=back.min(self.lines.len())).rev().find(|count| {
            let left = self.lines.range(self.lines.len() - count..);
            left.eq(after[..back].iter().rev().take(*count).rev())
        });
        self.truncate(self.lines.len() - held.unwrap_or(0));
    }
}
