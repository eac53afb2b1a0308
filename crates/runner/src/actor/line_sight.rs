//! The line that a program asks in, to be found again while nobody has read the answer to it.

use coven_terminal::snapshot::ScreenSnapshot;

use crate::delivery::{counts_down, goes_on, squeeze};

/// The line of the cursor, and what stood below it.
#[derive(Debug)]
pub(super) struct LineSight {
    /// The row in which it begins, counted from the first that was ever shown.
    row: u64,
    line: String,
    below: Vec<String>,
}

impl LineSight {
    pub(super) fn of(snapshot: &ScreenSnapshot) -> Self {
        let cursor = usize::from(snapshot.cursor().row);
        let mut sight = Self { row: snapshot.scrolled(), line: String::new(), below: Vec::new() };
        for line in snapshot.lines() {
            let text = squeeze(&line.text);
            if line.rows.contains(&cursor) {
                sight.row += line.rows.start as u64;
                sight.line = text;
            } else if line.rows.start > cursor {
                sight.below.push(text);
            }
        }
        sight
    }

    /// Whether the cursor still stands in the line.
    pub(super) fn has_cursor(&self, snapshot: &ScreenSnapshot) -> bool {
        let cursor = usize::from(snapshot.cursor().row);
        let line = snapshot.lines().find(|line| line.rows.contains(&cursor));
        line.is_some_and(|line| snapshot.scrolled() + line.rows.start as u64 == self.row)
    }

    /// Whether the program has gone on: the line is another one, or something new stands below it.
    /// What is typed stands behind it, and a program that counts down paints it again.
    pub(super) fn is_left(&self, snapshot: &ScreenSnapshot) -> bool {
        let mut is_there = false;
        for line in snapshot.lines() {
            let (row, text) = (snapshot.scrolled() + line.rows.start as u64, squeeze(&line.text));
            let counts = counts_down(&self.line, &text);
            if row == self.row {
                is_there = text.starts_with(&self.line) || counts || goes_on(&self.line, &text);
            } else if row > self.row && !text.is_empty() && !self.below.contains(&text) {
                // The same words once more ask once more.
                if !counts || text == self.line {
                    return true;
                }
            }
        }
        !is_there
    }
}

#[cfg(test)]
mod tests {
    use coven_terminal::screen::{GridSize, Screen};

    use super::*;

    #[test]
    fn a_line_is_left_when_the_program_prints_something_else_and_not_by_its_echo() {
        let mut screen = Screen::new(GridSize::new(30, 6));
        screen.feed(b"\x1b[6;1Hstatus\x1b[1;1Hintro\r\nDelete A? (9 s) ");
        let asked = LineSight::of(&screen.snapshot());
        let is_left = |screen: &mut Screen, printed: &str| {
            screen.feed(printed.as_bytes());
            asked.is_left(&screen.snapshot())
        };
        assert!(!is_left(&mut screen, ""));
        assert!(!is_left(&mut screen, "yes"));
        assert!(!is_left(&mut screen, "\r⠋ Delete A? (9 s) yes"), "it turns something");
        assert!(!is_left(&mut screen, "\r\x1b[KDelete A? (9 s) yes"));
        assert!(!is_left(&mut screen, "\r\n"), "the terminal shows the end of the line");
        assert!(!is_left(&mut screen, "\rDelete A? (8 s) "), "it counts down");
        assert!(is_left(&mut screen, "\r\nDelete A? (9 s) "), "it asks once more");
        assert!(is_left(&mut screen, "\r\nDelete B? "));
        assert!(is_left(&mut screen, "\x1b[H\x1b[2J"));
    }

    #[test]
    fn the_cursor_leaves_a_line_with_its_end() {
        let mut screen = Screen::new(GridSize::new(30, 2));
        screen.feed(b"one\r\nDelete A? ");
        let asked = LineSight::of(&screen.snapshot());
        screen.feed(b"yes");
        assert!(asked.has_cursor(&screen.snapshot()));
        screen.feed(b"\r\n");
        assert!(!asked.has_cursor(&screen.snapshot()), "also where it scrolls");
    }

    #[test]
    fn a_line_that_scrolls_up_is_the_same() {
        let mut screen = Screen::new(GridSize::new(30, 3));
        screen.feed(b"one\r\ntwo\r\nDelete A? ");
        let asked = LineSight::of(&screen.snapshot());
        screen.feed(b"yes\r\n");
        assert!(!asked.is_left(&screen.snapshot()));
        screen.feed(b"Delete B? ");
        assert!(asked.is_left(&screen.snapshot()));
    }
}
