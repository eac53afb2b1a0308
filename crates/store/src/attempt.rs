//! The folder of one attempt: what was started, how it ended, what it printed, and what we made of
//! that. All but the outcome is written by the process's holder.

use std::path::{Path, PathBuf};

use coven_folder::{Durability, FileError, OpenFolder};
use coven_model::{JobOutcome, ProcessEnding};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const SPAWN: &str = "spawn.json";
const EXIT: &str = "exit.json";
const KILLED: &str = "killed";
const OUTCOME: &str = "outcome.json";
const ROOM: &str = "room";
const IMPORTED: &str = "imported";

/// How many bytes there must be room for before a process is started: its description, the
/// beginning of its tape, and how it ended.
const MIN_FREE_BYTES: usize = 64 * 1024;

/// The newest version of these files that is known.
const ATTEMPT_VERSION: u32 = 1;

/// A file of an attempt cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    /// Something cannot be reached.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is not what it should be.
    #[error("{} is damaged: {source}. Without it the attempt counts as lost", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    /// A newer program wrote it.
    #[error("{} has version {version}, newer than this program knows ({ATTEMPT_VERSION}): use the newer one",
        path.display())]
    Newer { path: PathBuf, version: u32 },
}

/// A process that cannot be mistaken for a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: i32,
    /// When it started, in clock ticks since the system did.
    pub start: u64,
}

/// What was started (`spawn.json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spawn {
    pub job: String,
    /// The command line, for people.
    pub argv: Vec<String>,
    /// The working directory, for people.
    #[serde(default)]
    pub cwd: String,
    /// Names of the environment's variables.
    #[serde(default)]
    pub env: Vec<String>,
    /// The start of the system in which this happened.
    pub boot_id: String,
    /// Who holds the process, once it runs.
    #[serde(default)]
    pub holder: Option<Process>,
    /// The process, once it runs.
    #[serde(default)]
    pub process: Option<Process>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttemptStatus {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
}

impl From<AttemptStatus> for ProcessEnding {
    fn from(status: AttemptStatus) -> Self {
        match status {
            AttemptStatus::Code(code) => Self::Exited { code },
            AttemptStatus::Signal(signal) => Self::Signalled { signal },
        }
    }
}

/// How it ended (`exit.json`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptExit {
    /// How the process itself ended.
    pub status: AttemptStatus,
    /// The end of its output.
    pub output: u64,
    /// When nothing of it ran any more, in microseconds since it was started.
    pub time: u64,
    /// Whether it was told to stop.
    pub stopped: bool,
}

/// Writes and removes a file of the size that a job needs, to see whether there is room for it.
pub(crate) fn check_room(folder: &OpenFolder) -> Result<(), FileError> {
    folder.replace(ROOM, &vec![0; MIN_FREE_BYTES], Durability::Cache)?;
    folder.remove(ROOM)?;
    Ok(())
}

/// A version that stands in every file.
#[derive(Deserialize)]
struct VersionedFile {
    version: u32,
}

#[derive(Serialize)]
struct OutcomeFile<'a> {
    version: u32,
    #[serde(flatten)]
    outcome: &'a JobOutcome,
}

/// The folder of one attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    folder: OpenFolder,
}

impl Attempt {
    /// The attempt in a folder.
    pub fn new(folder: OpenFolder) -> Self {
        Self { folder }
    }

    /// Where it is. The runtime is given this path to start the process in.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its folder, held open. What is read and written there goes through this handle, because the
    /// process may put links into the folder.
    pub fn folder(&self) -> &OpenFolder {
        &self.folder
    }

    /// Makes sure that there is room for what the holder writes before the process starts: a full
    /// disk is then an error of the start, not of a job that runs.
    pub fn make_room(&self) -> Result<(), FileError> {
        check_room(&self.folder)
    }

    /// What was started here, if anything was.
    pub fn spawn(&self) -> Result<Option<Spawn>, AttemptError> {
        self.read(SPAWN)
    }

    /// When its process was started, in seconds since 1970, if it was.
    pub fn started(&self) -> Option<i64> {
        let record = self.folder.stat(SPAWN).ok().flatten();
        record.map(|stat| stat.st_mtime)
    }

    /// How it ended. Nothing if it runs, or if its holder was killed before it could record the end.
    pub fn exit(&self) -> Result<Option<AttemptExit>, AttemptError> {
        self.read(EXIT)
    }

    /// Whether it was told to stop. What was stopped before it started must never start.
    pub fn is_killed(&self) -> Result<bool, AttemptError> {
        Ok(self.folder.stat(KILLED)?.is_some())
    }

    /// Leaves word that the job was started elsewhere, and that nothing of it is here.
    pub fn mark_imported(&self) -> Result<(), FileError> {
        self.folder.replace(IMPORTED, &[], Durability::Synced)
    }

    /// Whether the job was started elsewhere, before its session was imported. It is never started
    /// here.
    pub fn is_imported(&self) -> Result<bool, AttemptError> {
        Ok(self.folder.stat(IMPORTED)?.is_some())
    }

    /// What the attempt came to, if that was decided.
    pub fn outcome(&self) -> Result<Option<JobOutcome>, AttemptError> {
        self.read(OUTCOME)
    }

    /// Decides what the attempt came to, for good: it is on the disk when this returns, and only
    /// then may anybody be told. If it was decided before, that is returned and nothing changes.
    pub fn decide(&self, outcome: &JobOutcome) -> Result<JobOutcome, AttemptError> {
        if let Some(decided) = self.outcome()? {
            return Ok(decided);
        }
        let file = OutcomeFile { version: ATTEMPT_VERSION, outcome };
        let mut text = serde_json::to_vec_pretty(&file)
            .map_err(|source| AttemptError::Damaged { path: self.path().join(OUTCOME), source })?;
        text.push(b'\n');
        self.folder.put_durably(OUTCOME, &text)?;
        Ok(outcome.clone())
    }

    /// What was printed and typed.
    pub fn tape(&self) -> Result<coven_tape::TapeReader, coven_tape::Error> {
        coven_tape::TapeReader::open_in(&self.folder)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, AttemptError> {
        let Some(text) = self.folder.read(name)? else { return Ok(None) };
        let path = || self.path().join(name);
        let damaged = |source| AttemptError::Damaged { path: path(), source };
        let VersionedFile { version } = serde_json::from_slice(&text).map_err(damaged)?;
        if version > ATTEMPT_VERSION {
            return Err(AttemptError::Newer { path: path(), version });
        }
        serde_json::from_slice(&text).map(Some).map_err(damaged)
    }
}
