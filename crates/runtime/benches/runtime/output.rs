//! Output from a pane to the screen and the disk, as CPU time, against a reader that does nothing,
//! the bare emulator and tmux. Every round has each subject read each stream once.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use coven_runtime::domain::{Connection, Pane, ReadOutcome};
use coven_terminal::screen::{GridSize, Options, Screen};
use coven_testkit::bench::cpu::{self, CpuSamples};
use coven_testkit::bench::emulator::{BareEmulator, LIKE_OURS};
use coven_testkit::bench::pty;
use coven_testkit::bench::tmux::TmuxServer;
use coven_testkit::{panes, streams};

use crate::fleet::{DEADLINE, Fleet, Kind, wait_ready};

pub(crate) const SIZE: GridSize = GridSize { columns: 120, rows: 40 };

pub(crate) struct Stream {
    pub(crate) name: &'static str,
    /// Whether it paints a screen rather than printing lines.
    pub(crate) redraws: bool,
    pub(crate) bytes: usize,
    file: PathBuf,
}

pub(crate) fn streams(bytes: usize, folder: &Path) -> io::Result<Vec<Stream>> {
    let stream = |name: &'static str, redraws: bool, bytes: Vec<u8>| -> io::Result<Stream> {
        let file = folder.join(name);
        fs::write(&file, &bytes)?;
        Ok(Stream { name, redraws, bytes: bytes.len(), file })
    };
    Ok(vec![stream("log", false, streams::log(bytes))?, stream("TUI", true, streams::tui(bytes))?])
}

/// Who reads. A pane under a holder is read by two processes, which are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Raw,
    Emulator,
    LocalRead,
    LocalScreen,
    HolderClient,
    HolderItself,
    Holder,
    Tmux,
}

pub(crate) const SUBJECTS: [Subject; 8] = [
    Subject::Raw,
    Subject::Emulator,
    Subject::LocalRead,
    Subject::LocalScreen,
    Subject::HolderClient,
    Subject::HolderItself,
    Subject::Holder,
    Subject::Tmux,
];

/// Samples of each subject on each stream, in the order of both.
pub(crate) struct Cpu(Vec<Vec<CpuSamples>>);

impl Cpu {
    fn add(&mut self, subject: Subject, column: usize, time: Duration, bytes: usize) {
        if let Some(row) = SUBJECTS.iter().position(|other| *other == subject) {
            self.0[row][column].add(time, bytes);
        }
    }

    pub(crate) fn of(&self, subject: Subject) -> &[CpuSamples] {
        let row = SUBJECTS.iter().position(|other| *other == subject);
        row.map_or(&[], |row| &self.0[row])
    }
}

pub(crate) fn measure(streams: &[Stream], rounds: usize, root: &Path) -> io::Result<Cpu> {
    let mut cpu = Cpu(vec![vec![CpuSamples::default(); streams.len()]; SUBJECTS.len()]);
    for round in 1..=rounds {
        eprintln!("output, round {round} of {rounds}");
        for (column, stream) in streams.iter().enumerate() {
            for (subject, time) in read(stream, root)? {
                cpu.add(subject, column, time, stream.bytes);
            }
        }
    }
    Ok(cpu)
}

/// CPU time that each subject takes for a whole stream.
fn read(stream: &Stream, root: &Path) -> io::Result<Vec<(Subject, Duration)>> {
    let mut times = vec![(Subject::Raw, pty::read(&stream.file, look)?)];
    let mut emulator = BareEmulator::new(SIZE.columns, SIZE.rows, LIKE_OURS);
    times.push((Subject::Emulator, pty::read(&stream.file, |chunk| emulator.feed(chunk))?));

    let (own, _) = through(Kind::Local, stream, root, look)?;
    times.push((Subject::LocalRead, own));
    let mut drawn = screen();
    let (own, _) = through(Kind::Local, stream, root, |chunk| feed(&mut drawn, chunk))?;
    times.push((Subject::LocalScreen, own));

    let mut drawn = screen();
    let (client, holder) = through(Kind::Holder, stream, root, |chunk| feed(&mut drawn, chunk))?;
    times.push((Subject::HolderClient, client));
    times.push((Subject::HolderItself, holder));
    times.push((Subject::Holder, client + holder));

    if let Some(tmux) = TmuxServer::start(root, &stream.file, SIZE)? {
        times.push((Subject::Tmux, tmux.read()?));
    }
    Ok(times)
}

/// Reads and does nothing with it.
fn look(chunk: &[u8]) {
    black_box(chunk);
}

/// A job that prints a file when it is told to, and then stays.
pub(crate) fn printer(file: &Path, root: &Path) -> coven_runtime::domain::SpawnConfig {
    let script =
        format!("stty raw -echo; printf r; read go; cat '{}'; exec cat >/dev/null", file.display());
    panes::shell(&script, Connection::Terminal(SIZE), root)
}

/// CPU time of this thread and of the holder for a whole stream through a pane.
fn through(
    kind: Kind,
    stream: &Stream,
    root: &Path,
    mut work: impl FnMut(&[u8]),
) -> io::Result<(Duration, Duration)> {
    let mut fleet = Fleet::new(kind, root);
    fleet.spawn(printer(&stream.file, root))?;
    let holders = fleet.holders()?;
    let holder = || match holders.first() {
        Some(holder) => cpu::of_process(holder.pid),
        None => Ok(Duration::ZERO),
    };
    let pane = &mut *fleet.panes[0];
    follow(pane, 1, |_| ())?;
    let before = holder()?;
    let mut result = Ok(());
    let own = cpu::of(|| {
        result = pane.write(b"go\n").and_then(|_| follow(pane, stream.bytes, &mut work));
    });
    result?;
    let holder = holder()?.saturating_sub(before);
    let folder = fleet.folder().map(|folder| folder.path().to_owned());
    fleet.stop()?;
    // A tape is as long as the stream; the next needs the room.
    folder.map_or(Ok(()), fs::remove_dir_all)?;
    Ok((own, holder))
}

/// Reads so many bytes as the owner of a pane does: what is there, then waits.
pub(crate) fn follow(
    pane: &mut dyn Pane,
    bytes: usize,
    mut work: impl FnMut(&[u8]),
) -> io::Result<()> {
    let deadline = Instant::now() + DEADLINE;
    let mut buffer = vec![0; 64 * 1024];
    let mut left = bytes;
    while left > 0 {
        match pane.read(&mut buffer)? {
            ReadOutcome::Data(_, length) => {
                work(&buffer[..length]);
                left = left.saturating_sub(length);
            }
            ReadOutcome::Pending => wait_ready(pane, deadline)?,
            ReadOutcome::End => return Err(io::Error::other("a pane has ended early")),
        }
    }
    Ok(())
}

pub(crate) fn options() -> Options {
    Options { size: SIZE, history: LIKE_OURS, ..Options::default() }
}

fn screen() -> Screen {
    Screen::with_options(&options())
}

/// Feeds a screen as its owner does: what it answers and tells is taken at once.
pub(crate) fn feed(screen: &mut Screen, chunk: &[u8]) {
    screen.feed(chunk);
    black_box(screen.take_replies());
    black_box(screen.take_signals());
}
