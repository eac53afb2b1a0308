//! The sessions of a base directory, for reading alone. Nothing is locked, opened for writing,
//! created or started: this is what a request that only looks may use of a base directory that no
//! orchestrator has open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_model::{AttemptId, Intervention, InterventionDecision, SessionId, TaskId};
use coven_store::index::ResolveError;
use coven_store::journal::OpenError;
use coven_store::session::ReadOnlySession;
use coven_store::{BaseDir, FileError, Index, Registered, SessionAuthority, SessionEntry};

use super::TaskAccess;
use super::access::attempt_folder;
use super::session_trees::SessionTrees;
use crate::engine::trees::sessions_with_trees;
use crate::error::RequestError;
use crate::event::EventSubscription;
use crate::snapshot::SessionSnapshot;
use crate::state::blocking::blocking;
use crate::state::{PastSession, look, settle, subscribe_past};
use crate::trees::TreeEntry;

/// The sessions of a base directory as they were when it was read. Clones share what was read.
#[derive(Clone, Debug)]
pub struct Archive {
    base: BaseDir,
    index: Arc<Index>,
    authority: SessionAuthority,
    state_dir: PathBuf,
}

impl Archive {
    /// Reads a base directory; none if there are no sessions in it. `state_dir` is the state
    /// folder of the user, which says which of the sessions are the user's own; those must be
    /// sealed by the authority.
    pub async fn read(
        base_dir: &Path,
        state_dir: &Path,
        authority: &SessionAuthority,
    ) -> Result<Option<Self>, FileError> {
        let (base_dir, state_dir) = (base_dir.to_owned(), state_dir.to_owned());
        let authority = authority.clone();
        blocking(move || {
            let Some(base) = BaseDir::find(&base_dir)? else { return Ok(None) };
            let registered = Registered::read(&state_dir, &base)?;
            let key = authority.key().public();
            let own = |id: &SessionId| registered.contains(id, &key);
            let mut index = Index::load(&base, registered.folder(), own)?;
            settle(&mut index, &base, &authority);
            Ok(Some(Self { base, index: Arc::new(index), authority, state_dir }))
        })
        .await
    }

    /// All sessions, newest first.
    pub fn list(&self) -> Vec<SessionEntry> {
        self.index.entries().rev().cloned().collect()
    }

    /// The index entry of a session, live or over.
    pub fn entry(&self, id: &SessionId) -> Option<SessionEntry> {
        self.index.get(id).cloned()
    }

    /// The session that an id, the beginning of an id, or a name means.
    pub fn resolve(&self, text: &str) -> Result<SessionId, ResolveError> {
        self.index.resolve(text).map(|entry| entry.id.clone())
    }

    async fn past<T: Send + 'static>(
        &self,
        id: &SessionId,
        read: impl FnOnce(PastSession) -> T + Send + 'static,
    ) -> Result<T, RequestError> {
        let (archive, id) = (self.clone(), id.clone());
        blocking(move || PastSession::read(archive.look(&id)?).map(read)).await
    }

    /// A session as its journal tells it.
    pub async fn snapshot(&self, id: &SessionId) -> Result<Arc<SessionSnapshot>, RequestError> {
        self.past(id, |past| Arc::new(past.into_snapshot())).await
    }

    /// The newest attempt of a task.
    pub async fn task(&self, id: &SessionId, task: &TaskId) -> Result<TaskAccess, RequestError> {
        let found = self.snapshot(id).await?.task(task)?;
        let (archive, id) = (self.clone(), id.clone());
        blocking(move || Ok(TaskAccess::new(found, &archive.look(&id)?))).await
    }

    /// The folder of an attempt; none if it was not started, or is not there.
    pub async fn attempt_folder(
        &self,
        id: &SessionId,
        attempt: &AttemptId,
    ) -> Result<Option<PathBuf>, RequestError> {
        let (archive, id, attempt) = (self.clone(), id.clone(), attempt.clone());
        blocking(move || attempt_folder(&archive.look(&id)?, &attempt)).await
    }

    fn look(&self, id: &SessionId) -> Result<ReadOnlySession, OpenError> {
        let is_own = self.index.get(id).is_some_and(|entry| !entry.foreign);
        look(&self.base, Some(&self.authority).filter(|_| is_own), id)
    }

    /// What had to be decided in a session and is not open any more. Nothing if it cannot be read.
    pub async fn decided(
        &self,
        id: &SessionId,
    ) -> Vec<(Intervention, Option<InterventionDecision>)> {
        self.past(id, |past| past.decided()).await.unwrap_or_default()
    }

    /// Everything that happened in a session after a fact, and the end.
    pub async fn subscribe(
        &self,
        id: &SessionId,
        after: u64,
    ) -> Result<EventSubscription, RequestError> {
        let (archive, id) = (self.clone(), id.clone());
        blocking(move || subscribe_past(&archive.look(&id)?, after)).await
    }

    /// The trees of all sessions that are the user's own, those of the newest session first. A session
    /// that cannot be read is left out.
    pub async fn all_trees(&self, sizes: bool) -> Vec<TreeEntry> {
        let state_dir = self.state_dir.clone();
        let known = blocking(move || sessions_with_trees(&state_dir)).await;
        let mut all = Vec::new();
        for entry in self.list().into_iter().filter(|entry| known.contains(entry.id.as_str())) {
            if let Ok(trees) = self.session_trees(&entry.id).await {
                all.extend(trees.list(sizes).await);
            }
        }
        all
    }

    /// The trees of a session of the user's own.
    pub async fn session_trees(&self, id: &SessionId) -> Result<SessionTrees, RequestError> {
        let snapshot = self.snapshot(id).await?;
        match self.index.get(id) {
            Some(entry) if !entry.foreign => {
                let (archive, id) = (self.clone(), id.clone());
                Ok(SessionTrees::new(snapshot, self.state_dir.clone(), move || archive.look(&id)))
            }
            _ => Err(RequestError::Foreign(id.clone())),
        }
    }
}
