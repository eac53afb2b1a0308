//! Where processes start ([`Domain`]) and one process on a terminal or on pipes ([`Pane`]).
//!
//! Both are as small as they can be: a scheduler knows only these two. Nothing here blocks;
//! a pane that can be waited for has a descriptor that becomes readable when something happened.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use coven_terminal::screen::GridSize;
use serde::{Deserialize, Serialize};

/// Names a domain in a registry, for example `local` or `holder`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainId(pub String);

impl fmt::Display for DomainId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How a process is connected to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// A pseudo-terminal of this size: one stream in, one out.
    Terminal(GridSize),
    /// Pipes: output and errors apart, and an input that stays open until it is closed.
    Pipes,
}

/// Everything needed to start one process.
#[derive(Clone, Debug)]
pub struct SpawnConfig {
    /// The program and its arguments. The program is looked up in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: BTreeMap<OsString, OsString>,
    pub connection: Connection,
    /// The file that is its input where it has no terminal; a pipe for none.
    pub input: Option<PathBuf>,
    /// What the process may write to, if it is confined.
    pub sandbox: Option<Sandbox>,
    /// The folder of this attempt, for domains that keep one.
    pub folder: Option<PathBuf>,
    /// How many bytes of output are kept on disk, for domains that keep them; the usual for none.
    pub keep: Option<u64>,
    /// Tells processes of one job apart from all others; handed over as `COVEN_JOB`.
    pub job: String,
}

/// Confinement. In any case signals and abstract sockets reach only processes that are confined
/// together with this one, and no program gains rights by being started (`sudo`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Nothing else is confined: files and connections stay as they are.
    pub signals_only: bool,
    /// Files and directories that may be written. All others may only be read.
    pub write: Vec<PathBuf>,
    /// Files and directories that may not be read either.
    pub hide: Vec<PathBuf>,
    /// Files and directories in hidden ones that may be read all the same.
    pub show: Vec<PathBuf>,
    /// TCP ports that may be connected to; nothing for all.
    pub ports: Option<Vec<u16>>,
}

/// Which of a pane's streams bytes came from. A terminal has only `Output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaneStream {
    /// Standard output, or everything on a terminal.
    Output,
    Error,
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// This many bytes of this stream.
    Data(PaneStream, usize),
    /// Nothing now; more may come.
    Pending,
    /// Nothing any more: every stream has ended.
    End,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
}

impl ExitStatus {
    /// Whether it exited with 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
        }
    }
}

/// How to end a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMode {
    /// Ask it to end. A domain that outlives us forces it by itself after the grace.
    Polite {
        /// How long it may take.
        grace: Duration,
    },
    /// End it and everything it started, now.
    Force,
}

/// What a terminal does with what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputMode {
    /// Whether it shows what is typed. Programs turn that off for a password.
    pub echoes: bool,
    /// Whether it collects a line before the program reads it. Programs that read single keys turn
    /// that off.
    pub collects_lines: bool,
}

impl InputMode {
    /// As it is noted on the tape.
    pub fn as_str(self) -> &'static str {
        match (self.collects_lines, self.echoes) {
            (true, true) => "lines",
            (true, false) => "hidden",
            (false, _) => "keys",
        }
    }

    /// Whether a line is read that must not be shown. Programs that show what is typed themselves
    /// turn off both.
    pub fn hides_line(self) -> bool {
        self.collects_lines && !self.echoes
    }
}

/// What the processes do that have the terminal of a pane, as far as it matters for what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderActivity {
    /// One of them may wait for what is typed.
    MayRead,
    /// None does: each runs, sleeps, or waits for another process.
    Busy {
        /// How often they were given the processor. It stays the same as long as none of them runs,
        /// and a program that only looks now and then whether something was typed runs for that.
        runs: u64,
        /// Whether one of them works at this moment, and does not sleep.
        works: bool,
    },
}

/// What came of [`Pane::discard_unread`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscardResult {
    /// How many bytes the process had not read.
    pub unread: u32,
    /// Whether they were thrown away.
    pub discarded: bool,
}

/// One process on a terminal or pipes.
pub trait Pane: Send {
    /// Reads what is there, without waiting. After the process has ended, reads go on until
    /// [`ReadOutcome::End`], so that nothing it printed is lost.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome>;

    /// Writes what fits, without waiting, and says how much. A pane whose process has ended is a
    /// broken pipe.
    ///
    /// After a write that was not taken whole, [`Pane::readiness`] also becomes readable when the
    /// pane takes more. That lasts until a write is taken whole or fails, so a caller that gives up
    /// on the rest writes an empty slice.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// The same for bytes that must not be recorded: of them only the length may be kept. One whose
    /// domain keeps a record and cannot leave them out is unsupported.
    fn write_secret(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }

    /// Throws away everything that was written and the process has not read, if that is at least so
    /// many bytes. What came of it is given by [`Pane::discard_result`], some time after
    /// [`Pane::readiness`] has become readable. Unsupported where nobody can know.
    fn discard_unread(&mut self, at_least: u32) -> io::Result<()> {
        let _ = at_least;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What came of discarding input, once.
    fn discard_result(&mut self) -> Option<DiscardResult> {
        None
    }

    /// What the terminal does with what is typed, where that is known.
    fn input_mode(&self) -> Option<InputMode> {
        None
    }

    /// Whether the process has closed its standard output, although it may live on and print errors.
    fn output_is_closed(&self) -> bool {
        false
    }

    /// The process that should read what is typed, if it is stopped by a signal: it reads nothing
    /// before it is continued.
    fn stopped_reader(&self) -> Option<i32> {
        None
    }

    /// What the processes do that have the terminal: whether one of them may read now what is typed.
    /// Nothing where that cannot be told.
    fn reader_activity(&self) -> Option<ReaderActivity> {
        None
    }

    /// Closes the input: the process reads an end of file.
    fn close_input(&mut self) -> io::Result<()>;

    /// Tells the process its new size. Nothing happens on pipes.
    fn resize(&mut self, size: GridSize) -> io::Result<()>;

    /// Ends the process. Once it and everything it started are gone, [`Pane::is_alive`] is false.
    fn stop(&mut self, stop: StopMode) -> io::Result<()>;

    /// Whether anything of it still runs.
    fn is_alive(&mut self) -> bool;

    /// How it ended. Nothing while it runs, or where that cannot be known.
    fn exit_status(&mut self) -> Option<ExitStatus>;

    /// How many bytes of its output were lost on the way here, so far. What is on a screen is then
    /// not what the process painted.
    fn lost(&self) -> u64 {
        0
    }

    /// Puts a note on the record of the process, for domains that keep one.
    fn mark(&mut self, note: &str) -> io::Result<()> {
        let _ = note;
        Ok(())
    }

    /// Readable when there is something to read, when the process has ended, and when the rest of
    /// a write can be written. A caller that wakes up reads and writes, and then waits again. A
    /// pane without a descriptor must be polled.
    fn readiness(&self) -> Option<BorrowedFd<'_>>;
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The command line is empty.
    #[error("the command line is empty")]
    EmptyCommand,
    #[error("`{program}` was not found in PATH ({path})")]
    NotFound {
        /// What was looked for.
        program: String,
        path: String,
    },
    /// The program is there but cannot be run.
    #[error("`{program}` cannot be run: {source}")]
    NotExecutable { program: String, source: io::Error },
    /// The working directory is missing or closed to us.
    #[error("the working directory {path} cannot be entered: {source}")]
    WorkingDirectory { path: PathBuf, source: io::Error },
    /// Arguments and environment are too long for the system.
    #[error("the arguments and environment of `{program}` are too long for the system")]
    TooLong { program: String },
    /// No more terminals or descriptors.
    #[error("the system has no more {what}: {source}")]
    Exhausted { what: &'static str, source: io::Error },
    /// The sandbox cannot be set up.
    #[error("the sandbox cannot be set up: {reason}")]
    Sandbox { reason: String },
    #[error("{step}: {source}")]
    Io {
        /// What was being done.
        step: &'static str,
        source: io::Error,
    },
    /// The disk has no room for what is kept of the process. Nothing was started and nothing of the
    /// start is left, so that the same can be tried again.
    #[error("{reason}")]
    Full { reason: String },
    /// The domain says no, for reasons of its own.
    #[error("{0}")]
    Refused(String),
}

/// Somewhere processes can be started.
pub trait Domain: Send + Sync {
    fn id(&self) -> DomainId;

    fn spawn(&self, config: &SpawnConfig) -> Result<Box<dyn Pane>, SpawnError>;

    /// Whether its processes live on without us.
    fn detachable(&self) -> bool {
        false
    }
}

/// Domains by name, one of them the default.
#[derive(Clone, Default)]
pub struct DomainRegistry {
    domains: BTreeMap<DomainId, Arc<dyn Domain>>,
    default: Option<DomainId>,
}

impl DomainRegistry {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a domain. The first one becomes the default; one with the same name is replaced.
    pub fn register(&mut self, domain: Arc<dyn Domain>) {
        let id = domain.id();
        self.default.get_or_insert_with(|| id.clone());
        self.domains.insert(id, domain);
    }

    /// Makes a domain the default, adding it where needed.
    pub fn set_default(&mut self, domain: Arc<dyn Domain>) {
        self.default = Some(domain.id());
        self.register(domain);
    }

    /// The named domain, or the default for none.
    pub fn get(&self, id: Option<&DomainId>) -> Option<&Arc<dyn Domain>> {
        self.domains.get(id.or(self.default.as_ref())?)
    }

    /// The names, in order.
    pub fn ids(&self) -> impl Iterator<Item = &DomainId> {
        self.domains.keys()
    }
}
