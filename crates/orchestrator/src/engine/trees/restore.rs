//! Bringing a checkpoint back: into a tree of its own, never over anything.

use std::path::PathBuf;

use coven_git::mirror::{CommittedState, RestoreRequest, Restored};
use coven_git::{Commit, Mirror};
use coven_model::event::TreeWanted;
use coven_model::{TaskId, Timestamp, TreeId, TreeSource};
use coven_workflow::input::TreeReport;
use coven_workflow::state::WorkflowRun;

use super::{TreeError, TreePlace};
use crate::trees::TreeRequestError;

/// How many files that could not be brought back are named.
const MAX_NAMED_FAILURES: usize = 20;

impl TreePlace {
    /// The tree that a checkpoint of this one is brought back into: what is asked for.
    pub(crate) fn wanted_for(
        &self,
        run: &WorkflowRun,
        number: Option<u32>,
        by: &str,
    ) -> Result<TreeWanted, TreeRequestError> {
        self.mend_branch()?;
        if number.is_none() {
            // What was landed in it, or written since, is in no checkpoint yet.
            if self.is_there() {
                self.keep_before()?;
            } else {
                self.hold_newest(&self.checkpoints()?)?;
            }
        }
        let held = self.checkpoints()?;
        let tree = self.tree.tree.clone();
        let (checkpoint, kept) = if let Some(number) = number {
            let unknown = || TreeRequestError::NoCheckpoint { tree: tree.clone(), number };
            held.get(&number).map(|kept| (number, kept)).ok_or_else(unknown)?
        } else {
            let (number, kept) =
                held.iter().next_back().ok_or(TreeRequestError::NothingHeld(tree.clone()))?;
            (*number, kept)
        };
        let base = self.base_for(kept.head.as_ref())?;
        let of = match &tree {
            TreeId::Run => "run".to_owned(),
            TreeId::Task(task) => task.to_string(),
        };
        let repository = run.identity.repository.as_deref();
        let repository = repository.ok_or_else(|| TreeRequestError::NoTree(tree.clone()))?;
        for count in 1..u32::MAX {
            // No tree that a plan asks for ends like this.
            let name = format!("{of}.restored{count}");
            let id = TaskId::new(name.as_str()).map_err(|error| TreeError(error.to_string()))?;
            let id = TreeId::Task(id);
            let branch = format!("{}.{name}", repository.branches);
            let path = format!("{}/{name}", repository.trees);
            // Where upper and lower case are the same, this would be the same folder.
            let is_same = |path: &str, other: &str| path.to_lowercase() == other.to_lowercase();
            let is_taken = run.trees().any(|tree| is_same(&tree.path, &path))
                || self.git.branch_exists(&self.repository, &branch)?
                || std::fs::symlink_metadata(&path).is_ok();
            if !is_taken {
                let (old, by) = (self.tree.base.clone(), by.to_owned());
                let restores = Some(Box::new(TreeSource { tree, base: old, checkpoint, by }));
                let at = Timestamp::default();
                let base = base.to_string();
                return Ok(TreeWanted { tree: id, base, branch, path, restores, at });
            }
        }
        Err(TreeError("there are too many trees like this".to_owned()).into())
    }

    /// The commit that a checkpoint is brought back on: that of its branch. What nothing leads to any
    /// more may be gone from the repository; then it comes from the mirror. If that has it neither, the
    /// tree begins where its own or its session did, and the files show all that was done.
    fn base_for(&self, tip: Option<&Commit>) -> Result<Commit, TreeError> {
        let mirror = self.mirror()?;
        let (base, session) = (self.base()?, self.record.head.parse().ok());
        let mut gone = None;
        for commit in tip.cloned().into_iter().chain([base]).chain(session) {
            match mirror.give_back(&self.repository, &commit) {
                // It is only looked whether it can be: it is given back once more when a branch is
                // made for it.
                Ok(_) => return Ok(commit),
                Err(error) => gone = gone.or(Some(error)),
            }
        }
        let target = self.record.branch.as_ref();
        let target = target.and_then(|name| self.git.tip(&self.repository, name).ok().flatten());
        let why = gone.map_or_else(String::new, |error| error.to_string());
        target.ok_or_else(|| TreeError(format!("no commit that it was made from is there: {why}")))
    }

    /// Makes a tree with the files of a checkpoint. What an interrupted attempt left is finished.
    pub(super) fn bring_back(&self, source: &TreeSource) -> Result<TreeReport, TreeError> {
        let (path, base) = (self.path(), self.base()?);
        let mirror = self.mirror()?;
        let checkpoint = mirror.commit_of(&self.reference_of(&source.tree, source.checkpoint))?;
        let gone = || TreeError(format!("its checkpoint {} is gone", source.checkpoint));
        let checkpoint = checkpoint.ok_or_else(gone)?;
        let _kept = mirror.give_back(&self.repository, &base)?;
        mirror.take_in(&self.repository, &base)?;
        self.keep_made_with(&mirror, source, &base)?;
        let branch = &self.tree.branch;
        self.git.add_worktree_without_files(&self.repository, &path, branch, &base)?;
        let restored = self.write_files(&mirror, source, &checkpoint)?;
        let failed = restored.failed.into_iter().take(MAX_NAMED_FAILURES);
        let notes = failed.map(|(path, why)| format!("{}: {why}", path.display())).collect();
        self.ready(restored.written.len() + restored.kept.len(), notes)
    }

    /// How many files of the checkpoint are in a tree that was made for it, and what could not be
    /// brought back.
    pub(crate) fn restored(&self) -> Result<(usize, Vec<(PathBuf, String)>), TreeError> {
        let Some(source) = &self.tree.restores else { return Ok((0, Vec::new())) };
        let mirror = self.mirror()?;
        let checkpoint = mirror.commit_of(&self.reference_of(&source.tree, source.checkpoint))?;
        let Some(checkpoint) = checkpoint else { return Ok((0, Vec::new())) };
        // All of it is there by now, so that this writes only what could not be written before.
        let restored = self.write_files(&mirror, source, &checkpoint)?;
        Ok((restored.written.len() + restored.kept.len(), restored.failed))
    }

    /// Writes the files of a checkpoint, and of what was left out by it.
    fn write_files(
        &self,
        mirror: &Mirror,
        source: &TreeSource,
        checkpoint: &Commit,
    ) -> Result<Restored, TreeError> {
        let path = self.path();
        let request =
            |checkpoint| RestoreRequest { checkpoint, into: &path, only: None, overwrite: false };
        let mut restored = mirror.restore(&request(checkpoint))?;
        let left_out = self.left_out_reference(&source.tree, source.checkpoint);
        if let Some(left_out) = mirror.commit_of(&left_out)? {
            let also = mirror.restore(&request(&left_out))?;
            restored.written.extend(also.written);
            restored.kept.extend(also.kept);
            restored.failed.extend(also.failed);
        }
        let repositories = self.repositories_folder(&source.tree, source.checkpoint);
        if repositories.is_dir() {
            let why = "holds the git repositories that were in the tree".to_owned();
            restored.failed.push((repositories, why));
        }
        Ok(restored)
    }

    /// What the new tree counts as made with: the files of its base, as they are checked out.
    fn keep_made_with(
        &self,
        mirror: &Mirror,
        source: &TreeSource,
        base: &Commit,
    ) -> Result<(), TreeError> {
        if mirror.commit_of(&self.reference(0))?.is_some() {
            return Ok(());
        }
        let first = mirror.commit_of(&self.reference_of(&source.tree, 0))?;
        let made = match first {
            Some(first) => {
                let old = source.base.parse()?;
                mirror.take_in(&self.repository, &old)?;
                let state = CommittedState { checkpoint: &first, commit: &old };
                mirror.as_checked_out(base, &state)?
            }
            None => base.clone(),
        };
        Ok(mirror.keep_as(&self.reference(0), &made)?)
    }
}
