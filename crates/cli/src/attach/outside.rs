//! The terminal outside: prepared for a screen that is painted on it, and left as it was.

use std::io::{self, Write};

/// Sets back whatever an agent may have turned on. It is said one by one, because a hard reset
/// would clear what a person has scrolled away.
pub(crate) const LEAVE: &str = concat!(
    // Alternate screen, soft reset, reverse video, blinking, keypad, insert, newline mode.
    "\x1b[?1049l\x1b[!p\x1b[?5l\x1b[?12l\x1b[?66l\x1b>\x1b[4l\x1b[20l\x1b[?1l\x1b[?6l\x1b[?7h",
    // Mouse, focus, paste, synchronized output, graphemes, colour-scheme reports.
    "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1004l",
    "\x1b[?2004l\x1b[?2026l\x1b[?2027l\x1b[?2031l",
    // Keyboard protocols, cursor, colours, links, character sets, attributes, margins.
    "\x1b[>4m\x1b[<99u\x1b[=0u\x1b[?25h\x1b[0 q\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\",
    "\x1b]112\x1b\\\x1b]8;;\x1b\\\x1b(B\x1b)B\x0f\x1b[m\x1b[r",
);

/// A terminal that shows another. Dropping it leaves it as it was, also on a panic.
#[derive(Debug)]
pub(super) struct Outside {
    name: String,
    rows: u16,
}

impl Outside {
    /// Moves what the terminal shows up into its own history, and keeps its title for later.
    pub(super) fn enter(name: &str, (_, rows): (u16, u16)) -> io::Result<Self> {
        let outside = Self { name: name.to_owned(), rows };
        let up = "\r\n".repeat(usize::from(rows));
        Self::show(format!("\x1b[22;2t\x1b[{rows};1H{up}\x1b[H").as_bytes())?;
        Ok(outside)
    }

    /// Shows bytes of the agent.
    pub(super) fn show(bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Says in the title when somebody else has the keyboard; the screen belongs to the agent.
    pub(super) fn keyboard(&self, ours: bool) -> io::Result<()> {
        if ours {
            return Ok(());
        }
        let title = format!("{}: somebody else types (Ctrl-] t takes the keyboard)", self.name);
        Self::show(format!("\x1b]2;{title}\x07").as_bytes())
    }

    pub(super) fn resized(&mut self, rows: u16) {
        self.rows = rows;
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // To the last line, so that what the agent painted stays readable above.
        let text = format!("{LEAVE}\x1b[23;2t\x1b[{};1H\r\n", self.rows);
        // Nothing more can be done for a terminal that is gone.
        let _ = Self::show(text.as_bytes());
    }
}
