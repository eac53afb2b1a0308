//! Whether what a folder brings along may be used.
//!
//! A repository is not trusted because it was cloned. What it brings along (grimoires, adapters and
//! everything beside them, the policy) has a digest; the user looks at it and agrees to exactly that
//! digest. Then it is copied into the state folder, and only the copy is ever used: what is in the
//! folder can be changed by any job that may edit it. Any change asks again. It is looked at anew
//! whenever the folder is opened, a session is started in it, or its trust is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_api::ApiProblem;
use coven_api::system::{FolderTrust, TrustState};
use coven_folder::read_plain_file;
use coven_notation::TrustedFiles;
use coven_orchestrator::ProjectTrust;
use coven_store::{FolderOwners, OpenObstacle};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use crate::folder;
use crate::places::UserFolders;
use crate::private_file;
use crate::trust_changes;
use crate::trust_copy::TrustCopies;
use crate::trust_inventory::{MAX_BYTES, TrustInventory};

/// The version of `trust.json`. In version 1 there were no copies, so what was agreed to then is
/// asked about again.
const VERSION: u32 = 2;

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
    /// This may be used.
    Content(TrustInventory),
    /// The folder has nothing any more that could be used.
    NoContent,
    /// The folder may be used though these can write to it too.
    Owners(FolderOwners),
    /// Takes back what was agreed to before.
    Nothing,
}

/// What the user agreed to of a folder, for programs that do not ask the daemon. What cannot be
/// looked at is not trusted.
pub fn project_trust(places: &UserFolders, base_dir: &Path) -> ProjectTrust {
    let store = TrustStore::open(places);
    let look = || {
        let path = base_dir.canonicalize()?;
        let standing = store.standing(&path, false)?;
        Ok::<_, io::Error>(store.project(&path, &standing))
    };
    look().unwrap_or_default()
}

/// Why nothing may be run in a folder, for programs that do not ask the daemon: it is not the user's
/// alone, or cannot be used. Reads the disk.
pub fn folder_problem(places: &UserFolders, base_dir: &Path) -> Option<ApiProblem> {
    let path = match folder::canonical(base_dir) {
        Ok(path) => path,
        Err(error) => return Some(error.problem()),
    };
    let agreed = TrustStore::open(places).agreed_owners(&path);
    folder::check_owners(&path, agreed.as_ref()).err().map(|error| error.problem())
}

/// What the user agreed to, kept in the state folder.
#[derive(Debug)]
pub(crate) struct TrustStore {
    path: PathBuf,
    copies: TrustCopies,
    agreed: Mutex<TrustFile>,
    /// The copies that are in use, by folder, with their digest.
    read: Mutex<BTreeMap<PathBuf, (String, Arc<TrustedFiles>)>>,
}

impl TrustStore {
    /// Reads what was agreed to. What cannot be read was not.
    pub(crate) fn open(places: &UserFolders) -> Self {
        let path = places.trust();
        let file: Option<TrustFile> = read_plain_file(&path, MAX_BYTES)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let agreed = match file {
            Some(file) if file.version == VERSION => file,
            Some(file) if file.version < VERSION => {
                TrustFile { owners: file.owners, ..TrustFile::default() }
            }
            _ => TrustFile::default(),
        };
        let copies = TrustCopies::new(places.trusted());
        Self { path, copies, agreed: Mutex::new(agreed), read: Mutex::default() }
    }

    fn agreed(&self) -> MutexGuard<'_, TrustFile> {
        self.agreed.lock()
    }

    /// The other owners of a folder that the user agreed to.
    pub(crate) fn agreed_owners(&self, base_dir: &Path) -> Option<FolderOwners> {
        self.agreed().owners.get(base_dir).cloned()
    }

    /// How a folder stands; with the contents of its files, or their difference to what was agreed
    /// to, if they are wanted.
    pub(crate) fn standing(&self, base_dir: &Path, contents: bool) -> io::Result<FolderTrust> {
        let inventory = TrustInventory::of(base_dir)?;
        let owners = owners(base_dir)?;
        let agreed = self.agreed_digest(base_dir);
        let owned = owners.is_user_alone()
            || self.agreed_owners(base_dir).is_some_and(|agreed| agreed.covers(&owners));
        let state = match (&inventory.digest, &agreed) {
            _ if !owned => TrustState::NotOwned,
            (None, None) => TrustState::Nothing,
            (Some(_), None) => TrustState::Untrusted,
            (Some(digest), Some(agreed)) if digest == agreed => TrustState::Trusted,
            (_, Some(_)) => TrustState::Changed,
        };
        let changes = contents.then(|| {
            let before = agreed.and_then(|digest| self.copies.inventory(&digest, base_dir).ok());
            trust_changes::changes(before.as_ref(), &inventory)
        });
        Ok(FolderTrust {
            base_dir: base_dir.display().to_string(),
            state,
            files: inventory.names(),
            uncovered: inventory.uncovered,
            digest: inventory.digest,
            owners: (!owners.is_user_alone()).then(|| owners.to_string()),
            changes,
        })
    }

    fn agreed_digest(&self, base_dir: &Path) -> Option<String> {
        self.agreed().trusted.get(base_dir).cloned()
    }

    /// What may be used of a folder that stands like this.
    pub(crate) fn project(&self, base_dir: &Path, standing: &FolderTrust) -> ProjectTrust {
        if standing.state == TrustState::NotOwned {
            return ProjectTrust::default();
        }
        let files = self.files(base_dir);
        let unchanged = standing.state == TrustState::Trusted && files.is_some();
        ProjectTrust { files, unchanged }
    }

    /// The files that the user agreed to.
    fn files(&self, base_dir: &Path) -> Option<Arc<TrustedFiles>> {
        let digest = self.agreed_digest(base_dir)?;
        let known = self.read.lock().get(base_dir).cloned();
        if let Some((_, files)) = known.filter(|(known, _)| *known == digest) {
            return Some(files);
        }
        match self.copies.read(&digest, base_dir) {
            Ok(files) => {
                self.read.lock().insert(base_dir.to_owned(), (digest, files.clone()));
                Some(files)
            }
            Err(error) => {
                tracing::warn!("{} is not used: {error}", base_dir.display());
                None
            }
        }
    }

    /// Takes note of what a person says about a folder.
    pub(crate) fn set(&self, base_dir: &Path, agreement: TrustAgreement) -> io::Result<()> {
        if let TrustAgreement::Content(inventory) = &agreement {
            self.copies.keep(inventory, base_dir)?;
        }
        let mut agreed = self.agreed();
        let mut next = TrustFile { version: VERSION, ..agreed.clone() };
        match agreement {
            TrustAgreement::Content(TrustInventory { digest: Some(digest), .. }) => {
                next.trusted.insert(base_dir.to_owned(), digest);
            }
            TrustAgreement::Content(_) | TrustAgreement::NoContent => {
                next.trusted.remove(base_dir);
            }
            TrustAgreement::Owners(owners) => _ = next.owners.insert(base_dir.to_owned(), owners),
            TrustAgreement::Nothing => {
                next.trusted.remove(base_dir);
                next.owners.remove(base_dir);
            }
        }
        private_file::write(&self.path, &serde_json::to_vec_pretty(&next)?)?;
        *agreed = next;
        self.copies
            .remove_unused(&agreed.trusted.values().map(String::as_str).collect::<BTreeSet<_>>());
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
