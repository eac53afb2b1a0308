//! Looking at the trees of one session, live or as its journal tells it. Nothing is opened or changed
//! for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_model::event::{SessionEvent, TreeCheckpoint};
use coven_model::{RepositoryRecord, TaskId, Timestamp, TreeId};
use coven_store::session::ReadOnlySession;
use coven_workflow::state::WorkflowRun;

use crate::engine::trees::{TreePlace, entry};
use crate::error::RequestError;
use crate::snapshot::SessionSnapshot;
use crate::state::blocking::blocking;
use crate::trees::{
    ChangesAgainst, TreeChanges, TreeCheckpointEntry, TreeEntry, TreeFileChanges, TreeRequestError,
};

/// A session of the user's own whose trees are looked at.
pub(super) struct TreeLooks {
    snapshot: Arc<SessionSnapshot>,
    state_dir: PathBuf,
}

/// A tree that is asked about, with the state of its session.
pub(super) struct FoundTree {
    pub(super) snapshot: Arc<SessionSnapshot>,
    pub(super) place: TreePlace,
    pub(super) record: RepositoryRecord,
}

impl FoundTree {
    /// The branch that was checked out when the session was made.
    pub(super) fn target(&self) -> Option<String> {
        self.record.branch.clone()
    }
}

impl TreeLooks {
    pub(super) fn new(snapshot: Arc<SessionSnapshot>, state_dir: PathBuf) -> Self {
        Self { snapshot, state_dir }
    }

    pub(super) fn into_snapshot(self) -> Arc<SessionSnapshot> {
        self.snapshot
    }

    pub(super) async fn entries(self, sizes: bool) -> Vec<TreeEntry> {
        blocking(move || {
            let Self { snapshot, state_dir } = &self;
            let run: Option<&WorkflowRun> = snapshot.state().run();
            let trees = run.into_iter().flat_map(|run| run.trees().map(move |tree| (run, tree)));
            let id = snapshot.id();
            trees.filter_map(|(run, tree)| entry(state_dir, id, run, tree, sizes)).collect()
        })
        .await
    }

    pub(super) fn of_task(&self, task: &TaskId) -> Result<TreeId, TreeRequestError> {
        let own = TreeId::Task(task.clone());
        let run = self.snapshot.state().run();
        if run.is_some_and(|run| run.tree(&own).is_some()) {
            return Ok(own);
        }
        if let Some(tree) = run.and_then(|run| run.tree_of_task(task)) {
            return Ok(tree);
        }
        // A task that there is not is another mistake.
        self.snapshot.task(task)?;
        Err(TreeRequestError::NotInTree(task.clone()))
    }

    pub(super) fn find(self, tree: &TreeId) -> Result<FoundTree, TreeRequestError> {
        let Self { snapshot, state_dir } = self;
        let unknown = || TreeRequestError::NoTree(tree.clone());
        let run = snapshot.state().run().ok_or_else(unknown)?;
        let record = run.identity.repository.as_deref().ok_or_else(unknown)?.clone();
        let found = run.tree(tree).ok_or_else(unknown)?.clone();
        let place = TreePlace::new(&state_dir, run, record.clone(), found);
        Ok(FoundTree { snapshot, place, record })
    }

    pub(super) async fn checkpoints(
        self,
        tree: &TreeId,
        look: ReadOnlySession,
    ) -> Result<Vec<TreeCheckpointEntry>, TreeRequestError> {
        let found = self.find(tree)?;
        blocking(move || {
            let mut told = told_checkpoints(&look, &found.place.tree().tree)?;
            let held = found.place.checkpoints()?.into_iter();
            let entries = held.map(|(number, held)| {
                let fact = told.remove(&number);
                let seconds = held.seconds.max(0).unsigned_abs();
                TreeCheckpointEntry {
                    number,
                    commit: held.commit.to_string(),
                    reference: held.reference,
                    at: fact.as_ref().map_or_else(
                        || Timestamp::from_millis(seconds.saturating_mul(1000)),
                        |fact| fact.at,
                    ),
                    files: fact.as_ref().map(|fact| fact.files),
                    job: fact.and_then(|fact| fact.job),
                    head: held.head.map(|head| head.to_string()),
                }
            });
            Ok(entries.collect())
        })
        .await
    }

    pub(super) async fn changes(
        self,
        tree: &TreeId,
        against: ChangesAgainst,
    ) -> Result<TreeChanges, TreeRequestError> {
        let found = self.find(tree)?;
        let target = found.target();
        blocking(move || found.place.changes(against, target)).await
    }

    pub(super) async fn file_changes(
        self,
        tree: &TreeId,
        against: ChangesAgainst,
        path: &Path,
    ) -> Result<TreeFileChanges, TreeRequestError> {
        let found = self.find(tree)?;
        let (target, path) = (found.target(), path.to_owned());
        blocking(move || found.place.file_changes(against, target.as_deref(), &path)).await
    }

    pub(super) async fn patch(
        self,
        tree: &TreeId,
        against: ChangesAgainst,
    ) -> Result<Vec<u8>, TreeRequestError> {
        let found = self.find(tree)?;
        let target = found.target();
        blocking(move || found.place.patch(against, target.as_deref())).await
    }
}

/// The facts about the checkpoints of a tree, by number. Waits on the disk.
fn told_checkpoints(
    look: &ReadOnlySession,
    tree: &TreeId,
) -> Result<BTreeMap<u32, TreeCheckpoint>, RequestError> {
    let mut told = BTreeMap::new();
    for record in look.reader()?.read_from::<SessionEvent>(1)? {
        if let SessionEvent::TreeCheckpoint(fact) = record?.fact
            && fact.tree == *tree
        {
            told.insert(fact.number, *fact);
        }
    }
    Ok(told)
}
