//! Bringing the commits of a tree onto a branch because a person wants it. What conflicts, and what is
//! in the way, is known before anything is touched.

use std::path::PathBuf;

use coven_git::{Commit, Error, Replayed, Repository};
use coven_model::Timestamp;
use coven_model::event::TreeLanded;
use coven_workflow::state::LandingPhase;

use super::TreePlace;
use crate::trees::{MergeMode, MergeOutcome, MergeReport, MergeRequest, TreeRequestError};

/// The commits that a merge is about.
struct MergePlan {
    into: String,
    tip: Commit,
    /// Where the branch is.
    current: Commit,
    /// What of the tree's branch is on it already.
    since: Commit,
}

impl TreePlace {
    /// Brings what is committed in the tree onto a branch, or says what would happen. With it comes
    /// the fact to record, where something is to be recorded.
    pub(crate) fn merge(
        &self,
        request: &MergeRequest,
        into: String,
    ) -> Result<(MergeReport, Option<TreeLanded>), TreeRequestError> {
        if into == self.tree.branch {
            let why = format!("`{into}` is the branch of the tree itself; name another one");
            return Err(TreeRequestError::NotNow(why));
        }
        let uncommitted = if self.path().is_dir() { self.uncommitted()? } else { Vec::new() };
        let plan = self.plan_merge(into)?;
        let checkout = self.checkout_of(&plan.into)?;
        let mut report = MergeReport {
            tree: self.tree.tree.clone(),
            branch: self.tree.branch.clone(),
            into: plan.into.clone(),
            mode: request.mode,
            commits: self.git.commits_between(&self.repository, &plan.since, &plan.tip)?.len(),
            uncommitted,
            checkout: checkout.as_ref().map(|checkout| checkout.root.clone()),
            outcome: MergeOutcome::UpToDate,
        };
        let landed = match self.replay(request, &plan)? {
            Replayed::Conflict { paths, messages, .. } => {
                report.outcome = MergeOutcome::Conflict { paths, messages };
                return Ok((report, None));
            }
            Replayed::Done { tip, .. } => tip,
        };
        let fact = TreeLanded {
            tree: self.tree.tree.clone(),
            onto: plan.into.clone(),
            commit: landed.to_string(),
            tip: plan.tip.to_string(),
            by: Some(request.by.clone()),
            at: Timestamp::default(),
        };
        if landed == plan.current {
            report.commits = 0;
            // What another hand brought there, or a merge that was not recorded in time.
            let is_new = plan.tip.as_str() != self.tree.base && !request.dry_run;
            return Ok((report, is_new.then_some(fact)));
        }
        let paths = self.git.paths_between(&self.repository, &plan.current, &landed)?;
        report.outcome = match checkout {
            Some(checkout) => self.merge_checked_out(request, &plan, &checkout, &landed, paths)?,
            None if request.dry_run => MergeOutcome::WouldLand { paths },
            None => {
                let (reference, why) = (format!("refs/heads/{}", plan.into), self.reflog(request));
                self.git.update_reference(
                    &self.repository,
                    &reference,
                    &landed,
                    Some(&plan.current),
                    &why,
                )?;
                MergeOutcome::Landed { commit: landed.to_string(), paths }
            }
        };
        let is_done = matches!(report.outcome, MergeOutcome::Landed { .. });
        Ok((report, is_done.then_some(fact)))
    }

    fn plan_merge(&self, into: String) -> Result<MergePlan, TreeRequestError> {
        let branch = &self.tree.branch;
        let no_branch = |branch: &String| TreeRequestError::NoBranch(branch.clone());
        let tip = self.git.tip(&self.repository, branch)?.ok_or_else(|| no_branch(branch))?;
        let current = self.git.tip(&self.repository, &into)?.ok_or_else(|| no_branch(&into))?;
        let since = if let Some(before) = self.landed_before(&into, &tip)? {
            before
        } else {
            let parted = self.git.merge_base(&self.repository, &current, &tip)?;
            parted.ok_or_else(|| {
                let why = format!("`{branch}` and `{into}` have no commit in common");
                TreeRequestError::NotNow(why)
            })?
        };
        Ok(MergePlan { into, tip, current, since })
    }

    /// What of the tree's branch was brought onto this one before. After a squash or a rebase git
    /// cannot tell.
    fn landed_before(&self, into: &str, tip: &Commit) -> Result<Option<Commit>, TreeRequestError> {
        let LandingPhase::Landed { onto, tip: landed, .. } = &self.tree.landing else {
            return Ok(None);
        };
        if onto != into {
            return Ok(None);
        }
        let landed: Commit = landed.parse()?;
        // A branch that was rewritten since has other commits with the same changes, or not.
        let is_below = match self.git.is_ancestor(&self.repository, &landed, tip) {
            Ok(is_below) => is_below,
            Err(Error::Failed { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        Ok(is_below.then_some(landed))
    }

    fn replay(
        &self,
        request: &MergeRequest,
        plan: &MergePlan,
    ) -> Result<Replayed, TreeRequestError> {
        let MergePlan { into, tip, current, since } = plan;
        let (git, repository, allowed) = (&self.git, &self.repository, &self.allowed);
        let is_in = since == tip || git.is_ancestor(repository, tip, current)?;
        if is_in {
            let (tip, commits) = (current.clone(), Vec::new());
            return Ok(Replayed::Done { tip, commits, merged: false });
        }
        let merged = || format!("Merge branch '{}' into {into}", self.tree.branch);
        Ok(match request.mode {
            MergeMode::Merge => {
                let message = request.message.clone().unwrap_or_else(merged);
                git.merge_onto(repository, current, tip, &message, allowed)?
            }
            MergeMode::Squash => {
                let squashed = || format!("{}: {}", self.session, self.tree.branch);
                let message = request.message.clone().unwrap_or_else(squashed);
                git.squash_onto(repository, current, since, tip, &message, allowed)?
            }
            MergeMode::Rebase => {
                git.rebase_onto(repository, current, since, tip, &merged(), allowed)?
            }
        })
    }

    /// The checkout that has a branch. One whose folder is gone has no files that could differ.
    fn checkout_of(&self, branch: &str) -> Result<Option<Repository>, TreeRequestError> {
        let found = self.git.worktree_of_branch(&self.repository, branch)?;
        let found = found.filter(|tree| !tree.missing);
        let found = found.map(|tree| self.git.repository_at(&self.repository, &tree));
        Ok(found.transpose()?)
    }

    fn merge_checked_out(
        &self,
        request: &MergeRequest,
        plan: &MergePlan,
        checkout: &Repository,
        landed: &Commit,
        paths: Vec<PathBuf>,
    ) -> Result<MergeOutcome, TreeRequestError> {
        let changed = self.git.changed_tracked_paths(checkout, &self.allowed)?;
        let overlapping = self.git.in_the_way(checkout, &plan.current, landed, &changed)?;
        if !changed.is_empty() || !overlapping.is_empty() {
            return Ok(MergeOutcome::DirtyCheckout { overlapping, changed: changed.len() });
        }
        if request.dry_run {
            return Ok(MergeOutcome::WouldLand { paths });
        }
        self.git.fast_forward(checkout, &plan.into, &plan.current, landed, &self.allowed)?;
        Ok(MergeOutcome::Landed { commit: landed.to_string(), paths })
    }

    fn reflog(&self, request: &MergeRequest) -> String {
        let how = match request.mode {
            MergeMode::Merge => "merge",
            MergeMode::Squash => "squash",
            MergeMode::Rebase => "rebase",
        };
        format!("coven: {how} {}", self.tree.branch)
    }
}
