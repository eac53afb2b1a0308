//! A terminal on which the output of a program is printed, and nothing more: it is set back at the
//! end, because the shell has it next.

use std::io::{self, IsTerminal};

use coven_terminal::through::PassThrough;

use crate::attach::LEAVE;
use crate::failure::Result;
use crate::{mirror, output, tty};

/// Prints what may go to a terminal. Dropping it sets the terminal back.
pub(crate) struct PrintedOutput {
    through: PassThrough,
    printed: bool,
}

impl PrintedOutput {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { through: PassThrough::to_print(mirror::clipboard()?), printed: false })
    }

    /// Prints of these bytes what does not reach beyond the screen.
    pub(crate) fn print(&mut self, bytes: &[u8]) -> Result {
        self.printed |= !bytes.is_empty();
        output::bytes(&self.through.feed(bytes))
    }
}

impl Drop for PrintedOutput {
    fn drop(&mut self) {
        if !self.printed || !io::stdout().is_terminal() || tty::is_dumb() {
            return;
        }
        let text = if self.through.has_lasting_change() {
            // It moves the cursor, and the shell must not write over what was printed.
            let rows = tty::size().map_or(u16::MAX, |(_, rows)| rows);
            format!("{LEAVE}\x1b[{rows};1H\r\n")
        } else {
            "\x1b[m\x1b]8;;\x1b\\".to_owned()
        };
        // Nothing more can be done for a terminal that is gone.
        output::bytes(text.as_bytes()).ok();
    }
}
