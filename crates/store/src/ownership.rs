//! Whose a base directory is. What lies in a folder of another user, or in one that every user may
//! write to, may have been put there by another user, and nothing is run from it unless the user
//! agreed to that owner.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coven_folder::{FileError, OpenFolder, absent_is_none};
use serde::{Deserialize, Serialize};

use crate::layout::{BaseDirError, COVEN};

/// The bit that lets every user write to a folder.
const WORLD_WRITABLE: u32 = 0o002;

/// Who beside the user can write to a base directory: what a person agrees to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FolderOwners {
    /// The ids of other users who own the folder or its `.coven`.
    pub uids: BTreeSet<u32>,
    /// Whether every user may write to one of them.
    pub world_writable: bool,
}

impl FolderOwners {
    /// Looks at a base directory and its `.coven`, which need not exist.
    pub fn of(path: &Path) -> Result<Self, FileError> {
        let (folder, coven) = folders(path)?;
        let (mut owners, user) = (Self::default(), CurrentUser::current());
        owners.add(&folder, &user)?;
        if let Some(coven) = coven {
            owners.add(&coven, &user)?;
        }
        Ok(owners)
    }

    /// Whether only the user can write there.
    pub fn is_user_alone(&self) -> bool {
        self.uids.is_empty() && !self.world_writable
    }

    /// Whether a person who agreed to these owners thereby agreed to the others.
    pub fn covers(&self, others: &Self) -> bool {
        others.uids.is_subset(&self.uids) && (self.world_writable || !others.world_writable)
    }

    fn add(&mut self, folder: &OpenFolder, user: &CurrentUser) -> Result<(), FileError> {
        let about = folder.metadata()?;
        if !user.owns(about.uid()) {
            self.uids.insert(about.uid());
        }
        self.world_writable |= about.mode() & WORLD_WRITABLE != 0;
        Ok(())
    }
}

/// A folder is not the user's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is not yours alone: {}", path.display(), owners)]
pub struct NotOwned {
    /// The base directory, or its `.coven`.
    pub path: PathBuf,
    /// Who else can write there.
    pub owners: FolderOwners,
}

impl std::fmt::Display for FolderOwners {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut reasons: Vec<String> = Vec::new();
        for uid in &self.uids {
            reasons.push(match user_name(*uid) {
                Some(name) => format!("it belongs to {name} (user id {uid})"),
                None => format!("it belongs to the user with the id {uid}"),
            });
        }
        if self.world_writable {
            reasons.push("it is world-writable".to_owned());
        }
        formatter.write_str(&reasons.join(", and "))
    }
}

/// The name of a user, as `/etc/passwd` has it. Users of other sources have only their id here.
pub fn user_name(uid: u32) -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

/// Who runs this process: the user, and behind root the user who called `sudo`.
struct CurrentUser {
    uid: u32,
    sudo: Option<u32>,
}

impl CurrentUser {
    fn current() -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let sudo = std::env::var("SUDO_UID").ok().and_then(|text| text.parse().ok());
        Self { uid, sudo: sudo.filter(|_| uid == 0) }
    }

    fn owns(&self, uid: u32) -> bool {
        uid == self.uid || Some(uid) == self.sudo
    }
}

/// A base directory, and its `.coven` if it has one.
fn folders(path: &Path) -> Result<(OpenFolder, Option<OpenFolder>), FileError> {
    Ok((OpenFolder::open(path)?, absent_is_none(OpenFolder::open(&path.join(COVEN)))?))
}

/// Refuses a base directory that is not the user's own, or whose `.coven` is not, without making
/// anything in it.
pub fn check_path(path: &Path, agreed: Option<&FolderOwners>) -> Result<(), BaseDirError> {
    let (folder, coven) = folders(path)?;
    check(&folder, coven.as_ref(), agreed)
}

/// Refuses a folder, or one in it, that is neither the user's own nor agreed to.
pub(crate) fn check(
    folder: &OpenFolder,
    inner: Option<&OpenFolder>,
    agreed: Option<&FolderOwners>,
) -> Result<(), BaseDirError> {
    let user = CurrentUser::current();
    for folder in [Some(folder), inner].into_iter().flatten() {
        let mut owners = FolderOwners::default();
        owners.add(folder, &user)?;
        if !owners.is_user_alone() && !agreed.is_some_and(|agreed| agreed.covers(&owners)) {
            return Err(NotOwned { path: folder.path().to_owned(), owners }.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::BaseDir;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_that_every_user_may_write_to_is_refused_before_anything_is_made_in_it() {
        let folder = tempfile::tempdir().unwrap();
        mode(folder.path(), 0o777);
        let refused = BaseDir::create_owned(folder.path(), None).unwrap_err().to_string();
        assert!(refused.ends_with("is not yours alone: it is world-writable"), "{refused}");
        assert!(!folder.path().join(COVEN).exists());
        let agreed = FolderOwners::of(folder.path()).unwrap();
        assert!(BaseDir::create_owned(folder.path(), Some(&agreed)).is_ok());
    }

    #[test]
    fn a_coven_folder_that_every_user_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        BaseDir::create_owned(folder.path(), None).unwrap();
        for name in [".coven", ".coven/sessions"] {
            mode(&folder.path().join(name), 0o777);
            let refused = BaseDir::create_owned(folder.path(), None);
            assert!(matches!(refused, Err(BaseDirError::NotOwned(_))), "{name}");
            mode(&folder.path().join(name), 0o700);
        }
    }

    #[test]
    fn who_agreed_to_one_owner_did_not_agree_to_another() {
        let owners = |uids: &[u32], world_writable| FolderOwners {
            uids: uids.iter().copied().collect(),
            world_writable,
        };
        assert!(owners(&[7], false).covers(&owners(&[7], false)));
        assert!(!owners(&[7], false).covers(&owners(&[8], false)));
        assert!(!owners(&[7], false).covers(&owners(&[7], true)));
        assert!(owners(&[7, 8], true).covers(&owners(&[8], false)));
    }

    #[test]
    fn root_counts_as_the_user_who_called_sudo_and_nobody_else_does() {
        let root = CurrentUser { uid: 0, sudo: Some(1000) };
        assert!(root.owns(0) && root.owns(1000) && !root.owns(1001));
        let user = CurrentUser { uid: 1000, sudo: None };
        assert!(user.owns(1000) && !user.owns(0));
    }
}
