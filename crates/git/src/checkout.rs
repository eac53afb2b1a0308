//! A checkout that somebody works in: whether it has changes, and moving its branch forward.

use std::path::{Path, PathBuf};

use crate::executable_config::Hooks;
use crate::{Commit, Error, ExecutableConfig, Git, Neutralised, Repository, Worktree};

/// What became of a checkout that was to be moved forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastForward {
    pub neutralised: Neutralised,
}

impl Git {
    /// The repository as seen from one of its work trees.
    pub fn repository_at(
        &self,
        repository: &Repository,
        worktree: &Worktree,
    ) -> Result<Repository, Error> {
        if worktree.path == repository.root {
            return Ok(repository.clone());
        }
        match self.worktree_git_dir(repository, &worktree.path) {
            Ok(git_dir) => Ok(repository.in_worktree(&worktree.path, &git_dir)),
            // The main work tree has no registration of its own.
            Err(Error::NotRegistered { .. })
                if self.worktrees(repository)?.first().is_some_and(|main| main == worktree) =>
            {
                Ok(repository.in_worktree(&worktree.path, &repository.common_dir))
            }
            Err(error) => Err(error),
        }
    }

    /// The paths of a checkout that differ from its head, untracked ones included. A folder that has
    /// only untracked files is one path.
    pub fn dirty_paths(
        &self,
        checkout: &Repository,
        allowed: &ExecutableConfig,
    ) -> Result<Vec<PathBuf>, Error> {
        self.changed_paths(checkout, allowed)
    }

    /// Which of `paths` have changes in a checkout.
    pub fn dirty_among(
        &self,
        checkout: &Repository,
        paths: &[PathBuf],
        allowed: &ExecutableConfig,
    ) -> Result<Vec<PathBuf>, Error> {
        let dirty = self.changed_paths(checkout, allowed)?;
        let touched = |path: &Path| {
            dirty.iter().any(|dirty| path.starts_with(dirty) || dirty.starts_with(path))
        };
        Ok(paths.iter().filter(|path| touched(path)).cloned().collect())
    }

    /// The tracked paths of a checkout that have changes, staged ones included.
    pub fn changed_tracked_paths(
        &self,
        checkout: &Repository,
        allowed: &ExecutableConfig,
    ) -> Result<Vec<PathBuf>, Error> {
        let (line, _) = self.guarded(checkout, allowed, Hooks::Off)?;
        let line = line.args(["status", "--porcelain=v1", "-z", "--untracked-files=no"]);
        let status = self.read(line.args(["--no-renames", "--ignore-submodules=dirty"]))?;
        Ok(crate::fields(&status).filter_map(|field| field.get(3..).map(crate::path_of)).collect())
    }

    /// What in a checkout at `from` keeps it from being moved forward to `to`: changed tracked files
    /// among those that differ, and files that are no part of `from` where `to` has one.
    pub fn in_the_way(
        &self,
        checkout: &Repository,
        from: &Commit,
        to: &Commit,
        changed: &[PathBuf],
    ) -> Result<Vec<PathBuf>, Error> {
        let differ = self.paths_between(checkout, from, to)?;
        let new = self.diff_names(checkout, from, to, &["--diff-filter=A"])?;
        let is_there = |path: &PathBuf| {
            new.contains(path) && std::fs::symlink_metadata(checkout.root.join(path)).is_ok()
        };
        let touched = |path: &PathBuf| {
            changed.iter().any(|other| path.starts_with(other) || other.starts_with(path))
        };
        Ok(differ.into_iter().filter(|path| touched(path) || is_there(path)).collect())
    }

    /// The paths whose files differ between two commits. A renamed file is two.
    pub fn paths_between(
        &self,
        repository: &Repository,
        from: &Commit,
        to: &Commit,
    ) -> Result<Vec<PathBuf>, Error> {
        self.diff_names(repository, from, to, &[])
    }

    fn diff_names(
        &self,
        repository: &Repository,
        from: &Commit,
        to: &Commit,
        options: &[&str],
    ) -> Result<Vec<PathBuf>, Error> {
        let line = self.line_in(repository).args(["diff-tree", "-r", "-z", "--name-only"]);
        let line = line.args(["--no-renames", "--no-ext-diff", "--no-textconv"]).args(options);
        let output = self.read(line.arg(from).arg(to))?;
        Ok(crate::fields(&output).map(crate::path_of).collect())
    }

    /// The commits that `tip` has and `without` has not, oldest first.
    pub fn commits_between(
        &self,
        repository: &Repository,
        without: &Commit,
        tip: &Commit,
    ) -> Result<Vec<Commit>, Error> {
        let line = self.line_in(repository).args(["rev-list", "--reverse", "--topo-order"]);
        let output = self.read(line.arg(tip).arg(format!("^{without}")))?;
        String::from_utf8_lossy(&output).lines().map(str::parse).collect()
    }

    /// Moves a checkout and its branch forward to `to`. The checkout must be on `branch`, be at
    /// `from`, and have no change in a tracked file; git itself refuses to write over an untracked
    /// one. No hook runs; the user's filters do, as far as `allowed` has them.
    pub fn fast_forward(
        &self,
        checkout: &Repository,
        branch: &str,
        from: &Commit,
        to: &Commit,
        allowed: &ExecutableConfig,
    ) -> Result<FastForward, Error> {
        let reference = format!("refs/heads/{branch}");
        let head = self.line_in(checkout).args(["symbolic-ref", "-q", "HEAD"]);
        let head = self.answer(head)?.map(|name| String::from_utf8_lossy(&name).trim().to_owned());
        let moved = |words: String| Error::Moved { reference: reference.clone(), words };
        if head.as_deref() != Some(reference.as_str()) {
            return Err(moved(format!("{} is on another branch", checkout.root.display())));
        }
        if self.tip(checkout, branch)?.as_ref() != Some(from) {
            return Err(moved(format!("it is not at {from}")));
        }
        let (line, neutralised) = self.guarded(checkout, allowed, Hooks::Off)?;
        let paths = self.changed_tracked_paths(checkout, allowed)?;
        if !paths.is_empty() {
            return Err(Error::Dirty { root: checkout.root.clone(), paths });
        }
        // Neither another git in a submodule, nor one that tidies up behind our back.
        let line = line.config([("submodule.recurse", "false"), ("maintenance.auto", "false")]);
        let line = line.config([("gc.auto", "0")]);
        let line = line.args(["merge", "--ff-only", "--quiet", "--no-autostash"]);
        // An ignored file is somebody's too, such as `.env`.
        let line = line.args(["--no-overwrite-ignore", "--no-verify-signatures", "--no-stat"]);
        let line = line.arg(to);
        self.with_lock_retries(|| self.read(line.clone()))?;
        Ok(FastForward { neutralised })
    }
}
