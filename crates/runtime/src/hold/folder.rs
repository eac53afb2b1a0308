//! The folder of one attempt: the ledger of what was started and how it ended.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::domain::ExitStatus;
use crate::processes::{Ended, Identity};
use crate::sandbox::Enforcement;

/// The version of the files here. A newer one is not touched.
const VERSION: u32 = 1;

/// The file that whoever has the claim has locked.
const CLAIM: &str = "claim";

/// Room kept for the record of the end, so that it can be written when the disk is full.
const RESERVED: usize = 4096;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Reading or writing failed.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file was written by a later release.
    #[error("{path} has version {version}, which is newer than this program knows ({VERSION})")]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
}

/// What was started (`spawn.json`). Written before the holder starts, completed by the holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpawnRecord {
    /// Version of this file.
    pub version: u32,
    /// The job, as in the environment of its processes.
    pub job: String,
    /// The command line, for people: bytes that are not text are replaced.
    pub argv: Vec<String>,
    /// The working directory, for people.
    pub cwd: String,
    /// Names of the environment's variables. Values may be secret.
    pub env: Vec<String>,
    /// The start of the system in which this happened.
    pub boot_id: String,
    /// What confines the process, if anything was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Enforcement>,
    /// Names the start, so that a holder which comes late knows whether it is still the one that is
    /// wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// The holder, once it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Identity>,
    /// The process, once it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Identity>,
}

impl SpawnRecord {
    /// The version that is written.
    pub(crate) const VERSION: u32 = VERSION;
}

/// How it ended (`exit.json`). Written once nothing of it runs any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// Version of this file.
    pub version: u32,
    /// How the process itself ended.
    pub status: ExitStatus,
    /// The end of its output.
    pub output: u64,
    /// When nothing of it ran any more, in microseconds since it was started.
    pub time: u64,
    /// Whether it was told to stop.
    pub stopped: bool,
    /// What had to be forced.
    #[serde(default)]
    pub ended: Ended,
}

impl Exit {
    /// The version that is written.
    pub(crate) const VERSION: u32 = VERSION;
}

/// A version that stands in every file.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// The folder of one attempt.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at a path, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it, for us alone to read.
    pub(crate) fn create(&self) -> Result<(), FolderError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|source| self.io("", source))
    }

    fn io(&self, name: &str, source: io::Error) -> FolderError {
        FolderError::Io { path: self.path.join(name), source }
    }

    /// What was started here, if anything was.
    pub fn spawn_record(&self) -> Result<Option<SpawnRecord>, FolderError> {
        self.read("spawn.json")
    }

    pub(crate) fn write_spawn_record(&self, record: &SpawnRecord) -> Result<(), FolderError> {
        self.write("spawn.json", record)
    }

    /// Takes the one claim there is to this folder's process, until the file is closed. Nothing if
    /// somebody has it: a holder from before its process starts until it ends.
    pub(crate) fn claim(&self) -> Result<Option<File>, FolderError> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.path.join(CLAIM)).map_err(|source| self.io(CLAIM, source))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(self.io(CLAIM, errno.into())),
        }
    }

    /// Forgets that something was to be started. Only for who has the claim.
    pub(crate) fn forget_spawn(&self) -> Result<(), FolderError> {
        let removed = fs::remove_file(self.path.join("spawn.json"));
        removed.map_err(|source| self.io("spawn.json", source))
    }

    /// How it ended, if it did.
    pub fn exit(&self) -> Result<Option<Exit>, FolderError> {
        self.read("exit.json")
    }

    /// Takes the room that the record of the end will need.
    pub(crate) fn reserve_exit(&self) -> Result<(), FolderError> {
        let path = self.draft("exit.json");
        fs::write(&path, [b' '; RESERVED]).map_err(|source| FolderError::Io { path, source })
    }

    pub(crate) fn write_exit(&self, exit: &Exit) -> Result<(), FolderError> {
        self.write("exit.json", exit)
    }

    /// Whether it was told to stop. What was stopped before it started must never start.
    pub fn is_killed(&self) -> bool {
        self.path.join("killed").exists()
    }

    /// Says that it must not start any more.
    pub fn mark_killed(&self) -> Result<(), FolderError> {
        self.create()?;
        File::create(self.path.join("killed"))
            .and_then(|file| file.sync_all())
            .map_err(|source| self.io("killed", source))
    }

    /// A path of the holder's socket that is short enough for the system however deep the folder
    /// lies, valid while the descriptor is open.
    pub(crate) fn socket(&self) -> Result<(OwnedFd, PathBuf), FolderError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&self.path, flags, Mode::empty())
            .map_err(|errno| self.io("", errno.into()))?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/sock", folder.as_raw_fd()));
        Ok((folder, path))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, FolderError> {
        let path = self.path.join(name);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FolderError::Io { path, source }),
        };
        let damaged = |error: serde_json::Error| FolderError::Damaged {
            path: path.clone(),
            reason: error.to_string(),
        };
        let Versioned { version } = serde_json::from_slice(&text).map_err(damaged)?;
        if version > VERSION {
            return Err(FolderError::Newer { path, version });
        }
        serde_json::from_slice(&text).map(Some).map_err(damaged)
    }

    fn draft(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.new"))
    }

    /// Writes a file so that it is there as a whole or not at all, also after a power cut. Room
    /// that a draft has already is used.
    fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), FolderError> {
        let path = self.path.join(name);
        let draft = self.draft(name);
        let written = || -> io::Result<()> {
            let mut text = serde_json::to_vec_pretty(value)?;
            text.push(b'\n');
            let mut options = fs::OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600);
            let mut file = options.open(&draft)?;
            file.write_all(&text)?;
            file.set_len(text.len() as u64)?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(&self.path)?.sync_all()
        };
        written().map_err(|source| FolderError::Io { path: path.clone(), source })
    }
}
