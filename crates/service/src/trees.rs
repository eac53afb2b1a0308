//! The trees of sessions: listed, landed, removed, brought back. What changed in them is in
//! [`changes`], what agents say about that in [`comments`], what people do in [`review`].

mod changes;
mod comments;
pub(crate) mod config;
mod review;
mod words;

use coven_api::changes::RUN_TREE;
use coven_api::tree::{
    MergeAnswer, MergeMode, MergeOutcome, MergeRequest, PruneTrees, PrunedTree, PrunedTrees,
    RestoreTree, RestoredTree, TreeItem, TreeLanding, TreeList, TreeState, TreeTrouble, TreesQuery,
    UnwrittenFile,
};
use coven_model::{SessionId, TreeId};
use coven_orchestrator as engine;
use coven_orchestrator::{Orchestrator, TreeRequestError};

use crate::error::ServiceError;
use crate::find::{FoundSession, task_id};
use crate::service::Service;
use crate::sessions::Sessions;
use crate::text::printable;
use words::path_words;

/// A tree as requests and answers name it.
pub(crate) fn tree_name(tree: &TreeId) -> String {
    tree.task().map_or_else(|| RUN_TREE.to_owned(), ToString::to_string)
}

/// The tree that a request names where it names a task: the one in which that task works.
async fn tree_id(
    sessions: &Sessions,
    session: &SessionId,
    text: &str,
) -> Result<TreeId, ServiceError> {
    if text == RUN_TREE {
        return Ok(TreeId::Run);
    }
    Ok(sessions.session_trees(session).await?.of_task(&task_id(text)?)?)
}

impl Service {
    /// The trees of a session, or of all sessions.
    pub async fn trees(
        &self,
        session: Option<&str>,
        query: TreesQuery,
    ) -> Result<TreeList, ServiceError> {
        let sizes = query.size.unwrap_or(false);
        let mut found = Vec::new();
        match session {
            Some(text) => {
                let FoundSession { sessions, id, .. } = self.find(text).await?;
                found.extend(sessions.session_trees(&id).await?.list(sizes).await);
            }
            None => {
                for sessions in self.sessions().await {
                    found.extend(sessions.all_trees(sizes).await);
                }
            }
        }
        if !query.removed.unwrap_or(false) {
            found.retain(|tree| tree.state != engine::TreeState::Removed);
        }
        Ok(TreeList { trees: found.into_iter().map(item).collect() })
    }

    /// Brings a tree onto a branch, or says what would happen.
    pub async fn merge_tree(
        &self,
        session: &str,
        request: MergeRequest,
        by: &str,
    ) -> Result<MergeAnswer, ServiceError> {
        let (orchestrator, id) = self.find_own(session).await?;
        let tree = self.meant(&orchestrator, &id, request.task.as_deref()).await?;
        let mode = request.mode;
        let merge = engine::MergeRequest {
            tree,
            into: request.into,
            mode: match mode {
                MergeMode::Merge => engine::MergeMode::Merge,
                MergeMode::Squash => engine::MergeMode::Squash,
                MergeMode::Rebase => engine::MergeMode::Rebase,
            },
            message: request.message,
            dry_run: request.dry_run,
            by: by.to_owned(),
        };
        let dry_run = merge.dry_run;
        let report = orchestrator.merge(&id, merge).await?;
        let answer = merged(report, mode);
        if !dry_run {
            tracing::info!(workflow = %id, tree = answer.tree, into = answer.into, outcome = ?answer.outcome, "a tree was to be landed");
        }
        Ok(answer)
    }

    /// Removes the trees that are landed or empty, or says which would be.
    pub async fn prune_trees(&self, prune: PruneTrees) -> Result<PrunedTrees, ServiceError> {
        let mut request =
            engine::PruneRequest { dry_run: prune.dry_run, ..engine::PruneRequest::default() };
        let orchestrators = match &prune.workflow {
            Some(text) => {
                let (orchestrator, id) = self.find_own(text).await?;
                if let Some(tree) = &prune.force {
                    request.force = vec![(id.clone(), exact_tree(tree)?)];
                }
                request.session = Some(id);
                vec![orchestrator]
            }
            None if prune.force.is_some() => {
                let detail = "`force` needs `workflow`, the session whose tree it is";
                return Err(ServiceError::BadInput(detail.to_owned()));
            }
            None => self.orchestrators().await,
        };
        let mut pruned = PrunedTrees::default();
        for orchestrator in orchestrators {
            for tree in orchestrator.prune_trees(request.clone()).await? {
                let (why, one) = (tree.kept.clone(), pruned_tree(tree));
                if why.is_some() { pruned.kept.push(one) } else { pruned.removed.push(one) }
            }
        }
        Ok(pruned)
    }

    /// Brings back what a checkpoint holds, as a new tree.
    pub async fn restore_tree(
        &self,
        restore: RestoreTree,
        by: &str,
    ) -> Result<RestoredTree, ServiceError> {
        let (orchestrator, id) = self.find_own(&restore.workflow).await?;
        let tree = self.meant(&orchestrator, &id, restore.task.as_deref()).await?;
        let request =
            engine::RestoreRequest { tree, checkpoint: restore.checkpoint, by: by.to_owned() };
        let restored = orchestrator.restore_tree(&id, request).await?;
        let name = orchestrator.entry(&id).map(|entry| entry.name).unwrap_or_default();
        Ok(RestoredTree {
            workflow: id,
            workflow_name: name,
            tree: tree_name(&restored.tree),
            checkpoint: restored.checkpoint,
            path: restored.path.display().to_string(),
            branch: restored.branch,
            written: restored.written as u64,
            failed: restored
                .failed
                .into_iter()
                .map(|(path, why)| UnwrittenFile { path: path_words(&path), why: printable(&why) })
                .collect(),
        })
    }

    /// The tree that is meant: that of a task, or where none is named that of the session's only
    /// task, that of the run, or the only one there is.
    async fn meant(
        &self,
        orchestrator: &Orchestrator,
        session: &SessionId,
        task: Option<&str>,
    ) -> Result<TreeId, ServiceError> {
        if let Some(task) = task {
            return tree_id(&Sessions::Open(orchestrator.clone()), session, task).await;
        }
        let trees = orchestrator.session_trees(session).await?.list(false).await;
        // What one agent did is in its tree, until that is landed on the tree of the run.
        let stays = |wanted: &TreeId| {
            trees
                .iter()
                .any(|tree| tree.tree == *wanted && tree.state != engine::TreeState::Removed)
        };
        let only = only_task_tree(orchestrator, session).await?;
        if let Some(tree) = only.filter(stays) {
            return Ok(tree);
        }
        if trees.iter().any(|tree| tree.tree == TreeId::Run) {
            return Ok(TreeId::Run);
        }
        match trees.as_slice() {
            [] => Err(TreeRequestError::NoTree(TreeId::Run).into()),
            [only] => Ok(only.tree.clone()),
            several => Err(ServiceError::WhichTree(
                several.iter().map(|tree| tree_name(&tree.tree)).collect(),
            )),
        }
    }
}

/// The tree of the only task of a session, if it has one alone.
async fn only_task_tree(
    orchestrator: &Orchestrator,
    session: &SessionId,
) -> Result<Option<TreeId>, ServiceError> {
    let snapshot = orchestrator.snapshot(session).await?;
    let Some((run, plan)) = snapshot.state().run().zip(snapshot.plan()) else { return Ok(None) };
    let mut lanes = plan.rows.iter().flat_map(|row| &row.lanes);
    let (Some(only), None) = (lanes.next(), lanes.next()) else { return Ok(None) };
    Ok(run.tree_of_task(&task_id(&only.task)?))
}

/// A tree by its own name, which a task that works in it need not have.
fn exact_tree(text: &str) -> Result<TreeId, ServiceError> {
    if text == RUN_TREE { Ok(TreeId::Run) } else { Ok(TreeId::Task(task_id(text)?)) }
}

fn item(tree: engine::TreeEntry) -> TreeItem {
    TreeItem {
        workflow: tree.session,
        workflow_name: tree.session_name,
        tree: tree_name(&tree.tree),
        state: match tree.state {
            engine::TreeState::Wanted => TreeState::Wanted,
            engine::TreeState::Ready => TreeState::Ready,
            engine::TreeState::Gone => TreeState::Gone,
            engine::TreeState::Removed => TreeState::Removed,
        },
        path: tree.path.display().to_string(),
        branch: tree.branch,
        base: tree.base,
        head: tree.head,
        root: tree.root.display().to_string(),
        target: tree.target,
        landing: match tree.landing {
            engine::TreeLandingState::Open => TreeLanding::Open,
            engine::TreeLandingState::Landed { onto, commit, newer } => {
                TreeLanding::Landed { onto, commit, newer }
            }
            engine::TreeLandingState::Conflict { onto, paths } => {
                let paths = paths.iter().map(|path| path_words(path.as_ref())).collect();
                TreeLanding::Conflict { onto, paths }
            }
        },
        changed: tree.changed,
        checkpoints: tree.checkpoints,
        uncommitted: tree.uncommitted,
        kept: tree.kept.as_deref().map(printable),
        problem: tree.problem.map(|(work, error)| TreeTrouble { work, error: printable(&error) }),
        ports: tree.ports,
        size: tree.bytes,
    }
}

fn merged(report: engine::MergeReport, mode: MergeMode) -> MergeAnswer {
    let words = |paths: Vec<std::path::PathBuf>| -> Vec<String> {
        paths.iter().map(|path| path_words(path)).collect()
    };
    let mut answer = MergeAnswer {
        outcome: MergeOutcome::Nothing,
        tree: tree_name(&report.tree),
        branch: report.branch,
        into: report.into,
        mode,
        commit: None,
        commits: report.commits as u32,
        paths: Vec::new(),
        messages: Vec::new(),
        checkout: report.checkout.map(|path| path.display().to_string()),
        changed: None,
        uncommitted: words(report.uncommitted),
        unlanded: report.unlanded.iter().map(tree_name).collect(),
    };
    match report.outcome {
        engine::MergeOutcome::UpToDate => {}
        engine::MergeOutcome::WouldLand { paths } => {
            answer.outcome = MergeOutcome::WouldLand;
            answer.paths = words(paths);
        }
        engine::MergeOutcome::Landed { commit, paths } => {
            answer.outcome = MergeOutcome::Landed;
            answer.commit = Some(commit);
            answer.paths = words(paths);
        }
        engine::MergeOutcome::Conflict { paths, messages } => {
            answer.outcome = MergeOutcome::Conflict;
            answer.paths = words(paths);
            answer.messages = messages.iter().map(|message| printable(message)).collect();
        }
        engine::MergeOutcome::DirtyCheckout { overlapping, changed } => {
            answer.outcome = MergeOutcome::DirtyCheckout;
            answer.paths = words(overlapping);
            answer.changed = Some(changed as u32);
        }
    }
    answer
}

fn pruned_tree(tree: engine::PrunedTree) -> PrunedTree {
    PrunedTree {
        workflow: tree.session,
        workflow_name: tree.session_name,
        tree: tree_name(&tree.tree),
        path: tree.path.display().to_string(),
        why: tree.kept.as_deref().map(printable),
        notes: tree.notes.iter().map(|note| printable(note)).collect(),
    }
}
