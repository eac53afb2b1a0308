//! What the terminal of a job showed, line by line, read from its tape as far as it goes.

use std::path::Path;

use coven_tape::{TapeEvent, TapeReader};
use coven_terminal::screen::{FORGET_SCREEN, GridSize, Options};
use coven_terminal::screen_log::{LogLines, ScreenLog};

/// How much of a tape is read at most, counted from its end. A terminal that is painted all day
/// prints gigabytes, and what it showed is in the last of them.
const MAX_LOG_SOURCE_BYTES: u64 = 64 << 20;

/// Reads a tape into lines, each time from where it ended before.
#[derive(Debug)]
pub struct TapeLog {
    log: ScreenLog,
    offset: u64,
    /// How many changes of the size at `offset` have been read.
    resizes: usize,
    dropped: u64,
}

impl Default for TapeLog {
    fn default() -> Self {
        let log = ScreenLog::new(Options::default().size);
        Self { log, offset: 0, resizes: 0, dropped: 0 }
    }
}

impl TapeLog {
    /// Reads what the tape in this folder has more than before. Waits on the disk.
    pub fn catch_up(&mut self, folder: &Path) -> Result<(), coven_tape::Error> {
        self.read(&TapeReader::open(folder)?)
    }

    /// The same for a tape that is open.
    pub fn read(&mut self, reader: &TapeReader) -> Result<(), coven_tape::Error> {
        let begin = reader.range().end.saturating_sub(MAX_LOG_SOURCE_BYTES);
        let mut known = self.resizes;
        for record in reader.records(self.offset) {
            let record = record?;
            match &record.event {
                TapeEvent::Resize { cols, rows } if record.offset == self.offset => {
                    // Those at this very offset may have been read before.
                    if known > 0 {
                        known -= 1;
                        continue;
                    }
                    self.resizes += 1;
                    self.log.resize(GridSize::new(*cols, *rows));
                }
                TapeEvent::Output { bytes, .. } if record.end() > self.offset => {
                    let skip = self.offset.saturating_sub(record.offset) as usize;
                    if record.end() > begin {
                        self.log.feed(&bytes[skip..]);
                    } else {
                        self.dropped += (bytes.len() - skip) as u64;
                    }
                    self.move_to(record.end());
                }
                TapeEvent::Gap(_) if record.end() > self.offset => {
                    self.dropped += record.end() - self.offset;
                    self.log.feed(FORGET_SCREEN);
                    self.move_to(record.end());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn move_to(&mut self, offset: u64) {
        (self.offset, self.resizes) = (offset, 0);
    }

    /// The lines from a number on.
    pub fn lines_from(&mut self, first: u64) -> LogLines {
        self.log.lines_from(first)
    }

    /// The number of the first line that may have changed since the last call, those that stood on
    /// the screen then aside.
    pub fn take_changed(&mut self) -> u64 {
        self.log.take_changed()
    }

    /// How many lines there are, those on the screen included.
    pub fn end(&mut self) -> u64 {
        self.log.end()
    }

    /// How many bytes of the output are not in it, because they are no longer kept or too long ago.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
