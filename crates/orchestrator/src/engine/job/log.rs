//! The readable log of a job in the folder of its session: what it printed or, on a terminal, showed,
//! as text, written as the job goes. People read it; nothing follows from it. The exact bytes are on the tape.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use coven_folder::{OpenFolder, best_effort};
use coven_model::AgentMode;
use coven_runner::Redactor;
use coven_runtime::hold::TapeLog;
use coven_store::Attempt;
use coven_tape::{TapeEvent, TapeReader};
use coven_terminal::sanitise::SequenceStripper;
use coven_terminal::screen_log::LogLines;
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
    source: LogSource,
    redactor: Redactor,
    file: Option<File>,
}

/// How the bytes of a tape become text.
#[derive(Debug)]
enum LogSource {
    /// What came, without escape sequences.
    Stream(StreamText),
    /// What the terminal showed: what scrolled off, then what stands on the screen.
    Screen(Box<ScreenText>),
}

#[derive(Debug, Default)]
struct StreamText {
    /// How far the tape was read.
    offset: u64,
    written: u64,
    stripper: SequenceStripper,
}

#[derive(Debug)]
struct ScreenText {
    log: TapeLog,
    /// Where in the file each line begins that has left the screen, and where the last ends.
    places: Vec<u64>,
}

impl LogWriter {
    /// The log of a job in the folder of a session. One that an earlier process began is written
    /// anew.
    pub(super) fn new(
        mode: AgentMode,
        attempt: Attempt,
        path: PathBuf,
        redactor: Redactor,
    ) -> Self {
        let source = match mode {
            AgentMode::Headless => LogSource::Stream(StreamText::default()),
            AgentMode::Interactive => {
                let text = ScreenText { log: TapeLog::default(), places: vec![0] };
                LogSource::Screen(Box::new(text))
            }
        };
        Self { attempt, path, source, redactor, file: None }
    }

    /// Writes what the tape has and the log has not. Waits on the disk.
    fn catch_up(&mut self) {
        let Ok(tape) = self.attempt.tape() else { return };
        let (place, text) = match &mut self.source {
            LogSource::Stream(stream) => stream.next_text(&tape, &mut self.redactor),
            LogSource::Screen(screen) => screen.next_text(&tape, &self.redactor),
        };
        if text.is_empty() && self.file.is_none() {
            return;
        }
        let written = self.open().and_then(|mut file| {
            file.set_len(place)?;
            file.seek(SeekFrom::Start(place))?;
            file.write_all(text.as_bytes())
        });
        best_effort("write the log of a job", written);
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

impl StreamText {
    /// Where the next text begins in the file, and the text.
    fn next_text(&mut self, tape: &TapeReader, redactor: &mut Redactor) -> (u64, String) {
        let (mut clean, mut end) = (String::new(), self.offset);
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
        let place = self.written;
        if place >= MAX_LOG_BYTES {
            return (place, String::new());
        }
        let text = up_to_limit(redactor.feed(&clean), place);
        self.written += text.len() as u64;
        (place, text)
    }
}

impl ScreenText {
    /// Where the next text begins in the file, and the text.
    fn next_text(&mut self, tape: &TapeReader, redactor: &Redactor) -> (u64, String) {
        // A tape that cannot be read to its end is read as far as it goes.
        self.log.read(tape).ok();
        let known = self.places.len() as u64 - 1;
        let from = self.log.take_changed().min(known);
        self.places.truncate(usize::try_from(from).unwrap_or(usize::MAX).saturating_add(1));
        let place = self.places.last().copied().unwrap_or(0);
        let LogLines { lines, standing, .. } = self.log.lines_from(from);
        let (settled, mut text) = (lines.len() - standing, String::new());
        for (at, line) in lines.iter().enumerate() {
            text.push_str(&redactor.clean(line));
            text.push('\n');
            if at < settled && place + (text.len() as u64) < MAX_LOG_BYTES {
                self.places.push(place + text.len() as u64);
            }
        }
        (place, up_to_limit(text, place))
    }
}

/// As much of a text as the log may still have, and a note where it ends before the text does.
fn up_to_limit(mut text: String, place: u64) -> String {
    let room = usize::try_from(MAX_LOG_BYTES.saturating_sub(place)).unwrap_or(usize::MAX);
    if text.len() > room {
        text.truncate(text.floor_char_boundary(room));
        text.push_str(CUT_NOTE);
    }
    text
}
