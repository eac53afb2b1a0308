//! Landing and removing: what leaves a tree, and when a tree may go.

use coven_git::Replayed;
use coven_git::mirror::CommittedState;
use coven_model::Timestamp;
use coven_model::event::TreeLanded;
use coven_runtime::processes;
use coven_workflow::input::TreeReport;
use coven_workflow::state::TreeRun;

use super::{TreeError, TreePlace};

/// How many files or processes are named in a sentence.
const MAX_NAMED: usize = 3;

impl TreePlace {
    /// Brings the commits of the tree onto the branch of the run. Where both sides changed the same,
    /// nothing is touched.
    pub(super) fn land(&self, onto: &TreeRun) -> Result<TreeReport, TreeError> {
        let tip = self.tip()?;
        let run = Self { tree: onto.clone(), ..self.clone() };
        let (checkout, current) = (run.checkout()?, run.tip()?);
        let base = self.git.merge_base(&self.repository, &current, &tip)?;
        let base = base
            .ok_or_else(|| TreeError(format!("`{}` has nothing in common with it", onto.branch)))?;
        let message = format!("Merge branch '{}' into {}", self.tree.branch, onto.branch);
        let replayed = self.git.rebase_onto(
            &self.repository,
            &current,
            &base,
            &tip,
            &message,
            &self.allowed,
        )?;
        let landed = match replayed {
            Replayed::Conflict { paths, .. } => {
                let paths = paths.iter().map(|path| path.display().to_string()).collect();
                let (tree, onto) = (self.tree.tree.clone(), onto.branch.clone());
                return Ok(TreeReport::Conflicted { tree, onto, paths });
            }
            Replayed::Done { tip, .. } => tip,
        };
        if landed != current {
            let branch = &onto.branch;
            self.git.fast_forward(&checkout, branch, &current, &landed, &self.allowed)?;
        }
        Ok(TreeReport::Landed(TreeLanded {
            tree: self.tree.tree.clone(),
            onto: onto.branch.clone(),
            commit: landed.to_string(),
            tip: tip.to_string(),
            by: None,
            at: Timestamp::default(),
        }))
    }

    /// The files that are in no commit of the tree's branch.
    pub(super) fn uncommitted(&self) -> Result<Vec<std::path::PathBuf>, TreeError> {
        let (first, _) = self.hold(0)?;
        let (base, tip, mirror) = (self.base()?, self.tip()?, self.mirror()?);
        mirror.take_in(&self.repository, &tip)?;
        let made = CommittedState { checkpoint: &first, commit: &base };
        Ok(mirror.uncommitted(&self.path(), &tip, &[made])?)
    }

    /// Removes the tree and its branch, after a last checkpoint, if nothing in it is nowhere else and
    /// nobody is in it.
    pub(super) fn remove(&self) -> Result<TreeReport, TreeError> {
        let tree = self.tree.tree.clone();
        let tip = self.tip()?;
        if let Some(why) = self.why_kept(tip.as_str())? {
            return Ok(TreeReport::Kept { tree, why });
        }
        self.hold(self.tree.checkpoints.saturating_add(1))?;
        self.git.remove_worktree(&self.repository, &self.path())?;
        self.git.delete_branch(&self.repository, &self.tree.branch, &tip)?;
        Ok(TreeReport::Removed { tree, tip: tip.to_string() })
    }

    fn why_kept(&self, tip: &str) -> Result<Option<String>, TreeError> {
        if tip != self.tree.head {
            return Ok(Some(format!("`{}` has commits that came later", self.tree.branch)));
        }
        let inside = processes::working_below(&self.path())
            .map_err(|error| TreeError(format!("who is in it cannot be told: {error}")))?;
        if !inside.is_empty() {
            let ids: Vec<String> =
                inside.iter().take(MAX_NAMED).map(|process| process.pid.to_string()).collect();
            return Ok(Some(format!("processes work in it: {}", ids.join(", "))));
        }
        let uncommitted = self.uncommitted()?;
        if !uncommitted.is_empty() {
            let named = uncommitted.iter().take(MAX_NAMED);
            let named: Vec<String> = named.map(|path| path.display().to_string()).collect();
            let count = uncommitted.len();
            return Ok(Some(format!(
                "{count} of its files are not committed: {}",
                named.join(", ")
            )));
        }
        Ok(None)
    }
}
