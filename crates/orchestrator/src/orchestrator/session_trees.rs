//! Looking at the trees of one session, live or as its journal tells it. Nothing is opened or changed
//! for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_model::event::{SessionEvent, TreeCheckpoint};
use coven_model::{RepositoryRecord, TaskId, Timestamp, TreeId};
use coven_store::journal::OpenError;
use coven_store::session::ReadOnlySession;
use coven_workflow::state::LandingPhase;

use crate::engine::trees::{TreePlace, WantedComments, about, as_written, entries};
use crate::error::RequestError;
use crate::snapshot::SessionSnapshot;
use crate::state::blocking::blocking;
use crate::trees::{
    AgentComments, ChangesAgainst, TreeChanges, TreeCheckpointEntry, TreeEntry, TreeFileChanges,
    TreeRequestError,
};

/// Opens the journal of the session for reading.
type JournalLook = Arc<dyn Fn() -> Result<ReadOnlySession, OpenError> + Send + Sync>;

/// The trees of a session of the user's own, as they were when it was asked for.
#[derive(Clone)]
pub struct SessionTrees {
    snapshot: Arc<SessionSnapshot>,
    state_dir: PathBuf,
    look: JournalLook,
}

impl fmt::Debug for SessionTrees {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SessionTrees").field(self.snapshot.id()).finish()
    }
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

impl SessionTrees {
    pub(super) fn new(
        snapshot: Arc<SessionSnapshot>,
        state_dir: PathBuf,
        look: impl Fn() -> Result<ReadOnlySession, OpenError> + Send + Sync + 'static,
    ) -> Self {
        Self { snapshot, state_dir, look: Arc::new(look) }
    }

    pub(super) fn into_snapshot(self) -> Arc<SessionSnapshot> {
        self.snapshot
    }

    /// The trees, that of the run first; with the sizes of their files if `sizes`.
    pub async fn list(self, sizes: bool) -> Vec<TreeEntry> {
        Self::list_all(vec![self], sizes).await
    }

    /// The same of several sessions, one after the other.
    pub(super) async fn list_all(sessions: Vec<Self>, sizes: bool) -> Vec<TreeEntry> {
        blocking(move || {
            let Some(first) = sessions.first() else { return Vec::new() };
            let runs = sessions.iter().filter_map(|session| {
                Some((session.snapshot.id(), session.snapshot.state().run()?))
            });
            entries(&first.state_dir, runs, sizes)
        })
        .await
    }

    /// The tree that a task works in or worked in last.
    pub fn of_task(&self, task: &TaskId) -> Result<TreeId, TreeRequestError> {
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

    pub(super) fn find(&self, tree: &TreeId) -> Result<FoundTree, TreeRequestError> {
        let Self { snapshot, state_dir, .. } = self;
        let unknown = || TreeRequestError::NoTree(tree.clone());
        let run = snapshot.state().run().ok_or_else(unknown)?;
        let record = run.identity.repository.as_deref().ok_or_else(unknown)?.clone();
        let found = run.tree(tree).ok_or_else(unknown)?.clone();
        let place = TreePlace::new(state_dir, run, record.clone(), found);
        Ok(FoundTree { snapshot: snapshot.clone(), place, record })
    }

    /// The checkpoints of a tree, the first being what it was made with.
    pub async fn checkpoints(
        &self,
        tree: &TreeId,
    ) -> Result<Vec<TreeCheckpointEntry>, TreeRequestError> {
        let (found, look) = (self.find(tree)?, self.look.clone());
        blocking(move || {
            let told = told_checkpoints(&look)?;
            let held = found.place.checkpoints()?.into_iter();
            let entries = held.map(|(number, held)| {
                let is_this = |fact: &&TreeCheckpoint| {
                    fact.tree == found.place.tree().tree && fact.number == number
                };
                let fact = told.iter().rev().find(is_this);
                let seconds = held.seconds.max(0).unsigned_abs();
                TreeCheckpointEntry {
                    number,
                    commit: held.commit.to_string(),
                    reference: held.reference,
                    at: fact.map_or_else(
                        || Timestamp::from_millis(seconds.saturating_mul(1000)),
                        |fact| fact.at,
                    ),
                    files: fact.map(|fact| fact.files),
                    job: fact.and_then(|fact| fact.job.clone()),
                    head: held.head.map(|head| head.to_string()),
                }
            });
            Ok(entries.collect())
        })
        .await
    }

    /// What differs in a tree: its files as they are, untracked ones included and ignored ones not. Of
    /// a tree that is not there, those of its last checkpoint.
    pub async fn changes(
        &self,
        tree: &TreeId,
        against: ChangesAgainst,
    ) -> Result<TreeChanges, TreeRequestError> {
        let found = self.find(tree)?;
        let target = found.target();
        blocking(move || found.place.changes(against, target)).await
    }

    /// The lines of one file that differ. `path` is one of those that the list has.
    pub async fn file_changes(
        &self,
        tree: &TreeId,
        against: ChangesAgainst,
        path: &Path,
    ) -> Result<TreeFileChanges, TreeRequestError> {
        let found = self.find(tree)?;
        let (target, path) = (found.target(), path.to_owned());
        blocking(move || found.place.file_changes(against, target.as_deref(), &path)).await
    }

    /// All that differs in a tree as a patch that `git apply` takes.
    pub async fn patch(
        &self,
        tree: &TreeId,
        against: ChangesAgainst,
    ) -> Result<Vec<u8>, TreeRequestError> {
        let found = self.find(tree)?;
        let target = found.target();
        blocking(move || found.place.patch(against, target.as_deref())).await
    }

    /// What agents with `expect: comments` say about what is in a tree, or in the folder of the session
    /// where there is no tree: those that worked there, or those of the step or task `from`, wherever
    /// it worked. Of a tree that was landed on the tree of the run it is also what is said there. From
    /// another tree only what is about files that this one changed counts.
    pub async fn comments(
        &self,
        tree: Option<&TreeId>,
        from: Option<&str>,
    ) -> Result<AgentComments, TreeRequestError> {
        let found = tree.map(|tree| self.find(tree)).transpose()?;
        let Some(run) = self.snapshot.state().run() else { return Ok(AgentComments::default()) };
        let mut reviews = run.written_reviews();
        if let Some(name) = from {
            if !run.answers_with_comments(name) {
                return Err(TreeRequestError::NoReviewer(name.to_owned()));
            }
            reviews.retain(|review| review.step == name || review.job.task.as_str() == name);
        } else {
            let is_landed = found.as_ref().is_some_and(|found| {
                let landing = &found.place.tree().landing;
                matches!(landing, LandingPhase::Landed { onto, .. } if *onto == found.record.branches)
            });
            about(&mut reviews, tree, is_landed);
        }
        let Some(found) = found else { return Ok(as_written(reviews)) };
        let (look, by_name) = (self.look.clone(), from.is_some());
        blocking(move || {
            let told = if reviews.is_empty() { Vec::new() } else { told_checkpoints(&look)? };
            found.place.agent_comments(WantedComments { reviews, told, by_name })
        })
        .await
    }
}

/// The facts about checkpoints, of all trees. Waits on the disk.
fn told_checkpoints(look: &JournalLook) -> Result<Vec<TreeCheckpoint>, RequestError> {
    let mut told = Vec::new();
    for record in look()?.reader()?.read_from::<SessionEvent>(1)? {
        if let SessionEvent::TreeCheckpoint(fact) = record?.fact {
            told.push(*fact);
        }
    }
    Ok(told)
}
