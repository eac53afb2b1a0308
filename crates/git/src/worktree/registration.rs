//! The registration of a work tree: the folder `worktrees/<id>` in the common dir, whose file
//! `gitdir` names the work tree. The `.git` file of the work tree says the same the other way round
//! and can be written by whoever works there, so it is never the one that is asked.

use std::path::{Component, Path, PathBuf};

use super::trimmed;
use crate::{Error, Git, Repository};

/// The longest file that can name a path.
const MAX_POINTER_BYTES: u64 = 16 << 10;

impl Git {
    /// The git dir of a work tree, by the registrations. Callers keep it: it is asked for when the
    /// tree was just made, before anybody works in it.
    pub fn worktree_git_dir(&self, repository: &Repository, path: &Path) -> Result<PathBuf, Error> {
        let all = repository.common_dir.join("worktrees");
        let entries = match std::fs::read_dir(&all) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::NotRegistered { path: path.to_owned() });
            }
            Err(error) => return Err(Error::io("list", all, error)),
        };
        let wanted = path.join(".git");
        let mut found = Vec::new();
        for entry in entries {
            let git_dir = entry.map_err(|error| Error::io("list", &all, error))?.path();
            // A registration that another git is making or removing at the moment has no file yet.
            let Ok(bytes) = read_pointer(&git_dir.join("gitdir")) else { continue };
            // From git 2.48 on, the path may be relative to the registration.
            if normal(&git_dir.join(trimmed(&bytes))) == wanted {
                found.push(git_dir);
            }
        }
        match (found.pop(), found.is_empty()) {
            (Some(git_dir), true) => {
                check_common_dir(repository, path, &git_dir)?;
                Ok(git_dir)
            }
            (None, _) => Err(Error::NotRegistered { path: path.to_owned() }),
            (Some(_), false) => {
                let what = "two registrations name it".to_owned();
                Err(Error::Tampered { path: path.to_owned(), what })
            }
        }
    }
}

/// Whether a registration leads to the repository that it is in: git looks for branches where the file
/// `commondir` says, also if it was told by `GIT_COMMON_DIR` where they are.
fn check_common_dir(repository: &Repository, path: &Path, git_dir: &Path) -> Result<(), Error> {
    let named = read_pointer(&git_dir.join("commondir")).unwrap_or_default();
    let named = normal(&git_dir.join(trimmed(&named)));
    if named == repository.common_dir {
        return Ok(());
    }
    let what = "its commondir leads elsewhere".to_owned();
    Err(Error::Tampered { path: path.to_owned(), what })
}

/// Whether the `.git` file of a work tree is the one that git wrote.
pub(super) fn check_git_file(path: &Path, git_dir: &Path) -> Result<(), Error> {
    let file = path.join(".git");
    let tampered = |what: &str| Error::Tampered { path: path.to_owned(), what: what.to_owned() };
    let is_file = std::fs::symlink_metadata(&file).is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        return Err(tampered("its .git is not a file"));
    }
    let bytes = read_pointer(&file).map_err(|error| Error::io("read", &file, error))?;
    let Some(target) = bytes.strip_prefix(b"gitdir: ") else {
        return Err(tampered("its .git file names no git dir"));
    };
    if normal(&path.join(trimmed(target))) == git_dir {
        Ok(())
    } else {
        Err(tampered("its .git file leads elsewhere"))
    }
}

pub(crate) fn read_pointer(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW).bits() as i32;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_POINTER_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A path without `.` and `..`, by its letters alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
