//! The screens of a run as a short recording: each painted over the one before, without colours,
//! with a mark that says what was true.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use coven_terminal::recording::{self, RecordingHeader, RecordingWriter};

use crate::agent::Agent;

/// Seconds from one screen to the next, and from a screen to its mark.
const FRAME_INTERVAL: f64 = 4.0;
const MARK_DELAY: f64 = 3.0;

/// Shorter runs of one character are not worth a sequence.
const MIN_RUN: usize = 6;

/// What begins the status that a program announces.
const STATUS: &[u8] = b"\x1b]7501;state=";

#[derive(Default)]
pub(crate) struct Frames {
    kept: Vec<Frame>,
    size: Option<(u16, u16)>,
    /// What is painted so far: only rows that differ are painted again.
    rows: Vec<String>,
    /// Whether that is on the alternate screen.
    alternate: bool,
}

struct Frame {
    mark: String,
    painted: String,
    /// Whether something was typed since the screen before.
    typed: bool,
}

impl Frames {
    /// Keeps what an agent shows now, and whether something was typed since the last screen.
    pub(crate) async fn keep(&mut self, agent: &Agent, mark: &str, typed: bool) {
        let Some(view) = agent.runner.view().await else { return };
        let (snapshot, size) = (&view.snapshot, view.snapshot.size());
        self.size.get_or_insert((size.columns, size.rows));
        let cursor = snapshot.cursor();
        let mut painted = "\x1b[?2004h".to_owned();
        let alternate = snapshot.modes().alternate_screen;
        if alternate != self.alternate {
            // The other screen has other rows.
            let mode = if alternate { 'h' } else { 'l' };
            write!(painted, "\x1b[?1049{mode}\x1b[2J").ok();
            self.rows.clear();
            self.alternate = alternate;
        }
        let rows: Vec<String> = snapshot.text().lines().map(str::to_owned).collect();
        for (at, row) in
            rows.iter().enumerate().filter(|(at, row)| self.rows.get(*at) != Some(*row))
        {
            write!(painted, "\x1b[{}H\x1b[2K{}", at + 1, shortened(row)).ok();
        }
        // Below the last row there is nothing to erase, and the cursor would stay in the last.
        if rows.len() < usize::from(size.rows) {
            write!(painted, "\x1b[{}H\x1b[J", rows.len() + 1).ok();
        }
        self.rows = rows;
        let visible = if cursor.visible { 'h' } else { 'l' };
        write!(painted, "\x1b[{};{}H\x1b[?25{visible}", cursor.row + 1, cursor.column + 1).ok();
        write!(painted, "\x1b]0;{}\x07", snapshot.title()).ok();
        painted.push_str(&status(&agent.output()));
        self.kept.push(Frame { mark: mark.to_owned(), painted, typed });
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let Some((width, height)) = self.size else { return Ok(()) };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let recording = self.recording(width, height).map_err(io::Error::other)?;
        fs::write(path, recording)
    }

    fn recording(&self, width: u16, height: u16) -> Result<Vec<u8>, recording::Error> {
        let mut writer = RecordingWriter::new(Vec::new(), &RecordingHeader::new(width, height))?;
        let mut time = 0.0;
        for frame in &self.kept {
            if frame.typed {
                writer.input(time, b"\r")?;
            }
            writer.output(time + 0.5, frame.painted.as_bytes())?;
            writer.marker(time + 0.5 + MARK_DELAY, &frame.mark)?;
            time += FRAME_INTERVAL;
        }
        writer.finish()
    }
}

/// A row with its long runs of one character written as repetitions, and blanks as moves.
fn shortened(row: &str) -> String {
    let mut short = String::new();
    let mut characters = row.chars().peekable();
    while let Some(character) = characters.next() {
        let mut more = 0;
        while characters.next_if_eq(&character).is_some() {
            more += 1;
        }
        if more < MIN_RUN {
            short.extend(std::iter::repeat_n(character, more + 1));
        } else if character == ' ' {
            write!(short, "\x1b[{}C", more + 1).ok();
        } else {
            write!(short, "{character}\x1b[{more}b").ok();
        }
    }
    short
}

/// The last status that a program announced, as it did.
fn status(output: &[u8]) -> String {
    let Some(start) = output.windows(STATUS.len()).rposition(|window| window == STATUS) else {
        return String::new();
    };
    let rest = &output[start..];
    let end = rest.iter().skip(2).position(|byte| matches!(byte, 0x07 | 0x1b)).unwrap_or(0);
    format!("{}\x07", String::from_utf8_lossy(&rest[..end + 2]))
}
