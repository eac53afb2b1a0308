//! One lock per base directory, with a note that says who holds it.
//!
//! The lock is the system's (`flock` on `.coven/lock`) and goes with the process, however that
//! ends. The note in the file is for people: it may be left from a process that was killed.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use coven_folder::{FileError, OpenFolder, OpenObstacle, best_effort, same_file};
use coven_model::Timestamp;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::layout::BaseDir;
use crate::machine::{boot_id, start_of};

pub(crate) const LOCK_FILE: &str = "lock";

/// How often the file may be replaced between opening and locking it. More is no accident.
const MAX_LOCK_TRIES: usize = 10;

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockHolder {
    /// The version of this note.
    pub version: u32,
    pub pid: i32,
    /// When it started, in a unit of the system's own: tells it from a later process with the same
    /// id.
    pub start: u64,
    /// The start of the system in which this happened.
    pub boot_id: String,
    /// The program and its version.
    pub program: String,
    pub since: Timestamp,
    /// Where it can be reached, if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

impl LockHolder {
    /// A note about this process.
    pub fn this_process(program: &str, since: Timestamp, socket: Option<PathBuf>) -> Self {
        let pid = std::process::id() as i32;
        let (start, boot_id) = (start_of(pid).unwrap_or(0), boot_id());
        Self { version: 1, pid, start, boot_id, program: program.to_owned(), since, socket }
    }

    /// Whether this very process still runs. A note of one that does not is left over.
    pub fn is_alive(&self) -> bool {
        self.boot_id == boot_id() && start_of(self.pid) == Some(self.start)
    }
}

/// A base directory cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("{} is in use by {}", path.display(), described(holder.as_deref()))]
    Held {
        path: PathBuf,
        /// Who, if the note can be read.
        holder: Option<Box<LockHolder>>,
    },
    /// Something cannot be reached.
    #[error(transparent)]
    File(#[from] FileError),
}

fn described(holder: Option<&LockHolder>) -> String {
    match holder {
        Some(holder) => format!(
            "{} (process {}); use it through that one, or stop it first",
            holder.program, holder.pid
        ),
        None => "another process that left no note; see who has its `.coven/lock` open".to_owned(),
    }
}

/// A lock that is held. Dropping it lets it go.
#[derive(Debug)]
pub struct Lock {
    coven: OpenFolder,
    path: PathBuf,
    file: File,
}

/// What became of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStanding {
    Held,
    /// Its file was deleted or replaced, so that another process could take one as well. Nothing
    /// more may be written; [`Lock::take`] it again first.
    Lost,
}

impl Lock {
    /// Takes the lock of a base directory, or tells who holds it. Never waits.
    pub fn take(base: &BaseDir, holder: &LockHolder) -> Result<Self, LockError> {
        // The folder may have been deleted since it was opened.
        let coven = BaseDir::create(base.path())?.coven().clone();
        for _ in 0..MAX_LOCK_TRIES {
            let opened = coven.file(LOCK_FILE, OFlags::RDWR | OFlags::CREATE);
            let (mut file, is_ours_to_write) = match opened {
                Ok(file) => (file, true),
                Err(error) if error.obstacle == OpenObstacle::HardLink => {
                    (coven.file(LOCK_FILE, OFlags::RDONLY)?, false)
                }
                Err(error) => return Err(error.into()),
            };
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    let holder = read(&mut file).map(Box::new);
                    return Err(LockError::Held { path: base.path().to_path_buf(), holder });
                }
                Err(errno) => return Err(coven.error("lock", LOCK_FILE, errno.into()).into()),
            }
            if !is_ours_to_write {
                // The note would be written into a file that has a name elsewhere. No process holds
                // the lock, so it can be made anew.
                coven.remove(LOCK_FILE)?;
                continue;
            }
            let mut lock = Self { path: coven.path().join(LOCK_FILE), coven: coven.clone(), file };
            // The file may have been replaced after it was opened. A lock on the old one keeps no
            // other process out.
            if lock.standing()? == LockStanding::Held {
                lock.note(holder).map_err(|source| coven.error("write", LOCK_FILE, source))?;
                return Ok(lock);
            }
        }
        Err(coven.error("lock", LOCK_FILE, io::ErrorKind::ResourceBusy.into()).into())
    }

    /// Who holds the lock of a base directory, as far as the note tells. Does not try to take it.
    pub fn holder(base: &BaseDir) -> Result<Option<LockHolder>, FileError> {
        let note = base.coven().read(LOCK_FILE)?;
        let holder: Option<LockHolder> = note.and_then(|note| serde_json::from_slice(&note).ok());
        Ok(holder.filter(LockHolder::is_alive))
    }

    /// Whether the file that is locked is still the one that others would lock.
    pub fn standing(&self) -> Result<LockStanding, FileError> {
        let failed = |errno: Errno| self.coven.error("look at", LOCK_FILE, errno.into());
        let ours = rustix::fs::fstat(&self.file).map_err(failed)?;
        match rustix::fs::lstat(&self.path) {
            Ok(there) if same_file(&ours, &there) => Ok(LockStanding::Held),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(LockStanding::Lost),
            Err(errno) => Err(failed(errno)),
        }
    }

    fn note(&mut self, holder: &LockHolder) -> io::Result<()> {
        let mut note = serde_json::to_vec_pretty(holder)?;
        note.push(b'\n');
        self.file.rewind()?;
        // In one write and then cut, so that a reader rarely sees half of it.
        self.file.write_all(&note)?;
        self.file.set_len(note.len() as u64)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file stays, because deleting it would let two processes lock two files. The note
        // goes; if that fails it is a stale note, which is harmless.
        best_effort("clear the note in the lock file", self.file.set_len(0));
        // Closing the file would not do: a process that is just being started has it open too.
        let unlocked = rustix::fs::flock(&self.file, FlockOperation::Unlock);
        best_effort("unlock the base directory", unlocked);
    }
}

fn read(file: &mut File) -> Option<LockHolder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
