//! How far long work is: a line on stderr that changes on a terminal, and a line now and then
//! elsewhere. Quick work says nothing.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::{output, tty};

/// Work that is done sooner tells nothing.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// How often the line changes on a terminal.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// How often a line is written where none can change.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The progress of one piece of work. Dropping it takes its line away.
pub(crate) struct ProgressLine {
    due: Instant,
    /// Whether stderr can show a line that changes.
    changes: bool,
    drawn: bool,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        let changes = io::stderr().is_terminal() && !tty::is_dumb();
        let quiet = if changes { QUIET_TIME } else { LINE_INTERVAL };
        Self { due: Instant::now() + quiet, changes, drawn: false }
    }

    /// Tells how far it is, if it is time to.
    pub(crate) fn tell(&mut self, words: impl FnOnce() -> String) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
        if !self.changes {
            self.due = now + LINE_INTERVAL;
            return output::say!("{}", words());
        }
        self.due = now + REDRAW_INTERVAL;
        let columns = output::columns_of_stderr().unwrap_or(80).saturating_sub(1);
        output::redraw(&output::shortened(&words(), columns));
        self.drawn = true;
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.drawn {
            output::redraw("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_work_tells_nothing_and_long_work_tells_now_and_then() {
        let mut line =
            ProgressLine { due: Instant::now() + LINE_INTERVAL, changes: false, drawn: false };
        let mut told = 0;
        line.tell(|| {
            told += 1;
            String::new()
        });
        assert_eq!(told, 0);
        line.due = Instant::now();
        for _ in 0..3 {
            line.tell(|| {
                told += 1;
                "half of it".to_owned()
            });
        }
        assert_eq!(told, 1, "not again before it is time");
    }
}
