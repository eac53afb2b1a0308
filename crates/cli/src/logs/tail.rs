//! Printing text of which at first only the last lines are wanted.

use std::collections::VecDeque;

use crate::failure::Result;
use crate::output;

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
    use super::*;

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
