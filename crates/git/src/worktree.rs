//! Work trees: made, listed, found and removed, by the registrations in the common dir and not by
//! what is in the folders.

mod registration;
mod without_files;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) use self::registration::{normal, read_pointer};
use crate::{CommandLine, Commit, Error, Git, ObjectId, Repository, fields, path_of};

/// A work tree that is registered in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    pub path: PathBuf,
    /// `None` for a bare repository, or where nothing was ever checked out.
    pub head: Option<Commit>,
    /// The branch without `refs/heads/`; `None` if the head is detached.
    pub branch: Option<String>,
    /// Why it is locked; `None` if it is not.
    pub locked: Option<String>,
    /// Whether the folder is gone.
    pub missing: bool,
}

/// A work tree that was made, or begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedWorktree {
    /// Its own git dir, `worktrees/<id>` in the common dir. The caller keeps it.
    pub git_dir: PathBuf,
    /// Whether it was there already.
    pub existed: bool,
    /// Whether its files are still to be checked out.
    pub is_empty: bool,
}

/// The reason with which a work tree is locked while it is made, by git and by us.
const INITIALIZING: &str = "initializing";

impl Git {
    /// Makes a work tree with a new branch at `base`. Asked again, it is the same one; what an
    /// interrupted attempt left is finished. A folder with files in it that is no tree of this
    /// branch is an error, and so is a branch that is not at `base`.
    ///
    /// No filter and no hook runs. Two calls for one path must not run at the same time.
    pub fn add_worktree(
        &self,
        repository: &Repository,
        path: &Path,
        branch: &str,
        base: &Commit,
    ) -> Result<AddedWorktree, Error> {
        let added = self.begin_worktree(repository, path, branch, base)?;
        if !added.is_empty {
            return Ok(added);
        }
        self.check_files_out(&repository.in_worktree(path, &added.git_dir))?;
        self.finish_worktree(repository, path)?;
        Ok(AddedWorktree { is_empty: false, ..added })
    }

    /// The first part of [`Git::add_worktree`]: the work tree without its files, locked until
    /// [`Git::finish_worktree`].
    pub fn begin_worktree(
        &self,
        repository: &Repository,
        path: &Path,
        branch: &str,
        base: &Commit,
    ) -> Result<AddedWorktree, Error> {
        crate::branch::check_branch_name(branch)?;
        let registered = self.worktrees(repository)?.into_iter().find(|tree| tree.path == path);
        if let Some(tree) = registered {
            if tree.missing {
                self.forget_missing(repository, &tree)?;
            } else {
                return self.adopt(repository, &tree, branch);
            }
        }
        refuse_files(path)?;
        let line = self.line_in(repository).args(["worktree", "add", "--quiet", "--no-checkout"]);
        let line = line.args(["--lock", "--reason", INITIALIZING]);
        let line = match self.tip(repository, branch)? {
            // Without --no-track, git writes to the configuration and parallel calls fail there.
            None => line.args(["--no-track", "-b", branch]).arg("--").arg(path).arg(base),
            Some(tip) if tip == *base => {
                if let Some(other) = self.worktree_of_branch(repository, branch)? {
                    return Err(Error::BranchInUse { branch: branch.into(), path: other.path });
                }
                line.arg("--").arg(path).arg(branch)
            }
            Some(tip) => return Err(Error::BranchTaken { branch: branch.into(), tip }),
        };
        self.with_lock_retries(|| self.retry_add(repository, path, branch, base, &line))?;
        let git_dir = self.worktree_git_dir(repository, path)?;
        Ok(AddedWorktree { git_dir, existed: false, is_empty: true })
    }

    /// Checks the files of a new work tree out. No filter and no hook runs: what a filter would
    /// change is written as it is committed.
    pub fn check_files_out(&self, tree: &Repository) -> Result<(), Error> {
        let line = reset_files(self.without_programs(tree)?);
        self.with_lock_retries(|| self.read(line.clone())).map(drop)
    }

    /// The last part of [`Git::add_worktree`], once the files are there.
    pub fn finish_worktree(&self, repository: &Repository, path: &Path) -> Result<(), Error> {
        let line = self.line_in(repository).args(["worktree", "unlock", "--"]).arg(path);
        self.with_lock_retries(|| self.read(line.clone())).map(drop)
    }

    /// A call that failed at a lock may have made its branch already.
    fn retry_add(
        &self,
        repository: &Repository,
        path: &Path,
        branch: &str,
        base: &Commit,
        line: &CommandLine,
    ) -> Result<(), Error> {
        let made = line.args.iter().any(|arg| arg == "-b")
            && self.tip(repository, branch)?.as_ref() == Some(base);
        if !made {
            return self.read(line.clone()).map(drop);
        }
        let mut again = line.clone();
        let keep = again.args.iter().position(|arg| arg == "--no-track");
        again.args.truncate(keep.unwrap_or(again.args.len()));
        self.read(again.arg("--").arg(path).arg(branch)).map(drop)
    }

    /// A work tree that is registered at the wanted path: ready, or to be finished.
    fn adopt(
        &self,
        repository: &Repository,
        tree: &Worktree,
        branch: &str,
    ) -> Result<AddedWorktree, Error> {
        if tree.branch.as_deref() != Some(branch) {
            return Err(Error::PathTaken { path: tree.path.clone() });
        }
        let git_dir = self.worktree_git_dir(repository, &tree.path)?;
        let is_empty = tree.locked.as_deref() == Some(INITIALIZING);
        if is_empty {
            // Of a git that was killed while it checked the files out.
            std::fs::remove_file(git_dir.join("index.lock")).ok();
        }
        Ok(AddedWorktree { git_dir, existed: true, is_empty })
    }

    /// Removes the registration of a folder that is gone.
    fn forget_missing(&self, repository: &Repository, tree: &Worktree) -> Result<(), Error> {
        if tree.locked.as_deref() == Some(INITIALIZING) {
            self.finish_worktree(repository, &tree.path)?;
        }
        let line = self.line_in(repository).args(["worktree", "remove", "--"]).arg(&tree.path);
        let removed = self.with_lock_retries(|| self.read(line.clone()));
        removed.map(drop).map_err(|error| error.of_removal(&tree.path))
    }

    /// Has the work trees of a repository that was moved find it again.
    pub fn repair_worktrees(&self, repository: &Repository) -> Result<(), Error> {
        let line = self.line_in(repository).args(["worktree", "repair"]);
        self.with_lock_retries(|| self.read(line.clone())).map(drop)
    }

    /// Every work tree of a repository; the first is the main one.
    pub fn worktrees(&self, repository: &Repository) -> Result<Vec<Worktree>, Error> {
        let line = self.line_in(repository).args(["worktree", "list", "--porcelain", "-z"]);
        let output = self.with_lock_retries(|| self.read(line.clone()))?;
        let mut trees: Vec<Worktree> = Vec::new();
        for field in fields(&output) {
            let mut parts = field.splitn(2, |byte| *byte == b' ');
            let key = parts.next().unwrap_or_default();
            let value = parts.next().unwrap_or_default();
            if key == b"worktree" {
                let path = path_of(value);
                // "prunable" also means a `.git` file that was changed; the folder is there then.
                let missing = std::fs::symlink_metadata(&path).is_err();
                trees.push(Worktree { path, head: None, branch: None, locked: None, missing });
            }
            let Some(tree) = trees.last_mut() else { continue };
            match key {
                b"HEAD" => tree.head = ObjectId::from_bytes(value).filter(|id| !id.is_zero()),
                b"branch" => {
                    let name = String::from_utf8_lossy(value);
                    tree.branch = Some(name.trim_start_matches("refs/heads/").to_owned());
                }
                b"locked" => tree.locked = Some(String::from_utf8_lossy(value).into_owned()),
                _ => {}
            }
        }
        Ok(trees)
    }

    /// The work tree that has a branch checked out.
    pub fn worktree_of_branch(
        &self,
        repository: &Repository,
        branch: &str,
    ) -> Result<Option<Worktree>, Error> {
        let trees = self.worktrees(repository)?;
        Ok(trees.into_iter().find(|tree| tree.branch.as_deref() == Some(branch)))
    }

    /// Removes a work tree, its folder and its registration; its branch stays. git refuses if
    /// anything in it is changed, untracked or locked. Ignored files go: take a checkpoint first.
    pub fn remove_worktree(&self, repository: &Repository, path: &Path) -> Result<(), Error> {
        self.remove(repository, path, &["--"])
    }

    /// The same whatever is changed or untracked in it, for a person who said so by its name. The
    /// caller has a checkpoint of all of it. A locked one is still refused.
    pub fn remove_worktree_with_changes(
        &self,
        repository: &Repository,
        path: &Path,
    ) -> Result<(), Error> {
        self.remove(repository, path, &["--force", "--"])
    }

    fn remove(&self, repository: &Repository, path: &Path, options: &[&str]) -> Result<(), Error> {
        let trees = self.worktrees(repository)?;
        let Some(tree) = trees.iter().skip(1).find(|tree| tree.path == path) else {
            return Err(Error::NotRegistered { path: path.to_owned() });
        };
        if tree.missing {
            return self.forget_missing(repository, tree);
        }
        // git asks for the state by the folder's own `.git`, so it must be what git wrote there.
        let git_dir = self.worktree_git_dir(repository, path)?;
        registration::check_git_file(path, &git_dir)?;
        let inside = repository.in_worktree(path, &git_dir);
        let guarded = self.without_programs(&inside)?;
        let mut line = self.line_in(repository);
        line.env = guarded.env;
        let line = line
            .env("GIT_DIR", &repository.git_dir)
            .env("GIT_WORK_TREE", &repository.root)
            .args(["worktree", "remove"])
            .args(options)
            .arg(path);
        let removed = self.with_lock_retries(|| self.read(line.clone()));
        removed.map(drop).map_err(|error| error.of_removal(path))
    }
}

/// A checkout of everything that the head has.
pub(crate) fn reset_files(line: CommandLine) -> CommandLine {
    line.args(["reset", "--hard", "--quiet", "--no-recurse-submodules"])
}

/// An empty folder is taken, as git does; anything else that exists is not ours.
fn refuse_files(path: &Path) -> Result<(), Error> {
    let taken = || Error::PathTaken { path: path.to_owned() };
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("look at", path, error)),
        Ok(metadata) if !metadata.is_dir() => Err(taken()),
        Ok(_) => {
            let mut entries =
                std::fs::read_dir(path).map_err(|error| Error::io("list", path, error))?;
            if entries.next().is_some() { Err(taken()) } else { Ok(()) }
        }
    }
}

pub(crate) fn trimmed(bytes: &[u8]) -> PathBuf {
    let end = bytes.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
    std::ffi::OsStr::from_bytes(&bytes[..end]).into()
}
