//! What the terminal of an attempt showed, line by line. The last few that were asked for are kept,
//! so that following one does not read its tape from the beginning each time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_api::task::{LogQuery, OutputQuery};
use coven_runtime::hold::TapeLog;
use coven_terminal::screen_log::LogLines;
use parking_lot::Mutex;

use super::output;
use crate::error::ServiceError;

/// How many logs are kept: each has a screen, and up to 8 MiB of text.
const MAX_KEPT_LOGS: usize = 4;

/// How many lines an answer has at most.
const MAX_LOG_LINES: usize = 20_000;

type SharedLog = Arc<Mutex<TapeLog>>;

/// The logs that were asked for last, by the folder of their attempt.
#[derive(Debug, Default)]
pub(crate) struct ScreenLogs {
    kept: Mutex<VecDeque<(PathBuf, SharedLog)>>,
}

/// Lines of a log, and what is missing before them.
#[derive(Debug, Default)]
pub(super) struct FoundLines {
    pub(super) found: LogLines,
    pub(super) dropped: u64,
}

impl ScreenLogs {
    fn of(&self, folder: &Path) -> SharedLog {
        let mut kept = self.kept.lock();
        let place = kept.iter().position(|(path, _)| path == folder);
        let entry = place.and_then(|place| kept.remove(place));
        let (path, log) = entry.unwrap_or_else(|| (folder.to_owned(), SharedLog::default()));
        kept.push_front((path, log.clone()));
        kept.truncate(MAX_KEPT_LOGS);
        log
    }

    /// The lines of an attempt that are asked for. Waits on the disk.
    pub(super) fn read(&self, folder: &Path, query: LogQuery) -> Result<FoundLines, ServiceError> {
        let log = self.of(folder);
        let mut log = log.lock();
        match log.catch_up(folder) {
            Err(error) if output::is_absent(&error) => return Ok(FoundLines::default()),
            read => read.map_err(ServiceError::unreadable)?,
        }
        let first = first_wanted(query, log.end());
        let mut found = log.lines_from(first);
        limit(&mut found);
        Ok(FoundLines { found, dropped: log.dropped() })
    }
}

/// Lines of the readable log, which is all there is of a foreign session.
pub(super) fn read_file(path: &Path, query: LogQuery) -> Result<FoundLines, ServiceError> {
    let piece = output::read_log(path, &OutputQuery::default())?;
    let text = String::from_utf8_lossy(&piece.bytes);
    let lines: Vec<String> = text.lines().map(without_sequences).collect();
    let first = first_wanted(query, lines.len() as u64);
    let skip = usize::try_from(first).unwrap_or(usize::MAX);
    let mut found = LogLines { first, lines: lines.into_iter().skip(skip).collect(), standing: 0 };
    limit(&mut found);
    Ok(FoundLines { found, dropped: 0 })
}

/// A line of a file that anyone may have written.
fn without_sequences(line: &str) -> String {
    coven_terminal::sanitise::strip(line.as_bytes()).into_owned()
}

fn first_wanted(query: LogQuery, end: u64) -> u64 {
    let from = query.from.unwrap_or(0);
    query.tail.map_or(from, |tail| from.max(end.saturating_sub(tail)))
}

fn limit(found: &mut LogLines) {
    let behind = found.lines.len().saturating_sub(MAX_LOG_LINES);
    found.lines.truncate(MAX_LOG_LINES);
    found.standing = found.standing.saturating_sub(behind);
}
