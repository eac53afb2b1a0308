//! Whether what a folder brings along may be used.
//!
//! A repository is not trusted because it was cloned. What counts of its `.coven/` (grimoires,
//! adapters, the policy) has a digest; the user looks at it and agrees to exactly that digest,
//! and any change asks again. It is looked at anew whenever the folder is opened, a session is
//! started in it, or its trust is asked for.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use coven_api::system::{FolderTrust, TrustState};
use coven_folder::read_plain_file;
use coven_store::{FolderOwners, OpenObstacle};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::places::UserFolders;
use crate::private_file;

/// How many files may count. A person would not read more than this before agreeing to it.
const MAX_FILES: usize = 5000;
/// How many bytes may count.
const MAX_BYTES: u64 = 64 << 20;
/// How many folders may be inside one another.
const MAX_DEPTH: usize = 8;
/// The version of `trust.json`.
const VERSION: u32 = 1;

/// What a folder brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustInventory {
    /// The files that count, relative to the folder, sorted.
    pub(crate) files: Vec<String>,
    /// The digest of their names and contents; nothing if there are none.
    pub(crate) digest: Option<String>,
}

impl TrustInventory {
    /// Looks at a folder.
    pub(crate) fn of(base_dir: &Path) -> io::Result<Self> {
        let coven = base_dir.join(".coven");
        let mut found = Vec::new();
        for folder in ["grimoires", "adapters"] {
            walk(&coven.join(folder), MAX_DEPTH, &mut found)?;
        }
        let policy = coven.join("policy.yaml");
        if policy.symlink_metadata().is_ok() {
            found.push(policy);
        }
        found.sort();
        let mut whole = Sha256::new();
        let (mut files, mut bytes) = (Vec::with_capacity(found.len()), 0);
        for path in found {
            let name = path.strip_prefix(base_dir).unwrap_or(&path).to_string_lossy().into_owned();
            let content = content(&path)?;
            bytes += content.len() as u64;
            if bytes > MAX_BYTES {
                return Err(io::Error::other("its `.coven/` has more than 64 MiB that count"));
            }
            // Lengths keep one file's end from being taken for another's beginning.
            for part in [name.as_bytes(), &content] {
                whole.update((part.len() as u64).to_le_bytes());
                whole.update(part);
            }
            files.push(name);
        }
        let digest = (!files.is_empty()).then(|| hex(&whole.finalize()));
        Ok(Self { files, digest })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What can be read of a file counts; of what is no plain file only that it is there.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() && about.len() > MAX_BYTES => {
            Err(io::Error::other("its `.coven/` has more than 64 MiB that count"))
        }
        Ok(about) if about.is_file() => read_plain_file(path, MAX_BYTES),
        Ok(_) | Err(_) => Ok(Vec::new()),
    }
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            if depth == 0 {
                return Err(io::Error::other("its `.coven/` has too many folders in folders"));
            }
            walk(&path, depth - 1, found)?;
            continue;
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("yaml" | "yml" | "json")) {
            found.push(path);
        }
        if found.len() > MAX_FILES {
            return Err(io::Error::other("its `.coven/` has more than 5,000 files that count"));
        }
    }
    Ok(())
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct TrustFile {
    version: u32,
    /// The digest that was agreed to, by folder.
    trusted: BTreeMap<PathBuf, String>,
    /// The other owners that were agreed to, by folder.
    #[serde(default)]
    owners: BTreeMap<PathBuf, FolderOwners>,
}

/// What a person says about a folder.
#[derive(Clone, Debug)]
pub(crate) enum TrustAgreement {
    /// What has this digest may be used.
    Content(String),
    /// The folder may be used though these can write to it too.
    Owners(FolderOwners),
    /// Takes back what was agreed to before.
    Nothing,
}

/// Whether the user agreed to exactly what a folder brings along now, for programs that do not ask
/// the daemon. What cannot be looked at is not trusted.
pub fn is_trusted(places: &UserFolders, base_dir: &Path) -> bool {
    let standing =
        base_dir.canonicalize().and_then(|path| TrustStore::open(places.trust()).standing(&path));
    standing.is_ok_and(|standing| standing.state == TrustState::Trusted)
}

/// What the user agreed to, kept in a file of the state folder.
#[derive(Debug)]
pub(crate) struct TrustStore {
    path: PathBuf,
    agreed: Mutex<TrustFile>,
}

impl TrustStore {
    /// Reads what was agreed to. What cannot be read was not.
    pub(crate) fn open(path: PathBuf) -> Self {
        let file: Option<TrustFile> = read_plain_file(&path, MAX_BYTES)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let agreed = file.filter(|file| file.version == VERSION).unwrap_or_default();
        Self { path, agreed: Mutex::new(agreed) }
    }

    fn agreed(&self) -> MutexGuard<'_, TrustFile> {
        self.agreed.lock()
    }

    /// The other owners of a folder that the user agreed to.
    pub(crate) fn agreed_owners(&self, base_dir: &Path) -> Option<FolderOwners> {
        self.agreed().owners.get(base_dir).cloned()
    }

    /// How a folder stands.
    pub(crate) fn standing(&self, base_dir: &Path) -> io::Result<FolderTrust> {
        let inventory = TrustInventory::of(base_dir)?;
        let owners = owners(base_dir)?;
        let agreed = self.agreed();
        let owned = owners.is_user_alone()
            || agreed.owners.get(base_dir).is_some_and(|agreed| agreed.covers(&owners));
        let state = match (&inventory.digest, agreed.trusted.get(base_dir)) {
            _ if !owned => TrustState::NotOwned,
            (None, _) => TrustState::Nothing,
            (Some(_), None) => TrustState::Untrusted,
            (Some(digest), Some(agreed)) if digest == agreed => TrustState::Trusted,
            (Some(_), Some(_)) => TrustState::Changed,
        };
        Ok(FolderTrust {
            base_dir: base_dir.display().to_string(),
            state,
            digest: inventory.digest,
            files: inventory.files,
            owners: (!owners.is_user_alone()).then(|| owners.to_string()),
        })
    }

    /// Takes note of what a person says about a folder.
    pub(crate) fn set(&self, base_dir: &Path, agreement: TrustAgreement) -> io::Result<()> {
        let mut agreed = self.agreed();
        let mut next = TrustFile { version: VERSION, ..agreed.clone() };
        match agreement {
            TrustAgreement::Content(digest) => _ = next.trusted.insert(base_dir.to_owned(), digest),
            TrustAgreement::Owners(owners) => _ = next.owners.insert(base_dir.to_owned(), owners),
            TrustAgreement::Nothing => {
                next.trusted.remove(base_dir);
                next.owners.remove(base_dir);
            }
        }
        private_file::write(&self.path, &serde_json::to_vec_pretty(&next)?)?;
        *agreed = next;
        Ok(())
    }
}

/// Which other users can write to a folder; none to one that does not exist yet.
fn owners(base_dir: &Path) -> io::Result<FolderOwners> {
    match FolderOwners::of(base_dir) {
        Ok(owners) => Ok(owners),
        Err(error) if error.obstacle == OpenObstacle::Missing => Ok(FolderOwners::default()),
        Err(error) => Err(io::Error::other(error)),
    }
}
