//! The sessions of a base directory, for reading alone. Nothing is locked, opened for writing,
//! created or started: this is what a request that only looks may use of a base directory that no
//! orchestrator has open.

use std::path::Path;
use std::sync::Arc;

use coven_model::{Decision, Intervention, PlanView, SessionId, SessionView, TaskId};
use coven_store::index::ResolveError;
use coven_store::{BaseDir, Entry, FileError, Index, Registered};

use super::TaskAccess;
use crate::error::RequestError;
use crate::event::Subscription;
use crate::state::PastSession;

/// The sessions of a base directory as they were when it was read. Clones share what was read.
#[derive(Clone, Debug)]
pub struct Archive {
    base: BaseDir,
    index: Arc<Index>,
}

impl Archive {
    /// Reads a base directory; none if there are no sessions in it. `state_dir` is the state
    /// folder of the user, which says which of the sessions are the user's own.
    pub fn read(base_dir: &Path, state_dir: &Path) -> Result<Option<Self>, FileError> {
        let Some(base) = BaseDir::find(base_dir)? else { return Ok(None) };
        let registered = Registered::read(state_dir, &base)?;
        let index = Index::load(&base)?.with_own(|id| registered.contains(id));
        Ok(Some(Self { base, index: Arc::new(index) }))
    }

    /// All sessions, newest first.
    pub fn list(&self) -> Vec<Entry> {
        self.index.entries().rev().cloned().collect()
    }

    /// One session.
    pub fn entry(&self, id: &SessionId) -> Option<Entry> {
        self.index.get(id).cloned()
    }

    /// The session that an id, the beginning of an id, or a name means.
    pub fn resolve(&self, text: &str) -> Result<SessionId, ResolveError> {
        self.index.resolve(text).map(|entry| entry.id.clone())
    }

    fn past(&self, id: &SessionId) -> Result<PastSession, RequestError> {
        PastSession::read(&self.base, id)
    }

    /// What a session looks like, as its journal tells it.
    pub fn view(&self, id: &SessionId) -> Result<Option<SessionView>, RequestError> {
        Ok(self.past(id)?.view())
    }

    /// The plan of a session with the status of everything; nothing if it cannot be read.
    pub fn plan_view(&self, id: &SessionId) -> Option<PlanView> {
        self.past(id).ok()?.plan()
    }

    /// The newest attempt of a task.
    pub fn task(&self, id: &SessionId, task: &TaskId) -> Result<TaskAccess, RequestError> {
        TaskAccess::past(&self.base, id, task)
    }

    /// What had to be decided in a session and is not open any more. Nothing if it cannot be read.
    pub fn decided(&self, id: &SessionId) -> Vec<(Intervention, Option<Decision>)> {
        self.past(id).map(|past| past.decided()).unwrap_or_default()
    }

    /// Everything that happened in a session after a fact, and the end.
    pub fn subscribe(&self, id: &SessionId, after: u64) -> Result<Subscription, RequestError> {
        self.past(id)?.subscribe(id, after)
    }
}
