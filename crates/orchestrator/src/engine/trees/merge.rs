//! Bringing the commits of a tree onto a branch because a person wants it. What conflicts, and what is
//! in the way, is known before anything is touched.

use std::path::PathBuf;
use std::time::Duration;

use coven_git::{BranchUse, Commit, Error, Quarantine, Replayed, Repository};
use coven_model::Timestamp;
use coven_model::event::TreeLanded;
use coven_workflow::state::LandingPhase;

use super::TreePlace;
use crate::trees::{MergeMode, MergeOutcome, MergeReport, MergeRequest, TreeRequestError};

/// How many files are named in a sentence.
const MAX_NAMED: usize = 3;

/// How long a lock of another git is waited for while a person waits. One that a killed git left stays
/// until somebody removes it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// How many commits are compared to tell whether the target has the changes of a tree.
const MAX_COMPARED_COMMITS: usize = 1000;

/// The commits that a merge is about.
struct MergePlan {
    into: String,
    tip: Commit,
    /// Where the branch is.
    current: Commit,
    /// What of the tree's branch is on it already.
    since: Commit,
}

/// What a merge would put on the branch.
struct NewCommits<'a> {
    landed: &'a Commit,
    /// The files that differ.
    paths: Vec<PathBuf>,
    quarantine: &'a Quarantine,
}

impl TreePlace {
    /// Brings what is committed in the tree onto a branch, or says what would happen. With it comes
    /// the fact to record, where something is to be recorded.
    pub(crate) fn merge(
        &self,
        request: &MergeRequest,
        into: &str,
    ) -> Result<(MergeReport, Option<TreeLanded>), TreeRequestError> {
        let git = self.git.clone().with_lock_timeout(LOCK_TIMEOUT);
        let merged = Self { git, ..self.clone() }.merge_or_fail(request, into.to_owned());
        merged.map_err(|error| match error {
            TreeRequestError::Git(error) if error.is_lock_held() => {
                TreeRequestError::NotNow(format!(
                    "another git holds a lock in the repository of `{into}`, and nothing was changed: \
                     {error}"
                ))
            }
            error => error,
        })
    }

    fn merge_or_fail(
        &self,
        request: &MergeRequest,
        into: String,
    ) -> Result<(MergeReport, Option<TreeLanded>), TreeRequestError> {
        if into == self.tree.branch {
            let why = format!("`{into}` is the branch of the tree itself; name another one");
            return Err(TreeRequestError::NotNow(why));
        }
        self.mend_branch()?;
        if let Some(report) = self.merged_and_gone(request, &into)? {
            return Ok((report, None));
        }
        let uncommitted = if self.path().is_dir() { self.uncommitted()? } else { Vec::new() };
        let plan = self.plan_merge(into)?;
        let in_use = self.git.branch_use(&self.repository, &plan.into)?;
        let checkout = self.checkout_of(in_use.as_ref())?;
        let mut report = MergeReport {
            tree: self.tree.tree.clone(),
            branch: self.tree.branch.clone(),
            into: plan.into.clone(),
            mode: request.mode,
            commits: self.git.commits_between(&self.repository, &plan.since, &plan.tip)?.len(),
            uncommitted,
            checkout: checkout.as_ref().map(|checkout| checkout.root.clone()),
            unlanded: Vec::new(),
            outcome: MergeOutcome::UpToDate,
        };
        let quarantine = self.quarantine()?;
        let apart = self.within(&quarantine);
        let landed = match apart.replay(request, &plan)? {
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
        if let Some(why) = in_use.and_then(|used| why_not_moved(&plan.into, &used)) {
            return Err(TreeRequestError::NotNow(why));
        }
        if let Some(checkout) = &checkout
            && let Some(what) = self.git.unfinished(checkout)
        {
            return Err(TreeRequestError::NotNow(format!(
                "`{}` is checked out in {}, where `{what}` is not finished; end it with {}, or merge \
                 into another branch with `--into`",
                plan.into,
                checkout.root.display(),
                what.how_to_end()
            )));
        }
        let paths = apart.git.paths_between(&self.repository, &plan.current, &landed)?;
        report.outcome = match checkout {
            Some(checkout) => {
                let new = NewCommits { landed: &landed, paths, quarantine: &quarantine };
                self.merge_checked_out(request, &plan, &checkout, new)?
            }
            None if request.dry_run => MergeOutcome::WouldLand { paths },
            None => {
                let _kept = quarantine.bring_in(&self.repository, &landed, &plan.current)?;
                self.about_to_land(&plan.tip, &plan.into, &landed)?;
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

    /// What is to be said of a tree whose branch is gone: that everything is on the other branch, or
    /// that there is nothing to merge.
    fn merged_and_gone(
        &self,
        request: &MergeRequest,
        into: &str,
    ) -> Result<Option<MergeReport>, TreeRequestError> {
        if self.git.tip(&self.repository, &self.tree.branch)?.is_some() {
            return Ok(None);
        }
        let is_there = match &self.tree.landing {
            LandingPhase::Landed { onto, tip, .. } => {
                onto == into && *tip == self.tree.head && self.is_landed()?
            }
            _ => self.tree.head == self.tree.base,
        };
        if !is_there {
            let (branch, session) = (&self.tree.branch, &self.session);
            let tree = self.tree.tree.task().map_or("@run", |task| task.as_str());
            return Err(TreeRequestError::NotNow(format!(
                "the branch `{branch}` of the tree is gone; `coven trees restore {session}/{tree}` \
                 brings back what was in it"
            )));
        }
        Ok(Some(MergeReport {
            tree: self.tree.tree.clone(),
            branch: self.tree.branch.clone(),
            into: into.to_owned(),
            mode: request.mode,
            commits: 0,
            uncommitted: Vec::new(),
            checkout: None,
            unlanded: Vec::new(),
            outcome: MergeOutcome::UpToDate,
        }))
    }

    fn plan_merge(&self, into: String) -> Result<MergePlan, TreeRequestError> {
        let branch = &self.tree.branch;
        let no_branch = |branch: &String| TreeRequestError::NoBranch(branch.clone());
        let tip = self.git.tip(&self.repository, branch)?.ok_or_else(|| no_branch(branch))?;
        let current = self.git.tip(&self.repository, &into)?.ok_or_else(|| no_branch(&into))?;
        let since = if let Some(before) = self.recorded_landing(&into, &tip)? {
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
    fn recorded_landing(
        &self,
        into: &str,
        tip: &Commit,
    ) -> Result<Option<Commit>, TreeRequestError> {
        let LandingPhase::Landed { onto, tip: landed, .. } = &self.tree.landing else {
            return Ok(None);
        };
        if onto != into || !self.is_landed()? {
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
        let (git, repository) = (&self.git, &self.repository);
        let is_in = since == tip
            || git.is_ancestor(repository, tip, current)?
            || self.landed_before(tip, into, current)?.is_some()
            || (self.is_quick_to_compare(plan)?
                && git.has_changes(repository, current, since, tip)?);
        if is_in {
            let (tip, commits) = (current.clone(), Vec::new());
            return Ok(Replayed::Done { tip, commits, merged: false });
        }
        let merged = || format!("Merge branch '{}' into {into}", self.tree.branch);
        Ok(match request.mode {
            MergeMode::Merge => {
                let message = request.message.clone().unwrap_or_else(merged);
                git.merge_onto(repository, current, tip, &message)?
            }
            MergeMode::Squash => {
                let squashed = || format!("{}: {}", self.session, self.tree.branch);
                let message = request.message.clone().unwrap_or_else(squashed);
                git.squash_onto(repository, current, since, tip, &message)?
            }
            MergeMode::Rebase => git.rebase_onto(repository, current, since, tip, &merged())?,
        })
    }

    /// Whether it is quickly told if the target has the changes of the tree: git compares them with those
    /// of each commit that the target got meanwhile.
    fn is_quick_to_compare(&self, plan: &MergePlan) -> Result<bool, TreeRequestError> {
        let MergePlan { tip, current, since, .. } = plan;
        if since == current {
            return Ok(false);
        }
        let count = |without, tip| self.git.commits_between(&self.repository, without, tip);
        let commits = count(since, current)?.len() + count(since, tip)?.len();
        Ok(commits <= MAX_COMPARED_COMMITS)
    }

    /// The checkout that has a branch.
    fn checkout_of(
        &self,
        in_use: Option<&BranchUse>,
    ) -> Result<Option<Repository>, TreeRequestError> {
        let Some(BranchUse::CheckedOut(tree)) = in_use else { return Ok(None) };
        Ok(Some(self.git.repository_at(&self.repository, tree)?))
    }

    fn merge_checked_out(
        &self,
        request: &MergeRequest,
        plan: &MergePlan,
        checkout: &Repository,
        new: NewCommits<'_>,
    ) -> Result<MergeOutcome, TreeRequestError> {
        let NewCommits { landed, paths, quarantine } = new;
        let apart = self.within(quarantine);
        let filtered = apart.filtered_between(&plan.current, landed)?;
        if !filtered.is_empty() {
            return Err(TreeRequestError::NotNow(self.why_filtered(&filtered)));
        }
        let changed = self.git.changed_tracked_paths(checkout, &plan.current)?;
        let overlapping = apart.git.in_the_way(checkout, &plan.current, landed, &changed)?;
        if !changed.is_empty() || !overlapping.is_empty() {
            return Ok(MergeOutcome::DirtyCheckout { overlapping, changed: changed.len() });
        }
        if request.dry_run {
            return Ok(MergeOutcome::WouldLand { paths });
        }
        let _kept = quarantine.bring_in(&self.repository, landed, &plan.current)?;
        self.about_to_land(&plan.tip, &plan.into, landed)?;
        self.git.fast_forward(checkout, &plan.into, &plan.current, landed)?;
        Ok(MergeOutcome::Landed { commit: landed.to_string(), paths })
    }

    /// What to do where files go through a filter of the user: it may run what agents wrote, and in
    /// the user's own checkout nothing could confine it.
    fn why_filtered(&self, filtered: &[PathBuf]) -> String {
        let named: Vec<String> =
            filtered.iter().take(MAX_NAMED).map(|path| path.display().to_string()).collect();
        let more = filtered.len().saturating_sub(named.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "a filter of your git configuration is to change {}{more}, and Coven runs no filter on \
             what agents wrote; look at the changes and run `git merge {}` yourself",
            named.join(", "),
            self.tree.branch
        )
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

/// Why a branch that is in use cannot be moved; nothing of one that is checked out, which is moved with
/// its checkout.
fn why_not_moved(branch: &str, used: &BranchUse) -> Option<String> {
    match used {
        BranchUse::CheckedOut(_) => None,
        BranchUse::MissingFolder(path) => Some(format!(
            "`{branch}` is checked out in {}, which is not there; if the folder was moved, run `git \
             worktree repair` in it, and if it was removed, `git worktree prune`",
            path.display()
        )),
        BranchUse::Rebasing(path) => Some(format!(
            "`{branch}` is being rebased in {}; finish that with `git rebase --continue` or `git \
             rebase --abort`, or merge into another branch with `--into`",
            path.display()
        )),
        BranchUse::Bisecting(path) => Some(format!(
            "`{branch}` is being bisected in {}; end that with `git bisect reset`, or merge into \
             another branch with `--into`",
            path.display()
        )),
    }
}
