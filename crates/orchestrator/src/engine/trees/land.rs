//! Landing and removing: what leaves a tree, and when a tree may go.

use std::path::PathBuf;

use coven_git::mirror::CommittedState;
use coven_git::{CommandLine, Commit, KeptPack, Quarantine, Replayed};
use coven_model::Timestamp;
use coven_model::event::TreeLanded;
use coven_runtime::processes;
use coven_workflow::input::TreeReport;
use coven_workflow::state::{LandingPhase, TreeRun};

use super::left_out::{is_answered, notes_of, why_left_out};
use super::{TreeError, TreePlace};

/// How many files or processes are named in a sentence.
const MAX_NAMED: usize = 3;

/// The folder beside the mirror in which the objects of landings are made.
const LANDINGS: &str = "landings";

/// What is left to do for commits to be on the branch of the run.
pub(super) enum Landing {
    Done(TreeReport),
    /// The call that moves the tree of the run forward, because its files go through filters; and
    /// what is to be told once it has.
    Filtered {
        command: CommandLine,
        report: TreeReport,
        /// What lands, until the call has moved the branch.
        kept: KeptPack,
    },
}

impl TreePlace {
    /// The place of another tree of the same run.
    pub(super) fn of_other(&self, tree: TreeRun) -> Self {
        Self { tree, ..self.clone() }
    }

    /// A place for the objects of a landing, which are no part of the repository until all of them are
    /// made: the person's own `git gc` may run meanwhile.
    pub(super) fn quarantine(&self) -> Result<Quarantine, TreeError> {
        let below = self.mirror.with_file_name(LANDINGS);
        Ok(self.git.quarantine(&self.repository, &below)?)
    }

    /// The same tree, with new objects in the quarantine.
    pub(super) fn within(&self, quarantine: &Quarantine) -> Self {
        Self { git: quarantine.git().clone(), ..self.clone() }
    }

    /// Brings the commits of the tree onto the branch of the run. Where both sides changed the same,
    /// nothing is touched.
    pub(super) fn land(&self, run: &Self) -> Result<Landing, TreeError> {
        self.mend_branch()?;
        run.mend_branch()?;
        let (tip, onto) = (self.tip()?, &run.tree);
        let (checkout, current) = (run.checkout()?, run.tip()?);
        let quarantine = self.quarantine()?;
        let apart = self.within(&quarantine);
        let landed = match self.landed_before(&tip, &onto.branch, &current)? {
            Some(landed) => landed,
            None => match apart.replay_onto(&current, &tip, &onto.branch)? {
                Replayed::Done { tip, .. } => tip,
                Replayed::Conflict { paths, .. } => {
                    let paths = paths.iter().map(|path| path.display().to_string()).collect();
                    let (tree, onto) = (self.tree.tree.clone(), onto.branch.clone());
                    return Ok(Landing::Done(TreeReport::Conflicted { tree, onto, paths }));
                }
            },
        };
        let report = TreeReport::Landed(TreeLanded {
            tree: self.tree.tree.clone(),
            onto: onto.branch.clone(),
            commit: landed.to_string(),
            tip: tip.to_string(),
            by: None,
            at: Timestamp::default(),
        });
        let git = &self.git;
        if landed == current || apart.git.is_ancestor(&self.repository, &landed, &current)? {
            return Ok(Landing::Done(report));
        }
        let kept = quarantine.bring_in(&self.repository, &landed, &current)?;
        self.about_to_land(&tip, &onto.branch, &landed)?;
        if self.filtered_between(&current, &landed)?.is_empty() {
            git.fast_forward(&checkout, &onto.branch, &current, &landed)?;
            return Ok(Landing::Done(report));
        }
        git.check_fast_forward(&checkout, &onto.branch, &current)?;
        let command = git.fast_forward_command(&checkout, &landed, &self.allowed)?;
        Ok(Landing::Filtered { command, report, kept })
    }

    /// The files that differ between two commits and go through a filter in one of them.
    pub(super) fn filtered_between(
        &self,
        from: &Commit,
        to: &Commit,
    ) -> Result<Vec<PathBuf>, TreeError> {
        let paths = self.git.paths_between(&self.repository, from, to)?;
        let mut filtered = self.git.filtered_paths(&self.repository, to, Some(&paths))?;
        filtered.extend(self.git.filtered_paths(&self.repository, from, Some(&paths))?);
        filtered.sort();
        filtered.dedup();
        Ok(filtered)
    }

    fn replay_onto(
        &self,
        current: &Commit,
        tip: &Commit,
        onto: &str,
    ) -> Result<Replayed, TreeError> {
        let base = self.git.merge_base(&self.repository, current, tip)?;
        let base =
            base.ok_or_else(|| TreeError(format!("`{onto}` has nothing in common with it")))?;
        let message = format!("Merge branch '{}' into {onto}", self.tree.branch);
        Ok(self.git.rebase_onto(&self.repository, current, &base, tip, &message)?)
    }

    /// The newest commit with what was done in the tree: the tip of its branch, and if that is gone,
    /// what it was landed as, with all that came behind it there.
    pub(crate) fn newest_commit(&self) -> Result<Commit, TreeError> {
        self.mend_branch()?;
        if let Some(tip) = self.git.tip(&self.repository, &self.tree.branch)? {
            return Ok(tip);
        }
        if let LandingPhase::Landed { onto, commit, .. } = &self.tree.landing {
            return match self.git.tip(&self.repository, onto)? {
                Some(tip) => Ok(tip),
                None => Ok(commit.parse()?),
            };
        }
        Ok(self.tree.head.parse()?)
    }

    /// The files that are in no commit of the tree's branch.
    pub(crate) fn uncommitted(&self) -> Result<Vec<PathBuf>, TreeError> {
        let first = self.made_with()?;
        let (base, mirror) = (self.base()?, self.mirror_of_files()?);
        let tip = self.taken_in_tip(&mirror)?;
        let held = self.held(&mirror)?;
        let mut states = vec![CommittedState { checkpoint: &first, commit: &base }];
        // After a commit of ours, what a filter made of a file is known.
        let committed = held.values().rev().filter(|held| held.committed);
        for (held, head) in committed.filter_map(|held| Some((held, held.head.as_ref()?))).take(1) {
            mirror.take_in(&self.repository, head)?;
            states.push(CommittedState { checkpoint: &held.commit, commit: head });
        }
        Ok(mirror.uncommitted(&self.path(), &tip, &states)?)
    }

    /// Removes the tree and its branch, after a last checkpoint, if nothing in it is nowhere else and
    /// nobody is in it.
    pub(super) fn remove(&self) -> Result<TreeReport, TreeError> {
        match self.why_not_removed()? {
            Some(report) => Ok(report),
            None => self.remove_unless_used(),
        }
    }

    /// What is to be told instead of removing the tree: it is gone already, or something came later.
    pub(super) fn why_not_removed(&self) -> Result<Option<TreeReport>, TreeError> {
        let tree = self.tree.tree.clone();
        if let Some(tip) = self.is_gone()? {
            self.give_ports_back();
            return Ok(Some(TreeReport::Removed { tree, tip, notes: Vec::new() }));
        }
        if self.tip()?.as_str() != self.tree.head {
            let why = format!("`{}` has commits that came later", self.tree.branch);
            return Ok(Some(TreeReport::Kept { tree, why }));
        }
        Ok(None)
    }

    /// The tip of its branch, if the tree was removed and that was not told: whoever removed it died
    /// before. A branch that was left is removed.
    fn is_gone(&self) -> Result<Option<String>, TreeError> {
        let path = self.path();
        let is_there = std::fs::symlink_metadata(&path).is_ok();
        if is_there || self.git.worktrees(&self.repository)?.iter().any(|tree| tree.path == path) {
            return Ok(None);
        }
        match self.git.tip(&self.repository, &self.tree.branch)? {
            None => Ok(Some(self.tree.head.clone())),
            Some(tip) if tip.as_str() == self.tree.head => {
                self.git.delete_branch(&self.repository, &self.tree.branch, &tip)?;
                Ok(Some(tip.to_string()))
            }
            Some(_) => Ok(None),
        }
    }

    fn remove_unless_used(&self) -> Result<TreeReport, TreeError> {
        let tree = self.tree.tree.clone();
        let why = match self.why_in_use()? {
            Some(why) => Some(why),
            None => self.why_uncommitted()?,
        };
        let mut left_out = self.left_out()?;
        let why = why.or_else(|| why_left_out(&left_out));
        if let Some(why) = why {
            return Ok(TreeReport::Kept { tree, why });
        }
        let tip = self.tip()?;
        let held = self.hold(self.tree.checkpoints.saturating_add(1), false)?;
        if let Some(why) = self.hold_left_out(&mut left_out, &held)? {
            return Ok(TreeReport::Kept { tree, why });
        }
        match self.git.remove_worktree(&self.repository, &self.path()) {
            Err(error) if is_answered(&error) && self.why_uncommitted()?.is_none() => {
                self.git.remove_worktree_with_changes(&self.repository, &self.path())?;
            }
            removed => removed?,
        }
        self.git.delete_branch(&self.repository, &self.tree.branch, &tip)?;
        self.give_ports_back();
        let mut notes = notes_of(&left_out, false);
        notes.extend(self.notes_of_stashed()?);
        Ok(TreeReport::Removed { tree, tip: tip.to_string(), notes })
    }

    /// Who works in it.
    fn why_in_use(&self) -> Result<Option<String>, TreeError> {
        let inside = processes::working_below(&self.path())
            .map_err(|error| TreeError(format!("who is in it cannot be told: {error}")))?;
        let ids: Vec<String> =
            inside.iter().take(MAX_NAMED).map(|process| process.pid.to_string()).collect();
        Ok((!inside.is_empty()).then(|| format!("processes work in it: {}", ids.join(", "))))
    }

    fn why_uncommitted(&self) -> Result<Option<String>, TreeError> {
        let uncommitted = self.uncommitted()?;
        let named = uncommitted.iter().take(MAX_NAMED);
        let named: Vec<String> = named.map(|path| path.display().to_string()).collect();
        let (count, named) = (uncommitted.len(), named.join(", "));
        Ok((count > 0).then(|| format!("{count} of its files are not committed: {named}")))
    }

    /// Why a tree of a run that is over may not go; nothing if it may. `landings` are the branches
    /// that its commits may be on.
    fn why_not_removable(&self, landings: &[String]) -> Result<Option<String>, TreeError> {
        let branch = &self.tree.branch;
        if !self.path().is_dir() {
            let is_free = !self.git.branch_exists(&self.repository, branch)?
                || self.is_elsewhere(landings)?;
            let why =
                || format!("its folder is gone; what was committed in it is on `{branch}` alone");
            return Ok((!is_free).then(why));
        }
        if let Some(why) = self.why_in_use()? {
            return Ok(Some(why));
        }
        if let Some(why) = self.why_uncommitted()? {
            return Ok(Some(why));
        }
        if self.is_elsewhere(landings)? {
            return Ok(why_left_out(&self.left_out()?));
        }
        Ok(Some(format!("what was done in it is on `{}` alone", self.tree.branch)))
    }

    /// Whether all commits of its branch are on another.
    fn is_elsewhere(&self, landings: &[String]) -> Result<bool, TreeError> {
        let tip = self.tip()?;
        if tip.as_str() == self.tree.base {
            return Ok(true);
        }
        if let LandingPhase::Landed { tip: landed, .. } = &self.tree.landing
            && *landed == tip.as_str()
            && self.is_landed()?
        {
            return Ok(true);
        }
        for branch in landings.iter().filter(|branch| **branch != self.tree.branch) {
            if let Some(onto) = self.git.tip(&self.repository, branch)?
                && self.git.is_ancestor(&self.repository, &tip, &onto)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes a tree of a run that is over, for a person. With `force` whatever is in it, as long as
    /// nobody works there: all of it is in a last checkpoint, and a branch with commits that are
    /// nowhere else stays.
    pub(crate) fn prune(&self, landings: &[String], force: bool) -> Result<TreeReport, TreeError> {
        self.mend_branch()?;
        let tree = self.tree.tree.clone();
        let why = if force { None } else { self.why_not_removable(landings)? };
        if let Some(why) = why {
            return Ok(TreeReport::Kept { tree, why });
        }
        if !self.path().is_dir() {
            return self.forget(landings);
        }
        if !force {
            return self.remove_unless_used();
        }
        if let Some(why) = self.why_in_use()? {
            return Ok(TreeReport::Kept { tree, why });
        }
        let mut left_out = self.left_out()?;
        let held = self.hold(self.tree.checkpoints.saturating_add(1), false)?;
        let unread = self.hold_left_out(&mut left_out, &held)?;
        let mut notes = notes_of(&left_out, true);
        notes.extend(unread);
        notes.extend(self.keep_repositories(&left_out, held.number)?);
        notes.extend(self.notes_of_stashed()?);
        // It may be gone; then what was checked out is in the mirror.
        let tip = self.git.tip(&self.repository, &self.tree.branch)?;
        self.git.remove_worktree_with_changes(&self.repository, &self.path())?;
        if let Some(tip) = &tip
            && self.is_elsewhere(landings)?
        {
            self.git.delete_branch(&self.repository, &self.tree.branch, tip)?;
        }
        self.give_ports_back();
        let tip = tip.map_or_else(|| self.tree.head.clone(), |tip| tip.to_string());
        Ok(TreeReport::Removed { tree, tip, notes })
    }

    /// What [`Self::prune`] would say.
    pub(crate) fn would_prune(
        &self,
        landings: &[String],
        force: bool,
    ) -> Result<TreeReport, TreeError> {
        let (tree, tip) = (self.tree.tree.clone(), self.tree.head.clone());
        let why = if !force {
            self.why_not_removable(landings)?
        } else if self.path().is_dir() {
            self.why_in_use()?
        } else {
            None
        };
        Ok(match why {
            Some(why) => TreeReport::Kept { tree, why },
            None => TreeReport::Removed { tree, tip, notes: self.would_go(force)? },
        })
    }

    /// Removes what git still knows of a tree whose folder is gone.
    fn forget(&self, landings: &[String]) -> Result<TreeReport, TreeError> {
        let (tree, path) = (self.tree.tree.clone(), self.path());
        if self.git.worktrees(&self.repository)?.iter().any(|tree| tree.path == path) {
            self.git.remove_worktree(&self.repository, &path)?;
        }
        let tip = self.git.tip(&self.repository, &self.tree.branch)?;
        if let Some(tip) = &tip
            && self.is_elsewhere(landings)?
        {
            self.git.delete_branch(&self.repository, &self.tree.branch, tip)?;
        }
        let tip = tip.map_or_else(|| self.tree.head.clone(), |tip| tip.to_string());
        self.give_ports_back();
        Ok(TreeReport::Removed { tree, tip, notes: Vec::new() })
    }
}
