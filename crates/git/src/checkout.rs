//! A checkout that somebody works in: whether it has changes, and moving its branch forward.

use std::path::{Path, PathBuf};

use crate::{CommandLine, Commit, Error, Git, Repository, Worktree};

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
    pub fn dirty_paths(&self, checkout: &Repository) -> Result<Vec<PathBuf>, Error> {
        self.changed_paths(checkout)
    }

    /// Which of `paths` have changes in a checkout.
    pub fn dirty_among(
        &self,
        checkout: &Repository,
        paths: &[PathBuf],
    ) -> Result<Vec<PathBuf>, Error> {
        let dirty = self.changed_paths(checkout)?;
        let touched = |path: &Path| {
            dirty.iter().any(|dirty| path.starts_with(dirty) || dirty.starts_with(path))
        };
        Ok(paths.iter().filter(|path| touched(path)).cloned().collect())
    }

    /// The tracked paths of a checkout at `head` that have changes, staged ones included. Of a file
    /// that a filter changed when it was checked out nothing can be said without running the filter,
    /// so it is not among them.
    pub fn changed_tracked_paths(
        &self,
        checkout: &Repository,
        head: &Commit,
    ) -> Result<Vec<PathBuf>, Error> {
        let line = self.without_programs(checkout)?;
        let line = line.args(["status", "--porcelain=v1", "-z", "--untracked-files=no"]);
        let status = self.read(line.args(["--no-renames", "--ignore-submodules=dirty"]))?;
        let entries = crate::fields(&status).filter_map(|field| field.split_at_checked(3));
        let entries: Vec<(&[u8], PathBuf)> =
            entries.map(|(status, path)| (status, crate::path_of(path))).collect();
        let is_written = |status: &[u8]| status == b" M ";
        let written: Vec<PathBuf> = entries
            .iter()
            .filter(|(status, _)| is_written(status))
            .map(|(_, path)| path.clone())
            .collect();
        let filtered = self.filtered_paths(checkout, head, Some(&written))?;
        let is_known =
            |(status, path): &(&[u8], PathBuf)| !(is_written(status) && filtered.contains(path));
        Ok(entries.into_iter().filter(is_known).map(|(_, path)| path).collect())
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

    /// Whether a checkout may be moved forward from `from`: an error unless it is on `branch`, is at
    /// `from`, and has no change in a tracked file.
    pub fn check_fast_forward(
        &self,
        checkout: &Repository,
        branch: &str,
        from: &Commit,
    ) -> Result<(), Error> {
        let moved =
            |words: String| Error::Moved { reference: format!("refs/heads/{branch}"), words };
        if self.head_branch(checkout)?.as_deref() != Some(branch) {
            return Err(moved(format!("{} is on another branch", checkout.root.display())));
        }
        if self.tip(checkout, branch)?.as_ref() != Some(from) {
            return Err(moved(format!("it is not at {from}")));
        }
        if let Some(what) = self.unfinished(checkout) {
            return Err(Error::Unfinished { root: checkout.root.clone(), what });
        }
        let paths = self.changed_tracked_paths(checkout, from)?;
        if !paths.is_empty() {
            return Err(Error::Dirty { root: checkout.root.clone(), paths });
        }
        Ok(())
    }

    /// Moves a checkout and its branch forward to `to`, if that may be ([`Git::check_fast_forward`]);
    /// git itself refuses to write over an untracked file. No hook and no filter runs: what a filter
    /// would change is written as it is committed.
    pub fn fast_forward(
        &self,
        checkout: &Repository,
        branch: &str,
        from: &Commit,
        to: &Commit,
    ) -> Result<(), Error> {
        self.check_fast_forward(checkout, branch, from)?;
        let line = merge_forward(self.without_programs(checkout)?, to);
        self.with_lock_retries(|| {
            check_locks(checkout, branch)?;
            let moved = self.read(line.clone());
            if moved.is_err() {
                self.put_files_back(checkout, branch, from, to)?;
            }
            moved
        })
        .map(drop)
    }

    /// git writes the files before it locks the branch. If another git had locked that meanwhile, the
    /// files are those of `to` and the branch is where it was: then they are put back.
    fn put_files_back(
        &self,
        checkout: &Repository,
        branch: &str,
        from: &Commit,
        to: &Commit,
    ) -> Result<(), Error> {
        if self.tip(checkout, branch)?.as_ref() != Some(from) {
            return Ok(());
        }
        let staged = self.line_in(checkout).args(["diff-index", "--cached", "--quiet"]);
        if self.answer(staged.arg(to).arg("--"))?.is_none() {
            return Ok(());
        }
        let line = self.without_programs(checkout)?.args(["read-tree", "-m", "-u"]);
        self.read(line.arg(to).arg(from)).map(drop)
    }
}

/// Fails as git would if another git holds a lock that moving the branch needs. git itself looks only
/// once it has written the files.
fn check_locks(checkout: &Repository, branch: &str) -> Result<(), Error> {
    let locks = [
        checkout.git_dir.join("index.lock"),
        checkout.git_dir.join("HEAD.lock"),
        checkout.common_dir.join(format!("refs/heads/{branch}.lock")),
    ];
    match locks.iter().find(|lock| std::fs::symlink_metadata(lock).is_ok()) {
        None => Ok(()),
        Some(lock) => Err(Error::Failed {
            verb: "merge".to_owned(),
            code: None,
            words: format!("Unable to create '{}': File exists", lock.display()),
        }),
    }
}

/// A merge that only moves forward.
pub(crate) fn merge_forward(line: CommandLine, to: &Commit) -> CommandLine {
    // Neither another git in a submodule, nor one that tidies up behind our back.
    let line = line.config([("submodule.recurse", "false"), ("maintenance.auto", "false")]);
    let line = line.config([("gc.auto", "0")]);
    let line = line.args(["merge", "--ff-only", "--quiet", "--no-autostash"]);
    // An ignored file is somebody's too, such as `.env`.
    let line = line.args(["--no-overwrite-ignore", "--no-verify-signatures", "--no-stat"]);
    line.arg(to)
}
