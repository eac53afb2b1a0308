//! The sessions that this user made, registered in the state folder, where what works in a base
//! directory cannot write.
//!
//! A session folder says nothing about who made it: a cloned repository can bring one along, and
//! an agent can write one. So a session is the user's own only if it was registered here before
//! its folder was made, for the directory it lies in and with the key of this user. Every other
//! session is *foreign*: it is listed and can be read, and it is never opened for writing.
//!
//! # On disk
//!
//! ```text
//! <state>/bases/<key>/registered.jsonl   a register, see `register`
//! ```
//!
//! The key is made of the path of the base directory, its inode and the time when that was made,
//! so a copy of the directory, or another that takes its place, has another registry. The device is
//! compared too, within one start of the system: some file systems get another number with each.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use coven_folder::FileError;
use coven_model::{ContentDigest, SessionId};
use serde::{Deserialize, Serialize};

use crate::layout::BaseDir;
use crate::machine::boot_id;
use crate::register::{DurableWhen, Register, RegisterError};
use crate::seal::PublicKey;

const REGISTRY_FILE: &str = "registered.jsonl";

/// The folder of all registries in the state folder.
const BASES: &str = "bases";

/// How many characters of a digest name a base directory.
const KEY_LENGTH: usize = 32;

/// A directory, as the registry knows it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegisteredDirectory {
    /// The canonical path. The key tells paths apart that are not text.
    path: String,
    device: u64,
    inode: u64,
    /// The start of the system in which the device had this number.
    boot_id: String,
}

impl RegisteredDirectory {
    /// The directory of a base directory, and the key of its registry.
    fn of(base: &BaseDir) -> Result<(Self, String), FileError> {
        let about = base.folder().metadata()?;
        let made = about.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        // Not every file system knows when a directory was made.
        let made = made.map_or(0, |made| made.as_nanos());
        let path = base.path().as_os_str().as_bytes();
        let named = [path, b"\0", format!("{} {made}", about.ino()).as_bytes()].concat();
        let key = ContentDigest::of_bytes(&named).as_str()[..KEY_LENGTH].to_owned();
        let (device, inode) = (about.dev(), about.ino());
        let path = base.path().to_string_lossy().into_owned();
        Ok((Self { path, device, inode, boot_id: boot_id() }, key))
    }

    /// Whether this is the directory that was registered.
    fn is(&self, registered: &Self) -> bool {
        self.path == registered.path
            && self.inode == registered.inode
            && (self.device == registered.device || self.boot_id != registered.boot_id)
    }
}

/// One line of the file. The last one about a session counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "line")]
enum RegistryLine {
    /// Which directory this is about.
    Directory(RegisteredDirectory),
    /// A session was made here, and whether there is still something to do for it.
    Session {
        id: SessionId,
        live: bool,
        /// Its journal has seals. One that was registered before journals had them is foreign.
        #[serde(default)]
        sealed: bool,
        /// The public half of the key that seals it. The first lines had none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// A session is gone.
    Removed { id: SessionId },
}

/// A session that was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RegisteredSession {
    /// Whether there is still something to do for it.
    live: bool,
    key: Option<String>,
}

impl RegisteredSession {
    /// Whether this key seals it. One that is sealed with another is foreign.
    fn is_sealed_by(&self, key: &PublicKey) -> bool {
        self.key.as_ref().is_none_or(|own| *own == key.to_string())
    }

    fn line(&self, id: &SessionId) -> RegistryLine {
        let Self { live, key } = self.clone();
        RegistryLine::Session { id: id.clone(), live, sealed: true, key }
    }
}

/// What the lines say together.
#[derive(Clone, Debug, Default)]
struct RegistryContent {
    directory: Option<RegisteredDirectory>,
    sessions: BTreeMap<SessionId, RegisteredSession>,
}

impl RegistryContent {
    fn of(lines: Vec<RegistryLine>) -> Self {
        let mut known = Self::default();
        for line in lines {
            known.take(line);
        }
        known
    }

    fn take(&mut self, line: RegistryLine) {
        match line {
            RegistryLine::Directory(directory) => self.directory = Some(directory),
            RegistryLine::Session { id, live, sealed: true, key } => {
                self.sessions.insert(id, RegisteredSession { live, key });
            }
            RegistryLine::Session { sealed: false, .. } => {}
            RegistryLine::Removed { id } => _ = self.sessions.remove(&id),
        }
    }

    /// As few lines as say the same.
    fn lines(&self) -> Vec<RegistryLine> {
        let directory = self.directory.iter().cloned().map(RegistryLine::Directory);
        directory.chain(self.sessions.iter().map(|(id, session)| session.line(id))).collect()
    }

    /// Nothing of another directory counts.
    fn only_of(self, directory: &RegisteredDirectory) -> Self {
        match &self.directory {
            Some(registered) if directory.is(registered) => self,
            _ => Self::default(),
        }
    }

    fn contains(&self, id: &SessionId, key: &PublicKey) -> bool {
        self.sessions.get(id).is_some_and(|session| session.is_sealed_by(key))
    }
}

/// The registry of one base directory. Its one writer is the process that holds the directory's
/// lock.
#[derive(Debug)]
pub struct Registry {
    folder: PathBuf,
    register: Register,
    known: RegistryContent,
    key: PublicKey,
    /// Sessions whose folders were deleted while no process had this open.
    gone: Vec<SessionId>,
}

impl Registry {
    /// Opens the registry of a base directory, and writes down that there is one. The user's own
    /// sessions are those that are sealed with `key`. One whose folder was deleted is forgotten,
    /// unless `runs` says that a job of it still runs.
    pub fn open(
        state_dir: &Path,
        base: &BaseDir,
        key: PublicKey,
        runs: impl Fn(&SessionId) -> bool,
    ) -> Result<Self, RegisterError> {
        let (directory, name) = RegisteredDirectory::of(base)?;
        let folder = state_dir.join(BASES).join(name);
        let (register, lines) = Register::open(&folder, REGISTRY_FILE)?;
        let mut known = RegistryContent::of(lines).only_of(&directory);
        // The folder of a session may have been deleted while no daemon ran.
        let is_gone = |id: &SessionId| !base.session_path(id).exists() && !runs(id);
        let gone: Vec<SessionId> =
            known.sessions.keys().filter(|id| is_gone(id)).cloned().collect();
        known.sessions.retain(|id, _| !gone.contains(id));
        let mut registry = Self { folder, register, known, key, gone };
        if registry.known.directory.as_ref() != Some(&directory) {
            registry.add(RegistryLine::Directory(directory), DurableWhen::Now)?;
        }
        Ok(registry)
    }

    /// Where more is kept about this base directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The sessions whose folders were deleted before this was opened. Nothing of them is needed.
    pub fn take_gone(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.gone)
    }

    /// Registers a session that is about to be made. On the disk when this returns.
    pub fn register(&mut self, id: &SessionId) -> Result<(), RegisterError> {
        let session = RegisteredSession { live: true, key: Some(self.key.to_string()) };
        self.add(session.line(id), DurableWhen::Now)
    }

    /// Says whether there is still something to do for a session. After a power cut it may be
    /// forgotten that there is not; that there is, is synced.
    pub fn set_live(&mut self, id: &SessionId, live: bool) -> Result<(), RegisterError> {
        match self.known.sessions.get(id) {
            Some(known) if known.live != live => {
                let when = if live { DurableWhen::Now } else { DurableWhen::Later };
                let session = RegisteredSession { live, ..known.clone() };
                self.add(session.line(id), when)
            }
            _ => Ok(()),
        }
    }

    /// Whether there may still be something to do for a session.
    pub fn is_live(&self, id: &SessionId) -> bool {
        self.known.sessions.get(id).is_some_and(|session| session.live)
    }

    /// Forgets a session that was removed.
    pub fn remove(&mut self, id: &SessionId) -> Result<(), RegisterError> {
        if !self.is_registered(id) {
            return Ok(());
        }
        self.add(RegistryLine::Removed { id: id.clone() }, DurableWhen::Now)
    }

    /// Whether this user made the session in this directory, with the key there is.
    pub fn contains(&self, id: &SessionId) -> bool {
        self.known.contains(id, &self.key)
    }

    /// The same, with this key or another.
    pub fn is_registered(&self, id: &SessionId) -> bool {
        self.known.sessions.contains_key(id)
    }

    /// Writes a line down, then believes it.
    fn add(&mut self, line: RegistryLine, when: DurableWhen) -> Result<(), RegisterError> {
        self.register.add_one(&line, when, || self.known.lines())?;
        self.known.take(line);
        Ok(())
    }
}

/// The sessions that are registered for a base directory, read without changing anything.
#[derive(Clone, Debug, Default)]
pub struct Registered {
    folder: PathBuf,
    known: RegistryContent,
}

impl Registered {
    /// Reads the registry of a base directory.
    pub fn read(state_dir: &Path, base: &BaseDir) -> Result<Self, FileError> {
        let (directory, name) = RegisteredDirectory::of(base)?;
        let folder = state_dir.join(BASES).join(name);
        let lines = Register::read(&folder, REGISTRY_FILE)?;
        Ok(Self { folder, known: RegistryContent::of(lines).only_of(&directory) })
    }

    /// Where more is kept about this base directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether this user made the session in this directory, with this key.
    pub fn contains(&self, id: &SessionId, key: &PublicKey) -> bool {
        self.known.contains(id, key)
    }

    /// Whether there is still something to do for one of the sessions.
    pub fn has_live(&self) -> bool {
        self.known.sessions.values().any(|session| session.live)
    }
}

/// A base directory of which the state folder has a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredBase {
    /// The base directory, as it was registered.
    pub path: PathBuf,
    pub sessions: Vec<SessionId>,
}

/// All base directories that the state folder has a registry of, in no order. Whether a directory
/// is still the one that was registered is not looked at.
pub fn registered_bases(state_dir: &Path) -> io::Result<Vec<RegisteredBase>> {
    let entries = match fs::read_dir(state_dir.join(BASES)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut bases = Vec::new();
    for entry in entries {
        // One that cannot be read hides no other.
        let Ok(lines) = Register::read(&entry?.path(), REGISTRY_FILE) else { continue };
        let RegistryContent { directory: Some(directory), sessions } = RegistryContent::of(lines)
        else {
            continue;
        };
        bases.push(RegisteredBase {
            path: directory.path.into(),
            sessions: sessions.into_keys().collect(),
        });
    }
    Ok(bases)
}
