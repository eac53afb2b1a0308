//! The folder of one attempt: the ledger of what was started and how it ended.
//!
//! The process can write to its folder too. So each file here is reached from a handle, no link is
//! followed, and what we write goes into files that we have just created.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use coven_folder::{Durability, FileError, OFlags, OpenObstacle};
use rustix::fs::{FlockOperation, Mode};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::secret::HolderSecret;
use crate::domain::ExitStatus;
use crate::machine;
use crate::processes::{Identity, TreeEnding};
use crate::sandbox::Enforcement;

/// The version of the files here. A newer one is not touched.
const VERSION: u32 = 1;

const SPAWN: &str = "spawn.json";
const EXIT: &str = "exit.json";

/// Says that the process must not start any more.
const KILLED: &str = "killed";

/// The file that the holder keeps locked while it has the claim.
const CLAIM: &str = "claim";

/// Where the holder listens.
const SOCKET: &str = "sock";

/// What a client of the holder must know.
const SECRET: &str = "secret";

/// Folders that are made are for their owner alone.
const PRIVATE_MODE: u32 = 0o700;

/// Room kept for the record of the end, so that it can be written when the disk is full.
const RESERVED_EXIT_BYTES: usize = 4096;

/// Room kept for what the holder adds to the record of the start: two processes.
const RESERVED_SPAWN_BYTES: usize = 1024;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Reading or writing failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is not what it should be.
    #[error("{path} is damaged: {reason}")]
    Damaged { path: PathBuf, reason: String },
    /// A file was written by a later release.
    #[error("{path} has version {version}, which is newer than this program knows ({VERSION})")]
    Newer { path: PathBuf, version: u32 },
}

impl FolderError {
    /// Whether the disk had no room.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::File(error) if error.obstacle == OpenObstacle::Full)
    }
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
    /// Whether the kernel keeps the process from signalling others, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scoped: Option<bool>,
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
pub struct HolderExit {
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
    pub ended: TreeEnding,
}

impl HolderExit {
    /// The version that is written.
    pub(crate) const VERSION: u32 = VERSION;
}

/// A version that stands in every file.
#[derive(Deserialize)]
struct VersionedRecord {
    version: u32,
}

/// The folder of one attempt.
#[derive(Clone, Debug)]
pub struct HolderFolder {
    path: PathBuf,
}

impl HolderFolder {
    /// The folder at a path, which need not exist. The path is absolute and without links; what is
    /// reached through a link is refused.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it. No part of its path may be a link.
    pub(crate) fn open(&self) -> Result<coven_folder::OpenFolder, FileError> {
        coven_folder::OpenFolder::open_without_links(&self.path)
    }

    /// Makes it, for us alone to read.
    pub(crate) fn create(&self) -> Result<coven_folder::OpenFolder, FolderError> {
        Ok(coven_folder::OpenFolder::make_without_links(&self.path, PRIVATE_MODE)?)
    }

    /// Whether there is no such folder any more, also because something else has its name. What
    /// cannot be found out counts as no.
    pub(crate) fn is_gone(&self) -> bool {
        let opened = self.open().map_err(|error| error.obstacle);
        matches!(opened, Err(OpenObstacle::Missing | OpenObstacle::NotAFolder | OpenObstacle::Link))
    }

    /// What was started here, if anything was.
    pub fn spawn_record(&self) -> Result<Option<SpawnRecord>, FolderError> {
        self.read(SPAWN)
    }

    pub(crate) fn write_spawn_record(&self, record: &SpawnRecord) -> Result<(), FolderError> {
        let folder = self.open()?;
        let text = text(record).map_err(|source| folder.error("write", SPAWN, source))?;
        Ok(folder.replace(SPAWN, &text, Durability::Synced)?)
    }

    /// Takes the one claim there is to this folder's process, until the file is closed. Nothing if
    /// another process has it: a holder has it from before its process starts until it ends.
    pub(crate) fn claim(&self) -> Result<Option<File>, FolderError> {
        let folder = self.open()?;
        let file = folder.file(CLAIM, OFlags::WRONLY | OFlags::CREATE)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(folder.error("lock", CLAIM, errno.into()).into()),
        }
    }

    /// Takes the room that the record of the start needs once it says who holds what: a process that
    /// runs must not fail because that cannot be written down.
    pub(crate) fn reserve_spawn(&self, record: &SpawnRecord) -> Result<ReservedFile, FolderError> {
        let length = text(record).map_or(0, |text| text.len());
        self.reserve(SPAWN, length + RESERVED_SPAWN_BYTES)
    }

    /// Writes the record of the start into the room that was taken for it.
    pub(crate) fn complete_spawn_record(
        &self,
        record: &SpawnRecord,
        reserved: &ReservedFile,
    ) -> Result<(), FolderError> {
        self.write_reserved(record, reserved)
    }

    /// Forgets that something was to be started. Only for who has the claim.
    pub(crate) fn forget_spawn(&self) -> Result<(), FolderError> {
        Ok(self.open()?.remove(SPAWN)?)
    }

    /// Removes everything that a start has left which came to nothing, so that the folder can be used
    /// for another one. Only when its holder, if it had one, is gone. The record of the start goes
    /// last: without a tape it says that nothing was started.
    pub(crate) fn forget_start(&self) -> Result<(), FolderError> {
        let folder = self.open()?;
        let failed = |error| FolderError::from(folder.error("remove the tape of", SPAWN, error));
        coven_tape::remove(&folder).map_err(failed)?;
        for name in [EXIT, SPAWN] {
            folder.remove(&draft(name))?;
        }
        for name in [SOCKET, SECRET, CLAIM, SPAWN] {
            folder.remove(name)?;
        }
        Ok(())
    }

    /// How it ended, if it did.
    pub fn exit(&self) -> Result<Option<HolderExit>, FolderError> {
        self.read(EXIT)
    }

    /// Takes the room that the record of the end will need.
    pub(crate) fn reserve_exit(&self) -> Result<ReservedFile, FolderError> {
        self.reserve(EXIT, RESERVED_EXIT_BYTES)
    }

    /// Writes how it ended into the room that was taken for it, so that it is there as a whole or not
    /// at all, also after a power cut.
    pub(crate) fn write_exit(
        &self,
        exit: &HolderExit,
        reserved: &ReservedFile,
    ) -> Result<(), FolderError> {
        self.write_reserved(exit, reserved)
    }

    /// Takes the room for a record, in a file created exclusively: the job can write to this folder
    /// and may have planted one.
    fn reserve(&self, name: &'static str, length: usize) -> Result<ReservedFile, FolderError> {
        let folder = self.open()?;
        let draft = draft(name);
        let mut file = folder.create_anew(&draft)?;
        let filled = file.write_all(&vec![b' '; length]);
        filled.map_err(|source| folder.error("write", &draft, source))?;
        Ok(ReservedFile { file, name })
    }

    /// Writes a record into the room that was taken for it, unless the process has put something
    /// else in the place of that file.
    fn write_reserved<T: Serialize>(
        &self,
        record: &T,
        ReservedFile { file, name }: &ReservedFile,
    ) -> Result<(), FolderError> {
        let folder = self.open()?;
        let failed = |source| folder.error("write", name, source);
        let text = text(record).map_err(failed)?;
        let draft = draft(name);
        // A process that puts a folder there would keep the record from ever being written.
        for name in [*name, draft.as_str()] {
            if folder.find(name).is_ok_and(|found| found.is_some()) {
                folder.remove_all(name).map_err(failed)?;
            }
        }
        if !folder.names_file(&draft, file)? {
            return Ok(folder.replace(name, &text, Durability::Synced)?);
        }
        let written = file
            .write_all_at(&text, 0)
            .and_then(|()| file.set_len(text.len() as u64))
            .and_then(|()| file.sync_all());
        written.map_err(failed)?;
        folder.rename(&draft, &folder, name)?;
        Ok(folder.sync()?)
    }

    /// Whether it was told to stop. What was stopped before it started must never start.
    pub fn is_killed(&self) -> bool {
        let found = self.open().and_then(|folder| folder.stat(KILLED));
        matches!(found, Ok(Some(_)))
    }

    /// Says that it must not start any more.
    pub fn mark_killed(&self) -> Result<(), FolderError> {
        let folder = self.create()?;
        match folder.create(KILLED) {
            Ok(file) => {
                Ok(file.sync_all().map_err(|source| folder.error("sync", KILLED, source))?)
            }
            // Whatever has the name says it already, and is not ours to open.
            Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Listens in the folder, for this user alone. For a process with one thread: files that
    /// another thread makes meanwhile would get the same mode.
    pub(crate) fn listen(&self) -> io::Result<UnixListener> {
        let folder = self.open()?;
        // The mode is that of the socket from the start. Changing it afterwards, by its name, would
        // change that of a file which the process has put there meanwhile.
        let before = rustix::process::umask(Mode::from_raw_mode(0o177));
        let listener = machine::bind_socket(&folder, SOCKET);
        rustix::process::umask(before);
        listener
    }

    /// Takes the socket away.
    pub(crate) fn remove_socket(&self) -> Result<(), FolderError> {
        Ok(self.open()?.remove(SOCKET)?)
    }

    /// Keeps the secret of the holder for the next daemon. What was under its name loses it.
    pub(super) fn write_secret(&self, secret: &HolderSecret) -> Result<(), FolderError> {
        let folder = self.open()?;
        let mut file = folder.create_anew(SECRET)?;
        let written = file.write_all(secret.reveal());
        Ok(written.map_err(|source| folder.error("write", SECRET, source))?)
    }

    /// The secret of the holder; nothing for one that was started without.
    pub(super) fn secret(&self) -> Result<Option<HolderSecret>, FolderError> {
        let folder = self.open()?;
        let Some(bytes) = folder.read(SECRET)? else { return Ok(None) };
        let reason = || "it is not as long as a secret".to_owned();
        let damaged = || FolderError::Damaged { path: self.path.join(SECRET), reason: reason() };
        HolderSecret::from_bytes(&bytes).ok_or_else(damaged).map(Some)
    }

    /// Connects to the holder.
    pub(crate) fn connect(&self) -> io::Result<UnixStream> {
        machine::connect_socket(&self.open()?, SOCKET)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, FolderError> {
        let folder = coven_folder::absent_is_none(self.open())?;
        let text = folder.map(|folder| folder.read(name)).transpose()?.flatten();
        let Some(text) = text else { return Ok(None) };
        let path = self.path.join(name);
        let damaged = |error: serde_json::Error| FolderError::Damaged {
            path: path.clone(),
            reason: error.to_string(),
        };
        let VersionedRecord { version } = serde_json::from_slice(&text).map_err(damaged)?;
        if version > VERSION {
            return Err(FolderError::Newer { path, version });
        }
        serde_json::from_slice(&text).map(Some).map_err(damaged)
    }
}

/// The room for a record. The file stays open, so that the record is written into the file that was
/// made for it whatever its name has come to mean.
#[derive(Debug)]
pub(crate) struct ReservedFile {
    file: File,
    /// The name of the record.
    name: &'static str,
}

/// The name of the file that becomes a record.
fn draft(name: &str) -> String {
    format!("{name}.new")
}

/// A record as the text of its file.
fn text<T: Serialize>(record: &T) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(record)?;
    text.push(b'\n');
    Ok(text)
}
