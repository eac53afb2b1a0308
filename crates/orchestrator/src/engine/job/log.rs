//! The readable log of a job in the folder of its session: what it printed, as text, written as the
//! job goes. People read it; nothing follows from it. The exact bytes are on the tape.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use coven_folder::{OpenFolder, best_effort};
use coven_runner::Redactor;
use coven_store::Attempt;
use coven_tape::TapeEvent;
use coven_terminal::sanitise::SequenceStripper;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::PRIVATE_MODE;

/// How often the log is written at most while the job prints.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// How much a log has at most. A terminal that is painted all day prints gigabytes.
const MAX_LOG_BYTES: u64 = 8 << 20;

const CUT_NOTE: &str = "\n[the log ends here; `coven logs` and `coven play` have everything]\n";

/// The log of a job, written on other threads.
#[derive(Debug)]
pub(super) struct JobLog {
    state: LogState,
    /// When what came since the last write is to be written.
    due: Option<Instant>,
}

#[derive(Debug)]
enum LogState {
    Ready(Box<LogWriter>),
    Writing(JoinHandle<Box<LogWriter>>),
    /// A mistake in this program; there is no log then.
    Failed,
}

impl JobLog {
    pub(super) fn new(writer: LogWriter) -> Self {
        Self { state: LogState::Ready(Box::new(writer)), due: None }
    }

    /// Something was printed.
    pub(super) fn output_came(&mut self) {
        self.due.get_or_insert_with(|| Instant::now() + LOG_INTERVAL);
    }

    /// Writes when it is time. Never ends by itself: the caller has more to wait for.
    pub(super) async fn keep_writing(&mut self) {
        loop {
            self.written().await;
            let Some(due) = self.due else { return std::future::pending().await };
            tokio::time::sleep_until(due).await;
            self.due = None;
            self.write_now();
        }
    }

    fn write_now(&mut self) {
        if let LogState::Ready(mut writer) = std::mem::replace(&mut self.state, LogState::Failed) {
            self.state = LogState::Writing(tokio::task::spawn_blocking(move || {
                writer.catch_up();
                writer
            }));
        }
    }

    /// Writes what is left, once the job has ended.
    pub(super) async fn finish(&mut self) {
        self.written().await;
        self.write_now();
        self.written().await;
    }

    /// Waits for the write that is under way, if one is.
    async fn written(&mut self) {
        if let LogState::Writing(writing) = &mut self.state {
            self.state = writing.await.map_or(LogState::Failed, LogState::Ready);
        }
    }
}

/// Turns the tape of an attempt into a text file.
#[derive(Debug)]
pub(super) struct LogWriter {
    attempt: Attempt,
    path: PathBuf,
    /// How far the tape was read.
    offset: u64,
    written: u64,
    stripper: SequenceStripper,
    redactor: Redactor,
    file: Option<File>,
}

impl LogWriter {
    /// A log in the folder of a session. One that an earlier process began is written anew.
    pub(super) fn new(attempt: Attempt, path: PathBuf, redactor: Redactor) -> Self {
        let stripper = SequenceStripper::new();
        Self { attempt, path, offset: 0, written: 0, stripper, redactor, file: None }
    }

    /// Writes what the tape has and the log has not. Waits on the disk.
    fn catch_up(&mut self) {
        let text = self.next_text();
        if text.is_empty() || self.written >= MAX_LOG_BYTES {
            return;
        }
        let room = usize::try_from(MAX_LOG_BYTES - self.written).unwrap_or(usize::MAX);
        let cut = text.floor_char_boundary(room.min(text.len()));
        let mut bytes = text.as_bytes()[..cut].to_vec();
        if cut < text.len() {
            bytes.extend_from_slice(CUT_NOTE.as_bytes());
            self.written = MAX_LOG_BYTES;
        }
        let written = self.open().and_then(|mut file| file.write_all(&bytes));
        self.written += bytes.len() as u64;
        best_effort("write the log of a job", written);
    }

    fn next_text(&mut self) -> String {
        let (mut clean, mut end) = (String::new(), self.offset);
        let Ok(tape) = self.attempt.tape() else { return String::new() };
        for record in tape.records(self.offset).map_while(Result::ok) {
            let from = self.offset.saturating_sub(record.offset);
            end = end.max(record.end());
            if let TapeEvent::Output { bytes, .. } = &record.event
                && let Some(new) = usize::try_from(from).ok().and_then(|from| bytes.get(from..))
            {
                self.stripper.feed(new, |text| clean.push_str(text));
            }
        }
        self.offset = end;
        self.redactor.feed(&clean)
    }

    fn open(&mut self) -> std::io::Result<&File> {
        if self.file.is_none() {
            // An agent may have put a link in its place, which must not be written through.
            let name = self.path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let folder = self.path.parent().unwrap_or(&self.path);
            let folder = OpenFolder::make_without_links(folder, PRIVATE_MODE)?;
            folder.remove(name)?;
            self.file = Some(folder.create(name)?);
        }
        self.file.as_ref().ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}
