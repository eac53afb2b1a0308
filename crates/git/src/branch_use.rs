//! Whether a branch is in use in some work tree. git itself says so when it refuses to move one, but
//! `update-ref` does not ask: a branch that is checked out, that a rebase will write when it is done,
//! or that a bisection goes back to.

use std::path::{Path, PathBuf};

use super::worktree::read_pointer;
use crate::{Error, Git, Repository, Worktree};

/// How a branch is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchUse {
    /// It is checked out in a folder that is there.
    CheckedOut(Worktree),
    /// It is checked out in a folder that is not where it was.
    MissingFolder(PathBuf),
    /// It is being rebased in this folder.
    Rebasing(PathBuf),
    /// It is where a bisection in this folder began.
    Bisecting(PathBuf),
}

impl BranchUse {
    /// The folder in which it is in use.
    pub fn path(&self) -> &Path {
        match self {
            Self::CheckedOut(tree) => &tree.path,
            Self::MissingFolder(path) | Self::Rebasing(path) | Self::Bisecting(path) => path,
        }
    }
}

impl Git {
    /// How a branch is in use; nothing if it may be moved.
    pub fn branch_use(
        &self,
        repository: &Repository,
        branch: &str,
    ) -> Result<Option<BranchUse>, Error> {
        let trees = self.worktrees(repository)?;
        let mut missing = None;
        for tree in trees.iter().filter(|tree| tree.branch.as_deref() == Some(branch)) {
            if !tree.missing {
                return Ok(Some(BranchUse::CheckedOut(tree.clone())));
            }
            missing = Some(BranchUse::MissingFolder(tree.path.clone()));
        }
        if missing.is_some() {
            return Ok(missing);
        }
        for (place, tree) in trees.iter().enumerate() {
            // The main work tree has no registration, and the common dir is its git dir.
            let git_dir = match place {
                0 => repository.common_dir.clone(),
                _ => match self.worktree_git_dir(repository, &tree.path) {
                    Ok(git_dir) => git_dir,
                    Err(Error::NotRegistered { .. } | Error::Tampered { .. }) => continue,
                    Err(error) => return Err(error),
                },
            };
            let path = tree.path.clone();
            if is_rebased(&git_dir, branch) {
                return Ok(Some(BranchUse::Rebasing(path)));
            }
            let is_bisected =
                git_dir.join("BISECT_LOG").exists() && names(&git_dir.join("BISECT_START"), branch);
            if is_bisected {
                return Ok(Some(BranchUse::Bisecting(path)));
            }
        }
        Ok(None)
    }
}

/// Whether a rebase will move the branch when it is done, as its own or by `--update-refs`.
fn is_rebased(git_dir: &Path, branch: &str) -> bool {
    let (merge, apply) = (git_dir.join("rebase-merge"), git_dir.join("rebase-apply"));
    // In the same folder `git am` works, which moves what is checked out.
    names(&merge.join("head-name"), branch)
        || (!apply.join("applying").exists() && names(&apply.join("head-name"), branch))
        || names(&merge.join("update-refs"), branch)
}

/// Whether one of the lines of a file is the branch.
fn names(file: &Path, branch: &str) -> bool {
    let Ok(bytes) = read_pointer(file) else { return false };
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let name = |line: &[u8]| line.strip_prefix(b"refs/heads/").unwrap_or(line) == branch.as_bytes();
    lines.into_iter().any(name)
}
