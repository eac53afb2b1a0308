//! The files of a new tree, and of the run's tree when something lands on it. The user's filters and
//! their `post-checkout` hook belong to that, and they read what agents wrote and may run it. So where
//! there are any they run in a job under a holder, confined like those agents; git itself is called by
//! us without them.

use std::time::Duration;

use coven_git::CommandLine;
use coven_workflow::input::TreeReport;
use coven_workflow::state::{TreeRun, WorkflowRun};

use super::commit::line;
use super::land::Landing;
use super::turn::RepositoryTurn;
use super::{TreeError, TreeJob, TreePlace};
use crate::state::blocking::blocking;

/// How long the filters or the hook may take.
const CHECK_OUT_TIMEOUT: Duration = Duration::from_mins(10);

/// How far a tree came without programs of the user.
pub(super) enum BegunTree {
    /// It is one that was removed, with what was in it.
    Restored(TreeReport),
    /// It was made before.
    Complete,
    /// Its files are there.
    Filled,
    /// It has no files yet, because they go through filters.
    Filtered,
}

impl TreeJob {
    /// Makes a tree with its files.
    pub(super) async fn make(
        &self,
        run: &WorkflowRun,
        place: &TreePlace,
        turn: &RepositoryTurn,
    ) -> Result<TreeReport, TreeError> {
        let _turn = turn.lock().await?;
        let begun = place.clone();
        let notes = match blocking(move || begun.begin()).await? {
            BegunTree::Restored(report) => return Ok(report),
            BegunTree::Complete => Vec::new(),
            BegunTree::Filled => self.finish_checkout(run, place).await?,
            BegunTree::Filtered => {
                let filled = place.clone();
                let command = blocking(move || {
                    let checkout = filled.checkout()?;
                    Ok::<_, TreeError>(filled.git.check_out_command(&checkout, &filled.allowed)?)
                });
                self.check_out(run, place, &command.await?).await?;
                self.finish_checkout(run, place).await?
            }
        };
        let made = place.clone();
        blocking(move || made.finish(notes)).await
    }

    /// Runs the user's `post-checkout` hook in a tree that has its files. Gives what is to be told.
    async fn finish_checkout(
        &self,
        run: &WorkflowRun,
        place: &TreePlace,
    ) -> Result<Vec<String>, TreeError> {
        let asked = place.clone();
        let hook = blocking(move || {
            let (checkout, base) = (asked.checkout()?, asked.base()?);
            Ok::<_, TreeError>(asked.git.checkout_hook(&checkout, &base, &asked.allowed)?)
        });
        let hook = hook.await?;
        let mut notes = Vec::new();
        if let Some(command) = hook.command
            && let Err(error) = self.check_out(run, place, &command).await
        {
            notes.push(format!("post-checkout failed: {}", error.0));
        }
        if !hook.neutralised.is_empty() {
            let names = [hook.neutralised.keys, hook.neutralised.hooks].concat().join(", ");
            notes.push(format!("changed since the run began, and not run: {names}"));
        }
        let made = place.clone();
        blocking(move || made.git.finish_worktree(&made.repository, &made.path())).await?;
        Ok(notes)
    }

    /// Brings the commits of a tree onto the branch of the run.
    pub(super) async fn land(
        &self,
        run: &WorkflowRun,
        place: &TreePlace,
        onto: TreeRun,
    ) -> Result<TreeReport, TreeError> {
        let (landed, run_tree) = (place.clone(), place.of_other(onto));
        let onto = run_tree.clone();
        match blocking(move || landed.land(&onto)).await? {
            Landing::Done(report) => Ok(report),
            Landing::Filtered { command, report, kept } => {
                self.check_out(run, &run_tree, &command).await?;
                drop(kept);
                Ok(report)
            }
        }
    }

    /// Runs a call in a tree, confined as those are that worked in the trees of the run.
    async fn check_out(
        &self,
        run: &WorkflowRun,
        place: &TreePlace,
        command: &CommandLine,
    ) -> Result<(), TreeError> {
        let tree = run.job_tree(&place.tree.tree);
        let tree = tree.ok_or_else(|| TreeError("it is not known any more".to_owned()))?;
        let writes = place.clone();
        let writes = blocking(move || writes.written_by_commits()).await?;
        let job = self.command(run, tree, "checkout").await?.confined(writes);
        job.run(line(command), CHECK_OUT_TIMEOUT).await
    }
}
