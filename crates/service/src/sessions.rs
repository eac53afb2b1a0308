//! The sessions of a base directory for requests that only look: those of its orchestrator if it is
//! open, otherwise what the disk says. Looking opens nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_model::{AttemptId, Intervention, InterventionDecision, SessionId, TaskId, TreeId};
use coven_orchestrator::{
    Archive, ChangesAgainst, EventSubscription, Orchestrator, RequestError, SessionController,
    SessionSnapshot, TaskAccess, TreeChanges, TreeCheckpointEntry, TreeEntry, TreeFileChanges,
    TreeRequestError,
};
use coven_store::SessionEntry;

/// The sessions of a base directory.
#[derive(Clone, Debug)]
pub(crate) enum Sessions {
    /// The base directory is open.
    Open(Orchestrator),
    /// It is not, and what is on the disk is read.
    Closed(Archive),
}

impl Sessions {
    pub(crate) fn list(&self) -> Vec<SessionEntry> {
        match self {
            Self::Open(orchestrator) => orchestrator.list(),
            Self::Closed(archive) => archive.list(),
        }
    }

    pub(crate) fn entry(&self, id: &SessionId) -> Option<SessionEntry> {
        match self {
            Self::Open(orchestrator) => orchestrator.entry(id),
            Self::Closed(archive) => archive.entry(id),
        }
    }

    pub(crate) fn resolve(&self, text: &str) -> Result<SessionId, RequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.resolve(text),
            Self::Closed(archive) => Ok(archive.resolve(text)?),
        }
    }

    /// The controller of a session, if it is in memory.
    pub(crate) fn controller(&self, id: &SessionId) -> Option<SessionController> {
        match self {
            Self::Open(orchestrator) => orchestrator.controller(id),
            Self::Closed(_) => None,
        }
    }

    /// A session after its last durable fact. Of a session in memory that takes no file and no
    /// message.
    pub(crate) async fn snapshot(
        &self,
        id: &SessionId,
    ) -> Result<Arc<SessionSnapshot>, RequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.snapshot(id).await,
            Self::Closed(archive) => archive.snapshot(id).await,
        }
    }

    pub(crate) async fn task(
        &self,
        id: &SessionId,
        task: &TaskId,
    ) -> Result<TaskAccess, RequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.task(id, task).await,
            Self::Closed(archive) => archive.task(id, task).await,
        }
    }

    /// The folder of an attempt; none if it was not started, or is not there.
    pub(crate) async fn attempt_folder(
        &self,
        id: &SessionId,
        attempt: &AttemptId,
    ) -> Result<Option<PathBuf>, RequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.attempt_folder(id, attempt).await,
            Self::Closed(archive) => archive.attempt_folder(id, attempt).await,
        }
    }

    /// What waits for a person. Only an orchestrator can ask one.
    pub(crate) fn interventions(&self) -> Vec<Intervention> {
        match self {
            Self::Open(orchestrator) => orchestrator.interventions(),
            Self::Closed(_) => Vec::new(),
        }
    }

    pub(crate) async fn decided(
        &self,
        id: &SessionId,
    ) -> Vec<(Intervention, Option<InterventionDecision>)> {
        match self {
            Self::Open(orchestrator) => orchestrator.decided(id).await,
            Self::Closed(archive) => archive.decided(id).await,
        }
    }

    /// The trees of a session.
    pub(crate) async fn trees(
        &self,
        id: &SessionId,
        sizes: bool,
    ) -> Result<Vec<TreeEntry>, TreeRequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.trees(id, sizes).await,
            Self::Closed(archive) => archive.trees(id, sizes).await,
        }
    }

    /// The trees of all sessions of the user.
    pub(crate) async fn all_trees(&self, sizes: bool) -> Vec<TreeEntry> {
        match self {
            Self::Open(orchestrator) => orchestrator.all_trees(sizes).await,
            Self::Closed(archive) => archive.all_trees(sizes).await,
        }
    }

    /// The tree that a task works in.
    pub(crate) async fn tree_of_task(
        &self,
        id: &SessionId,
        task: &TaskId,
    ) -> Result<TreeId, TreeRequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.tree_of_task(id, task).await,
            Self::Closed(archive) => archive.tree_of_task(id, task).await,
        }
    }

    pub(crate) async fn tree_checkpoints(
        &self,
        id: &SessionId,
        tree: &TreeId,
    ) -> Result<Vec<TreeCheckpointEntry>, TreeRequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.tree_checkpoints(id, tree).await,
            Self::Closed(archive) => archive.tree_checkpoints(id, tree).await,
        }
    }

    pub(crate) async fn tree_changes(
        &self,
        id: &SessionId,
        tree: &TreeId,
        against: ChangesAgainst,
    ) -> Result<TreeChanges, TreeRequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.tree_changes(id, tree, against).await,
            Self::Closed(archive) => archive.tree_changes(id, tree, against).await,
        }
    }

    pub(crate) async fn tree_file_changes(
        &self,
        id: &SessionId,
        tree: &TreeId,
        against: ChangesAgainst,
        path: &Path,
    ) -> Result<TreeFileChanges, TreeRequestError> {
        match self {
            Self::Open(orchestrator) => {
                orchestrator.tree_file_changes(id, tree, against, path).await
            }
            Self::Closed(archive) => archive.tree_file_changes(id, tree, against, path).await,
        }
    }

    pub(crate) async fn tree_patch(
        &self,
        id: &SessionId,
        tree: &TreeId,
        against: ChangesAgainst,
    ) -> Result<Vec<u8>, TreeRequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.tree_patch(id, tree, against).await,
            Self::Closed(archive) => archive.tree_patch(id, tree, against).await,
        }
    }

    pub(crate) async fn subscribe(
        &self,
        id: &SessionId,
        after: u64,
    ) -> Result<EventSubscription, RequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.subscribe(id, after).await,
            Self::Closed(archive) => archive.subscribe(id, after).await,
        }
    }
}
