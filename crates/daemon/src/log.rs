//! The daemon's log: one file, turned over when it is large. Whatever is logged, no line of it can
//! move a cursor, colour a terminal or pretend to be another line.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_service::LogLevel;
use coven_service::text::printable;
use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

use crate::error::Error;

/// A file is turned over when it has so many bytes.
const MAX_LOG_BYTES: u64 = 8 << 20;

/// So many older files stay: `daemon.log.1` to `daemon.log.3`.
const MAX_OLD_LOGS: u32 = 3;

/// So many lines are kept in memory while the disk takes none.
const MAX_UNWRITTEN_LINES: usize = 200;

#[derive(Clone, Debug)]
pub(crate) struct DaemonLog {
    inner: Arc<Mutex<OpenLogFile>>,
}

#[derive(Debug)]
struct OpenLogFile {
    path: PathBuf,
    file: File,
    size: u64,
    large: u64,
    /// Lines that the disk did not take. They are written before the next one that it takes.
    unwritten: VecDeque<String>,
    /// How many of them were dropped because there were too many.
    dropped: usize,
}

impl DaemonLog {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        Self::turning_at(path, MAX_LOG_BYTES).map_err(|source| Error::file(path, source))
    }

    fn turning_at(path: &Path, large: u64) -> io::Result<Self> {
        let file = append_to(path)?;
        let size = file.metadata()?.len();
        let open = OpenLogFile {
            path: path.to_owned(),
            file,
            size,
            large,
            unwritten: VecDeque::new(),
            dropped: 0,
        };
        Ok(Self { inner: Arc::new(Mutex::new(open)) })
    }

    /// From now on everything this process has to say goes here.
    pub(crate) fn begin(self, level: LogLevel) {
        let subscriber = tracing_subscriber::fmt()
            .with_writer(self)
            .with_ansi(false)
            .with_target(false)
            .with_max_level(level.filter())
            .finish();
        // Where something else listens already, that is as good.
        tracing::subscriber::set_global_default(subscriber).ok();
        // A detached daemon has no stderr, and a panic that is not written down is not found.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            tracing::error!("panic: {panic}");
            before(panic);
        }));
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

impl OpenLogFile {
    /// Writes a line, behind those that could not be written before. A full disk must not stop the
    /// daemon, and why nothing went on must be found when there is room again.
    fn line(&mut self, line: String) {
        if self.unwritten.len() == MAX_UNWRITTEN_LINES {
            // The first ones tell how it began.
            self.dropped += 1;
        } else {
            self.unwritten.push_back(line);
        }
        while let Some(line) = self.unwritten.pop_front() {
            if self.write_line(&line).is_err() {
                self.unwritten.push_front(line);
                return;
            }
            if self.unwritten.is_empty() && self.dropped > 0 {
                let dropped = std::mem::take(&mut self.dropped);
                let line = format!("{dropped} more lines could not be written: the disk was full");
                self.unwritten.push_back(plain(&line));
            }
        }
    }

    fn write_line(&mut self, line: &str) -> io::Result<()> {
        if self.size > 0 && self.size + line.len() as u64 > self.large {
            self.turn_over()?;
        }
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // A part of a line may be there, and the whole line is written later.
            self.file.set_len(self.size).ok();
            return Err(error);
        }
        self.size += line.len() as u64;
        Ok(())
    }

    fn turn_over(&mut self) -> io::Result<()> {
        let older = |number: u32| PathBuf::from(format!("{}.{number}", self.path.display()));
        for number in (1..MAX_OLD_LOGS).rev() {
            // There may not be so many yet.
            drop(fs::rename(older(number), older(number + 1)));
        }
        fs::rename(&self.path, older(1))?;
        self.file = append_to(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for DaemonLog {
    type Writer = LogLine;

    fn make_writer(&'a self) -> LogLine {
        LogLine { log: self.clone(), text: Vec::new() }
    }
}

/// One line on its way.
#[derive(Debug)]
pub(crate) struct LogLine {
    log: DaemonLog,
    text: Vec<u8>,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let line = plain(&String::from_utf8_lossy(&self.text));
        let mut open = self.log.inner.lock();
        open.line(line);
    }
}

/// One line without anything that a terminal would act on.
fn plain(text: &str) -> String {
    let mut line: String = printable(&text.trim_end().replace('\n', "\u{240a}"));
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_can_act_on_a_terminal_or_look_like_two() {
        let line = plain("a name \u{1b}[31mred\u{1b}]0;title\u{7} and\nERROR forged\r\u{9b}2J\n");
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.trim_end_matches('\n').contains(char::is_control), "{line:?}");
    }

    #[test]
    fn a_large_log_is_turned_over_and_three_older_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let log = DaemonLog::turning_at(&path, 100).unwrap();
        for number in 0..20 {
            log.make_writer()
                .write_all(format!("{number:02} {}\n", "x".repeat(57)).as_bytes())
                .unwrap();
        }
        let newest = fs::read_to_string(&path).unwrap();
        assert!(newest.starts_with("19 "), "{newest}");
        assert!(fs::read_to_string(folder.path().join("daemon.log.3")).unwrap().starts_with("16 "));
        assert!(!folder.path().join("daemon.log.4").exists());
    }

    #[test]
    fn what_a_full_disk_did_not_take_is_written_when_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let log = DaemonLog::turning_at(&path, MAX_LOG_BYTES).unwrap();
        let say = |text: &str| log.make_writer().write_all(text.as_bytes()).unwrap();
        say("before");
        // Nothing can be written through this, as on a full disk.
        log.inner.lock().file = File::open(&path).unwrap();
        say("the session waits for disk space");
        for number in 0..MAX_UNWRITTEN_LINES {
            say(&format!("line {number}"));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\n");
        log.inner.lock().file = append_to(&path).unwrap();
        say("after");
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["before", "the session waits for disk space"]);
        assert_eq!(lines.len(), 1 + MAX_UNWRITTEN_LINES + 1);
        assert_eq!(
            lines[lines.len() - 1],
            "2 more lines could not be written: the disk was full",
            "the last ones are counted"
        );
    }
}
