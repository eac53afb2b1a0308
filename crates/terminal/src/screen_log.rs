//! What a terminal showed, as lines of text: those that scrolled off, and those that stand on the
//! screen. A stream without its escape sequences is no such text: programs write words in pieces,
//! out of order and again and again.
//!
//! On the main screen rows leave at the top, which the emulator tells exactly. Programs on the
//! alternate screen, and those that print all of their text anew when it outgrows the screen, are
//! held against what was there before, so that each line is in the log once.

mod history;
mod shift;

use crate::screen::{GridSize, LeavingRow, Options, Screen};
use crate::snapshot::ScreenSnapshot;

use history::LineHistory;

/// What ends a frame, or leaves or enters the alternate screen. The screen is looked at before and
/// after each.
const FRAME_MARKS: [&[u8]; 4] = [b"\x1b[?2026l", b"\x1b[?1049", b"\x1b[?1047", b"\x1b[?47"];

/// The lines of a log, from a number on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogLines {
    /// The number of the first of `lines`. The log begins with 0.
    pub first: u64,
    pub lines: Vec<String>,
    /// How many of the last lines stand on the screen: these may still change.
    pub standing: usize,
}

/// Reads the output of a program into lines, as a person saw them.
pub struct ScreenLog {
    screen: Screen,
    history: LineHistory,
    /// A line of which the beginning has scrolled off.
    begun: String,
    /// What the alternate screen showed last; nothing while the main screen is shown.
    frame: Option<Vec<String>>,
}

impl ScreenLog {
    /// The log of a terminal of this size on which nothing was printed.
    pub fn new(size: GridSize) -> Self {
        let options = Options { size, replies: false, ..Options::default() };
        let mut screen = Screen::with_options(&options);
        screen.keep_leaving_rows();
        Self { screen, history: LineHistory::default(), begun: String::new(), frame: None }
    }

    /// Reads the next bytes, best in the pieces in which they were printed.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = next_mark(rest);
            let (piece, later) = rest.split_at(end);
            self.screen.feed(piece);
            self.screen.take_signals();
            self.take_leaving_rows();
            self.look();
            rest = later;
        }
    }

    /// The terminal has another size from now on.
    pub fn resize(&mut self, size: GridSize) {
        if self.frame.is_some() {
            self.screen.resize(size);
            // Nothing can be held against a screen of another shape.
            self.frame = Some(Vec::new());
        } else {
            let before = self.standing();
            self.screen.resize(size);
            self.begun.clear();
            let after = self.standing();
            self.history.resized(&before, &after);
        }
        self.take_leaving_rows();
        self.history.may_repaint();
    }

    /// The lines from a number on.
    pub fn lines_from(&mut self, first: u64) -> LogLines {
        let mut standing = self.standing();
        if self.frame.is_some() {
            let repeated = self.history.repeated(&standing);
            standing.drain(repeated);
        }
        let (first, mut lines) = self.history.from(first);
        let skipped = usize::try_from(first.saturating_sub(self.history.end())).unwrap_or(0);
        standing.drain(..skipped.min(standing.len()));
        let count = standing.len();
        lines.append(&mut standing);
        LogLines { first, lines, standing: count }
    }

    /// The number of the first line that may have changed since the last call. Lines that stood on
    /// the screen then always may have.
    pub fn take_changed(&mut self) -> u64 {
        self.history.take_changed()
    }

    /// The number of lines so far, those on the screen included.
    pub fn end(&mut self) -> u64 {
        let LogLines { first, lines, .. } = self.lines_from(self.history.end());
        first + lines.len() as u64
    }

    fn take_leaving_rows(&mut self) {
        for left in self.screen.take_leaving_rows() {
            match left {
                LeavingRow::Text { text, wrapped } => {
                    self.begun.push_str(&text);
                    if !wrapped {
                        let line = std::mem::take(&mut self.begun);
                        self.history.push(line.trim_end().to_owned());
                    }
                }
                LeavingRow::HistoryErased => {
                    self.begun.clear();
                    self.history.erased();
                }
            }
        }
    }

    /// Looks at the alternate screen, where rows are moved by painting them anew.
    fn look(&mut self) {
        let modes = self.screen.modes();
        if modes.synchronized {
            return;
        }
        if !modes.alternate_screen {
            if let Some(last) = self.frame.take() {
                self.history.settle(last);
            }
            return;
        }
        let now = rows(&self.screen.snapshot());
        if now.iter().all(String::is_empty) {
            // About to be painted, or about to be left: what was there is still the last picture.
            if self.frame.is_none() {
                self.history.begin_era();
                self.frame = Some(Vec::new());
            }
            return;
        }
        match &self.frame {
            None => self.history.begin_era(),
            Some(before) if before.is_empty() => self.history.rejoin(&now),
            Some(before) if *before == now => return,
            Some(before) => match shift::between(before, &now) {
                Some(shift::Shift::Up { leaving }) => {
                    for line in before[leaving].iter().cloned() {
                        self.history.push(line);
                    }
                }
                Some(shift::Shift::Down) | None => self.history.rejoin(&now),
            },
        }
        self.frame = Some(now);
    }

    /// What stands on the screen, without the empty lines at its end.
    fn standing(&mut self) -> Vec<String> {
        let snapshot = self.screen.snapshot();
        let mut lines = if snapshot.modes().alternate_screen {
            match &self.frame {
                Some(frame) if !frame.is_empty() => frame.clone(),
                _ => rows(&snapshot),
            }
        } else {
            joined(&snapshot)
        };
        if !self.begun.is_empty() && self.frame.is_none() && !lines.is_empty() {
            lines[0].insert_str(0, &self.begun);
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

impl std::fmt::Debug for ScreenLog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ScreenLog").field("history", &self.history).finish_non_exhaustive()
    }
}

/// How many bytes are to be read before the screen is looked at.
fn next_mark(bytes: &[u8]) -> usize {
    let places = memchr::memchr_iter(0x1b, bytes).skip_while(|at| *at == 0);
    let mark =
        places
            .filter(|at| FRAME_MARKS.iter().any(|mark| bytes[*at..].starts_with(mark)))
            .map(|at| {
                if bytes[at..].starts_with(FRAME_MARKS[0]) { at + FRAME_MARKS[0].len() } else { at }
            })
            .next();
    mark.unwrap_or(bytes.len())
}

fn rows(snapshot: &ScreenSnapshot) -> Vec<String> {
    snapshot.rows().iter().map(|row| row.text().trim_end().to_owned()).collect()
}

fn joined(snapshot: &ScreenSnapshot) -> Vec<String> {
    snapshot.lines().map(|line| line.text.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests;
