//! The terminal outside: prepared for a screen that is painted on it, and left as it was.

use std::io::{self, Write};
use std::time::Duration;

use coven_api::attach::FromDaemon;
use coven_terminal::through::ClipboardAccess;
use tokio::time::{Instant, sleep_until};

use crate::mirror::ScreenMirror;
use crate::output;

/// How long changes are gathered before they are painted.
const PAINT_INTERVAL: Duration = Duration::from_millis(16);

/// Sets back whatever an agent may have turned on. It is said one by one, because a hard reset
/// would clear what a person has scrolled away.
pub(crate) const LEAVE: &str = concat!(
    // Alternate screen, soft reset, reverse video, blinking, keypad, insert, newline mode.
    "\x1b[?1049l\x1b[!p\x1b[?5l\x1b[?12l\x1b[?66l\x1b>\x1b[4l\x1b[20l\x1b[?1l\x1b[?6l\x1b[?7h",
    // Wrapping back, margins at the sides, tab stops.
    "\x1b[?45l\x1b[?69l\x1b[?5W",
    // Mouse, focus, paste, synchronized output, graphemes, colour-scheme reports.
    "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l",
    "\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?2027l\x1b[?2031l",
    // Keyboard protocols, cursor, colours, links, character sets, attributes, margins.
    "\x1b[>4m\x1b[<99u\x1b[=0u\x1b[?25h\x1b[0 q\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\",
    "\x1b]112\x1b\\\x1b]8;;\x1b\\\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[m\x1b[r",
);

/// A terminal that shows another. Dropping it leaves it as it was, also on a panic.
pub(super) struct ViewerTerminal {
    name: String,
    size: (u16, u16),
    agent: ScreenMirror,
    /// Whether nothing can be typed here.
    read_only: bool,
    /// Whether the keyboard is here. Only then does the agent get our size.
    types: bool,
    /// When what changed is painted, where it has to be.
    due: Option<Instant>,
}

impl ViewerTerminal {
    /// Moves what the terminal shows up into its own history, and keeps its title for later.
    pub(super) fn enter(
        name: &str,
        size: (u16, u16),
        read_only: bool,
        clipboard: ClipboardAccess,
    ) -> io::Result<Self> {
        let agent = ScreenMirror::new(size, size, clipboard);
        let outside =
            Self { name: name.to_owned(), size, agent, read_only, types: false, due: None };
        let (rows, up) = (size.1, "\r\n".repeat(usize::from(size.1)));
        write(format!("\x1b[22;2t\x1b[{rows};1H{up}\x1b[H").as_bytes())?;
        Ok(outside)
    }

    /// Shows bytes of the agent.
    pub(super) fn show(&mut self, bytes: &[u8]) -> io::Result<()> {
        let through = self.agent.feed(bytes);
        if !self.agent.passes() {
            self.due.get_or_insert_with(|| Instant::now() + PAINT_INTERVAL);
        }
        write(&through)
    }

    pub(super) async fn due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Paints what has changed.
    pub(super) fn paint(&mut self) -> io::Result<()> {
        self.due = None;
        write(&self.agent.paint())
    }

    /// Takes what the daemon says about the terminal; the size to ask for, if it is ours to say.
    pub(super) fn told(&mut self, said: &FromDaemon) -> io::Result<Option<(u16, u16)>> {
        let mut wanted = None;
        match *said {
            FromDaemon::Screen { cols, rows, .. } => {
                self.agent.renew((cols, rows));
                self.decide()?;
            }
            // What changes is painted by the bytes that follow.
            FromDaemon::Resized { cols, rows } => {
                self.agent.resize((cols, rows));
                self.decide()?;
            }
            FromDaemon::Keyboard { yours, .. } => {
                wanted = (yours && self.agent.size() != self.size).then_some(self.size);
                self.types = yours;
                self.decide()?;
                if !yours && !self.read_only {
                    self.say("another viewer types (Ctrl-] t takes the keyboard)")?;
                }
            }
            FromDaemon::Refused { .. } => write(b"\x07")?,
            FromDaemon::State { .. } | FromDaemon::Ended { .. } => {}
        }
        Ok(wanted)
    }

    /// Our terminal got another size; whether the agent has to be told.
    pub(super) fn resized(&mut self, size: (u16, u16)) -> io::Result<bool> {
        self.size = size;
        self.agent.resize_outside(size);
        self.decide()?;
        Ok(self.types)
    }

    /// Whether bytes go through or are painted.
    fn decide(&mut self) -> io::Result<()> {
        write(&self.agent.decide(self.types))?;
        if self.agent.is_cut() && self.read_only {
            let (columns, rows) = self.agent.size();
            self.say(&format!("{columns} by {rows}, and this terminal is smaller"))?;
        }
        self.paint()
    }

    /// Says something in the title; the screen belongs to the agent.
    fn say(&self, what: &str) -> io::Result<()> {
        write(format!("\x1b]2;{}: {what}\x07", output::one_line(&self.name)).as_bytes())
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

impl Drop for ViewerTerminal {
    fn drop(&mut self) {
        // Below what the agent painted, so that it stays readable.
        let text = format!("{LEAVE}\x1b[23;2t\x1b[{};1H\r\n", self.agent.end());
        // Nothing more can be done for a terminal that is gone.
        write(text.as_bytes()).ok();
    }
}

#[cfg(test)]
mod tests {
    use coven_terminal::through::PASSED_MODES;

    use super::*;

    #[test]
    fn every_mode_that_an_agent_may_set_is_set_back() {
        for mode in PASSED_MODES {
            let back = match mode {
                // On in a new terminal.
                7 | 25 => format!("\x1b[?{mode}h"),
                47 | 1047 => "\x1b[?1049l".to_owned(),
                // It saves the cursor, and nothing is to be set back.
                1048 => continue,
                _ => format!("\x1b[?{mode}l"),
            };
            assert!(LEAVE.contains(&back), "{mode}");
        }
    }
}
