//! The sessions of a base directory for requests that only look: those of its orchestrator if it is
//! open, otherwise what the disk says. Looking opens nothing.

use std::path::PathBuf;
use std::sync::Arc;

use coven_model::{AttemptId, Intervention, InterventionDecision, SessionId, TaskId};
use coven_orchestrator::{
    Archive, EventSubscription, Orchestrator, RequestError, SessionController, SessionSnapshot,
    SessionTrees, TaskAccess, TreeEntry,
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
    pub(crate) async fn session_trees(&self, id: &SessionId) -> Result<SessionTrees, RequestError> {
        match self {
            Self::Open(orchestrator) => orchestrator.session_trees(id).await,
            Self::Closed(archive) => archive.session_trees(id).await,
        }
    }

    /// The trees of all sessions of the user.
    pub(crate) async fn all_trees(&self, sizes: bool) -> Vec<TreeEntry> {
        match self {
            Self::Open(orchestrator) => orchestrator.all_trees(sizes).await,
            Self::Closed(archive) => archive.all_trees(sizes).await,
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
