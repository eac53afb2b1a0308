//! What people want of trees: to see them, to compare, merge, bring back and remove them.

use std::path::PathBuf;

use coven_model::{AgentState, SessionId, TaskId, TreeId};
use coven_workflow::SessionInput;
use coven_workflow::command::TreeOrder;
use coven_workflow::input::TreeReport;
use coven_workflow::state::{LandingPhase, RunPhase, TreePhase, TreeRun, WorkflowRun};

use super::Orchestrator;
use super::session_trees::{FoundTree, SessionTrees};
use crate::engine::Runner;
use crate::engine::trees::{TreeError, TreeRemoval, sessions_with_trees, turn_of};
use crate::error::RequestError;
use crate::snapshot::SessionSnapshot;
use crate::state::blocking::blocking;
use crate::trees::{
    MergeReport, MergeRequest, PruneRequest, PrunedTree, RestoreRequest, RestoredTree, TreeEntry,
    TreeRequestError,
};

impl Orchestrator {
    /// The trees of all sessions of the base directory that are the user's own, those of the newest
    /// session first. A session that cannot be read is left out.
    pub async fn all_trees(&self, sizes: bool) -> Vec<TreeEntry> {
        let mut all = Vec::new();
        for id in self.sessions_with_trees().await {
            all.extend(self.session_trees(&id).await);
        }
        SessionTrees::list_all(all, sizes).await
    }

    /// Those that have trees or had some, newest first, without reading the journals of all others.
    async fn sessions_with_trees(&self) -> Vec<SessionId> {
        let state_dir = self.state_dir();
        let known = blocking(move || sessions_with_trees(&state_dir)).await;
        let has_trees = |id: &SessionId| {
            let live = self.controller(id).map(|controller| controller.snapshot());
            let live = live.and_then(|live| live.state().run().map(|run| run.trees().count() > 0));
            live.unwrap_or_else(|| known.contains(id.as_str()))
        };
        let ids = self.list().into_iter().map(|entry| entry.id);
        ids.filter(|id| self.shared.manager.is_own(id) && has_trees(id)).collect()
    }

    fn state_dir(&self) -> PathBuf {
        self.shared.options.state_dir.clone()
    }

    /// The trees of a session that is live or over, if the user made it. What a foreign one says about
    /// a repository leads nowhere.
    pub async fn session_trees(&self, id: &SessionId) -> Result<SessionTrees, RequestError> {
        let snapshot = self.snapshot(id).await?;
        if !self.shared.manager.is_own(id) {
            return Err(RequestError::Foreign(id.clone()));
        }
        let (manager, id) = (self.shared.manager.clone(), id.clone());
        Ok(SessionTrees::new(snapshot, self.state_dir(), move || manager.look(&id)))
    }

    pub(super) async fn tree(
        &self,
        id: &SessionId,
        tree: &TreeId,
    ) -> Result<FoundTree, TreeRequestError> {
        self.session_trees(id).await?.find(tree)
    }

    /// Brings what was done in a tree onto a branch, or says what would happen. What is uncommitted is
    /// committed first, as the user would; the checkout that has the branch is only moved forward, by
    /// git, and only if nothing is changed in it. Asked again, it brings what is new.
    pub async fn merge(
        &self,
        id: &SessionId,
        request: MergeRequest,
    ) -> Result<MergeReport, TreeRequestError> {
        let found = self.tree(id, &request.tree).await?;
        let into = request.into.clone().or_else(|| found.target());
        let into = into.ok_or(TreeRequestError::NoTarget)?;
        if let Some(why) = found.why_not_mergeable(&into) {
            return Err(TreeRequestError::NotNow(why));
        }
        if !request.dry_run {
            self.commit_tree(id, &found).await?;
        }
        // With what was just recorded.
        let found = self.tree(id, &request.tree).await?;
        let turn = turn_of(&found.record.common_dir);
        let _turn = turn.lock().await?;
        let unlanded = if request.tree == TreeId::Run { found.unlanded() } else { Vec::new() };
        let (report, fact) = blocking(move || found.place.merge(&request, &into)).await?;
        if let Some(fact) = fact {
            self.tell_of_tree(id, TreeReport::Landed(fact)).await?;
        }
        Ok(MergeReport { unlanded, ..report })
    }

    /// Commits what was left in a tree, and keeps a checkpoint of all of it.
    pub(super) async fn commit_tree(
        &self,
        id: &SessionId,
        found: &FoundTree,
    ) -> Result<(), TreeRequestError> {
        let place = found.place.clone();
        let uncommitted =
            blocking(move || if place.is_there() { place.uncommitted() } else { Ok(Vec::new()) });
        if uncommitted.await?.is_empty() {
            return Ok(());
        }
        let number = found.place.tree().checkpoints.saturating_add(1);
        let order = TreeOrder::Commit { tree: found.place.tree().tree.clone(), number };
        match self.attend(id, None).await?.work_on_tree(order, None).await? {
            Some(TreeReport::Failed { error, .. }) => Err(TreeRequestError::Commit(error)),
            _ => Ok(()),
        }
    }

    /// Brings a checkpoint back: in a tree of its own with a branch of its own, never over anything.
    pub async fn restore_tree(
        &self,
        id: &SessionId,
        request: RestoreRequest,
    ) -> Result<RestoredTree, TreeRequestError> {
        let found = self.tree(id, &request.tree).await?;
        let turn = turn_of(&found.record.common_dir);
        let wanted = {
            let _turn = turn.lock().await?;
            let wanted = blocking(move || {
                let run = found.snapshot.state().run();
                let run = run.ok_or_else(|| TreeRequestError::NoTree(request.tree.clone()))?;
                found.place.wanted_for(run, request.checkpoint, &request.by)
            });
            wanted.await?
        };
        let tree = wanted.tree.clone();
        let checkpoint = wanted.restores.as_ref().map_or(0, |source| source.checkpoint);
        let (path, branch) = (PathBuf::from(&wanted.path), wanted.branch.clone());
        self.tell_of_tree(id, TreeReport::Wanted(wanted)).await?;
        let controller = self.attend(id, None).await?;
        let made = controller.until(|snapshot| {
            let tree = snapshot.state().run()?.tree(&tree)?;
            let problem = tree.problem.as_ref().map(|problem| problem.error.clone());
            (tree.phase != TreePhase::Wanted || problem.is_some()).then_some(problem)
        });
        match made.await {
            Some(None) => {}
            Some(Some(error)) => return Err(TreeRequestError::NotNow(error)),
            None => return Err(RequestError::Closing.into()),
        }
        let found = self.tree(id, &tree).await?;
        let (written, failed) = blocking(move || found.place.restored()).await?;
        Ok(RestoredTree { tree, checkpoint, path, branch, written, failed })
    }

    /// Removes the trees that may go: those of sessions that are over, in which nothing is that is
    /// nowhere else, and nobody works. A checkpoint of each stays. Says of every other one why it
    /// stays.
    pub async fn prune_trees(
        &self,
        request: PruneRequest,
    ) -> Result<Vec<PrunedTree>, TreeRequestError> {
        let mut sessions = match (&request.session, request.force.is_empty()) {
            (Some(id), _) => vec![id.clone()],
            (None, false) => request.force.iter().map(|(id, _)| id.clone()).collect(),
            (None, true) => self.sessions_with_trees().await,
        };
        sessions.dedup();
        let mut pruned = Vec::new();
        for id in sessions {
            let snapshot = self.session_trees(&id).await?.into_snapshot();
            let Some(run) = snapshot.state().run() else { continue };
            // Those of tasks first: what they have may be on the tree of the run.
            let mut trees: Vec<TreeId> = run.trees().map(|tree| tree.tree.clone()).collect();
            trees.reverse();
            if !request.force.is_empty() {
                trees.retain(|tree| request.force.contains(&(id.clone(), tree.clone())));
            }
            for (session, tree) in &request.force {
                if *session == id && run.tree(tree).is_none() {
                    return Err(TreeRequestError::NoTree(tree.clone()));
                }
            }
            for tree in trees {
                pruned.extend(self.prune_tree(&id, &tree, &request).await?);
            }
        }
        Ok(pruned)
    }

    async fn prune_tree(
        &self,
        id: &SessionId,
        tree: &TreeId,
        request: &PruneRequest,
    ) -> Result<Option<PrunedTree>, TreeRequestError> {
        let found = self.tree(id, tree).await?;
        let Some(run) = found.snapshot.state().run() else { return Ok(None) };
        if found.place.tree().phase == TreePhase::Removed {
            return Ok(None);
        }
        let (session, session_name) = (id.clone(), run.identity.name.clone());
        let path = found.place.path();
        let answer = |kept: Option<String>| {
            let (tree, notes) = (tree.clone(), Vec::new());
            Ok(Some(PrunedTree { session, session_name, tree, path, kept, notes }))
        };
        if !run.is_over() {
            return answer(Some(format!("the run is {}", run.status())));
        }
        if !run.kept.is_empty() {
            let kept: Vec<&str> = run.kept.keys().map(TaskId::as_str).collect();
            return answer(Some(format!("agents of the run were left alive: {}", kept.join(", "))));
        }
        let landings: Vec<String> =
            found.target().into_iter().chain([found.record.branches.clone()]).collect();
        let force = request.force.contains(&(id.clone(), tree.clone()));
        let report = if request.dry_run {
            let place = found.place.clone();
            blocking(move || place.would_prune(&landings, force)).await
        } else {
            let removal = Some(TreeRemoval { landings, force });
            let order = TreeOrder::Remove { tree: tree.clone() };
            let controller = self.attend(id, None).await?;
            let report = controller.work_on_tree(order, removal).await?;
            if let Some(TreeReport::Removed { .. }) = &report {
                let is_recorded = |snapshot: &SessionSnapshot| {
                    let tree = snapshot.state().run()?.tree(tree)?;
                    (tree.phase == TreePhase::Removed).then_some(())
                };
                controller.until(is_recorded).await;
            }
            report.ok_or_else(|| TreeError("it is not known any more".to_owned()))
        };
        // One tree that git has something against keeps no other.
        match report {
            Ok(TreeReport::Kept { why, .. }) => answer(Some(why)),
            Ok(TreeReport::Failed { error, .. }) => answer(Some(error)),
            Ok(TreeReport::Removed { notes, .. }) => {
                answer(None).map(|pruned| pruned.map(|pruned| PrunedTree { notes, ..pruned }))
            }
            Ok(_) => answer(None),
            Err(error) => answer(Some(error.0)),
        }
    }

    /// Has something that was done to a tree recorded by the one writer of its session.
    async fn tell_of_tree(
        &self,
        id: &SessionId,
        report: TreeReport,
    ) -> Result<(), TreeRequestError> {
        Ok(self.input(id, SessionInput::Tree(Box::new(report))).await?)
    }
}

impl FoundTree {
    /// The trees of tasks in which something is that is not landed: who merges the tree of the run may
    /// take it for all that the run did.
    fn unlanded(&self) -> Vec<TreeId> {
        let trees = self.snapshot.state().run().into_iter().flat_map(WorkflowRun::trees);
        let is_unlanded = |tree: &&TreeRun| {
            let is_landed = match &tree.landing {
                LandingPhase::Landed { tip, .. } => *tip == tree.head,
                LandingPhase::Open | LandingPhase::Conflict { .. } => false,
            };
            tree.tree != TreeId::Run && tree.is_ready() && !tree.is_empty() && !is_landed
        };
        trees.filter(is_unlanded).map(|tree| tree.tree.clone()).collect()
    }

    /// Why the run itself or an agent is in the way of a merge.
    fn why_not_mergeable(&self, into: &str) -> Option<String> {
        let run = self.snapshot.state().run()?;
        let tree = self.place.tree();
        if run.phase == RunPhase::Running && into != self.record.branches && run.is_to_land(tree) {
            return Some(format!(
                "the run itself lands it on `{}`; merge that, or wait until the run is over",
                self.record.branches
            ));
        }
        let works = |task: &TaskId| {
            let Ok(found) = self.snapshot.task(task) else { return false };
            match &found.runner {
                Some(Runner::Agent(agent)) => agent.verdict().state == AgentState::Working,
                Some(Runner::Headless(_)) => true,
                None => found.queued,
            }
        };
        let task = run.working_in(&tree.tree).find(|task| works(task))?;
        Some(format!("{task} works in it; wait until its turn is over"))
    }
}
