//! A few lines at the bottom of a terminal that are drawn again and again.

use std::io;

use crate::failure::Result;
use crate::{output, tty};

/// The lines that were drawn last. Dropping it shows the cursor again.
#[derive(Debug, Default)]
pub(super) struct LineCanvas {
    /// How wide each line was.
    drawn: Vec<usize>,
    hidden: bool,
}

impl LineCanvas {
    /// How many lines there is room for.
    pub(super) fn rows() -> usize {
        tty::size().map_or(24, |(_, rows)| usize::from(rows)).saturating_sub(1).max(2)
    }

    /// Draws these lines in the place of those before.
    pub(super) fn draw(&mut self, lines: &[String]) -> Result {
        // All at once, where the terminal knows how, so that nothing flickers.
        let mut text = format!("\x1b[?2026h\x1b[?25l{}", self.back());
        for line in lines {
            text.push_str(&output::shown(line));
            text.push_str("\x1b[K\r\n");
        }
        text.push_str("\x1b[J\x1b[?2026l");
        self.drawn = lines.iter().map(|line| output::width(line)).collect();
        self.hidden = true;
        output::bytes(text.as_bytes())
    }

    /// Takes the lines away.
    pub(super) fn clear(&mut self) -> Result {
        let text = format!("{}\x1b[J\x1b[?25h", self.back());
        self.drawn.clear();
        self.hidden = false;
        output::bytes(text.as_bytes())
    }

    /// Back to the first line. A terminal that became narrower has broken lines in two.
    fn back(&self) -> String {
        let columns = output::columns();
        let rows: usize =
            self.drawn.iter().map(|width| width.saturating_sub(1) / columns + 1).sum();
        if rows == 0 { "\r".to_owned() } else { format!("\r\x1b[{rows}A") }
    }
}

impl Drop for LineCanvas {
    fn drop(&mut self) {
        if self.hidden {
            // Nothing more can be done for a terminal that is gone.
            io::Write::write_all(&mut io::stdout(), b"\x1b[?25h").ok();
        }
    }
}
