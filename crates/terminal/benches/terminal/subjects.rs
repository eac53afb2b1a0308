//! What is measured, and the rounds. Every round has each subject read each stream once, one
//! subject after the other, so that a busy minute of the machine hits all of them alike.

use std::hint::black_box;
use std::io;
use std::time::Duration;

use coven_terminal::sanitise::SequenceStripper;
use coven_terminal::screen::{GridSize, Options, Screen};
use coven_testkit::bench::cpu::{self, CpuSamples};
use coven_testkit::bench::emulator::{BareEmulator, LIKE_OURS};
use coven_testkit::bench::pty::{self, CHUNK};
use coven_testkit::bench::tmux::TmuxServer;

use crate::streams::{Folder, Stream};

pub(crate) const COLUMNS: u16 = 120;
pub(crate) const ROWS: u16 = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    RawCopy,
    Sanitise,
    /// The emulator as it comes, with this much history.
    Emulator(usize),
    Screen,
    /// A screen of which a snapshot is taken after this many bytes.
    Snapshots(usize),
    PtyRead,
    PtyScreen,
    Tmux,
}

/// A snapshot at 60 Hz of a program that writes 1 MB per second, and of one that writes 16.
pub(crate) const OFTEN: usize = 16 * 1024;
pub(crate) const SELDOM: usize = 256 * 1024;

pub(crate) const SUBJECTS: [Subject; 10] = [
    Subject::RawCopy,
    Subject::Sanitise,
    Subject::Emulator(LIKE_OURS),
    Subject::Emulator(1000),
    Subject::Screen,
    Subject::Snapshots(SELDOM),
    Subject::Snapshots(OFTEN),
    Subject::PtyRead,
    Subject::PtyScreen,
    Subject::Tmux,
];

/// Samples of each subject on each stream, in the order of both.
pub(crate) struct Cpu(Vec<Vec<CpuSamples>>);

impl Cpu {
    pub(crate) fn of(&self, subject: Subject) -> &[CpuSamples] {
        let row = SUBJECTS.iter().position(|other| *other == subject);
        row.map_or(&[], |row| &self.0[row])
    }
}

pub(crate) fn measure(streams: &[Stream], rounds: usize, folder: &Folder) -> io::Result<Cpu> {
    let mut samples = vec![vec![CpuSamples::default(); streams.len()]; SUBJECTS.len()];
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for (column, stream) in streams.iter().enumerate() {
            for (row, subject) in SUBJECTS.iter().enumerate() {
                if let Some(time) = read(*subject, stream, folder)? {
                    samples[row][column].add(time, stream.bytes.len());
                }
            }
        }
    }
    Ok(Cpu(samples))
}

/// CPU time a subject takes for a whole stream; nothing if the subject is not there.
fn read(subject: Subject, stream: &Stream, folder: &Folder) -> io::Result<Option<Duration>> {
    let bytes = &stream.bytes;
    Ok(Some(match subject {
        Subject::RawCopy => {
            let mut buffer = [0; CHUNK];
            in_chunks(bytes, |chunk| {
                buffer[..chunk.len()].copy_from_slice(chunk);
                black_box(&mut buffer);
            })
        }
        Subject::Sanitise => {
            let mut stripper = SequenceStripper::new();
            let mut text = String::with_capacity(2 * CHUNK);
            in_chunks(bytes, |chunk| {
                text.clear();
                stripper.feed(chunk, |run| text.push_str(run));
                black_box(&mut text);
            })
        }
        Subject::Emulator(history) => {
            let mut emulator = BareEmulator::new(COLUMNS, ROWS, history);
            in_chunks(bytes, |chunk| emulator.feed(chunk))
        }
        Subject::Screen => {
            let mut screen = screen();
            in_chunks(bytes, |chunk| feed(&mut screen, chunk))
        }
        Subject::Snapshots(every) => {
            let mut screen = screen();
            let mut fed = 0;
            in_chunks(bytes, |chunk| {
                feed(&mut screen, chunk);
                fed += chunk.len();
                if fed >= every {
                    fed = 0;
                    black_box(screen.snapshot());
                }
            })
        }
        Subject::PtyRead => pty::read(&stream.file, |chunk| {
            black_box(chunk);
        })?,
        Subject::PtyScreen => {
            let mut screen = screen();
            pty::read(&stream.file, |chunk| feed(&mut screen, chunk))?
        }
        Subject::Tmux => {
            let size = GridSize::new(COLUMNS, ROWS);
            let Some(tmux) = TmuxServer::start(folder.path(), &stream.file, size)? else {
                return Ok(None);
            };
            tmux.read()?
        }
    }))
}

fn in_chunks(bytes: &[u8], mut work: impl FnMut(&[u8])) -> Duration {
    cpu::of(|| {
        for chunk in bytes.chunks(CHUNK) {
            work(black_box(chunk));
        }
    })
}

fn screen() -> Screen {
    let size = GridSize::new(COLUMNS, ROWS);
    Screen::with_options(&Options { size, history: LIKE_OURS, ..Options::default() })
}

/// Feeds a screen as its owner does: what it answers and tells is taken at once.
fn feed(screen: &mut Screen, chunk: &[u8]) {
    screen.feed(chunk);
    black_box(screen.take_replies());
    black_box(screen.take_signals());
}

/// What it costs to show a screen to a newly attached viewer.
pub(crate) struct Attach {
    pub(crate) dump: Duration,
    pub(crate) dump_bytes: usize,
    /// Feeding the dump to a new screen.
    pub(crate) feed: Duration,
    /// The first snapshot of that screen, for which no row can be shared.
    pub(crate) snapshot: Duration,
}

/// Attaches many times to the screen as it stands after the stream. The least of each counts.
pub(crate) fn attach(stream: &Stream) -> Attach {
    const TIMES: usize = 200;
    let mut screen = screen();
    screen.feed(&stream.bytes);
    let mut least =
        Attach { dump: Duration::MAX, dump_bytes: 0, feed: Duration::MAX, snapshot: Duration::MAX };
    for _ in 0..TIMES {
        let mut dump = Vec::new();
        least.dump = least.dump.min(cpu::of(|| dump = screen.dump()));
        least.dump_bytes = dump.len();
        let mut fresh = self::screen();
        least.feed = least.feed.min(cpu::of(|| fresh.feed(&dump)));
        let snapshot = cpu::of(|| {
            black_box(fresh.snapshot());
        });
        least.snapshot = least.snapshot.min(snapshot);
    }
    least
}
