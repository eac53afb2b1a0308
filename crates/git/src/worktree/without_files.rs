//! Work trees whose files come from a checkpoint and not from git.

use std::path::{Path, PathBuf};

use super::refuse_files;
use crate::{Commit, Error, Git, Repository};

impl Git {
    /// Makes a work tree with a new branch at `base` and no files in it, for files that come from a
    /// checkpoint: its index is that of `base`. No filter and no hook runs. What an interrupted attempt
    /// left is finished; otherwise neither the path nor the branch may be there. Gives its git dir.
    pub fn add_worktree_without_files(
        &self,
        repository: &Repository,
        path: &Path,
        branch: &str,
        base: &Commit,
    ) -> Result<PathBuf, Error> {
        crate::branch::check_branch_name(branch)?;
        let registered = self.worktrees(repository)?.into_iter().find(|tree| tree.path == path);
        match registered {
            Some(tree) if tree.branch.as_deref() != Some(branch) => {
                return Err(Error::PathTaken { path: path.to_owned() });
            }
            Some(tree) if !tree.missing => {
                if self.adopt(repository, &tree, branch)?.is_empty {
                    self.finish_worktree(repository, path)?;
                }
            }
            Some(tree) => {
                self.forget_missing(repository, &tree)?;
                self.add_without_files(repository, path, branch, base)?;
            }
            None => self.add_without_files(repository, path, branch, base)?,
        }
        let git_dir = self.worktree_git_dir(repository, path)?;
        if !git_dir.join("index").exists() {
            let inside = repository.in_worktree(path, &git_dir);
            self.read(self.line_in(&inside).arg("read-tree").arg(base))?;
        }
        Ok(git_dir)
    }

    fn add_without_files(
        &self,
        repository: &Repository,
        path: &Path,
        branch: &str,
        base: &Commit,
    ) -> Result<(), Error> {
        refuse_files(path)?;
        let line = self.line_in(repository).args(["worktree", "add", "--quiet", "--no-checkout"]);
        let line = match self.tip(repository, branch)? {
            None => line.args(["--no-track", "-b", branch]).arg("--").arg(path).arg(base),
            // An attempt that was interrupted had made the branch.
            Some(tip) if tip == *base && self.worktree_of_branch(repository, branch)?.is_none() => {
                line.arg("--").arg(path).arg(branch)
            }
            Some(tip) => return Err(Error::BranchTaken { branch: branch.into(), tip }),
        };
        self.with_lock_retries(|| self.read(line.clone())).map(drop)
    }
}
