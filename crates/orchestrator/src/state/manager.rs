//! All sessions of a base directory.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use coven_model::{SessionId, Timestamp};
use coven_store::index::ResolveError;
use coven_store::lock::Holder;
use coven_store::{BaseDir, Entry, FileError, Index, Lock};

use super::WorkflowSession;
use crate::error::OpenError;

/// Keeps the sessions of a base directory. There is one at a time for each.
#[derive(Debug)]
pub struct SessionManager {
    base: BaseDir,
    index: Mutex<Index>,
    _lock: Lock,
}

/// What time it is.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

impl SessionManager {
    /// Takes a base directory over.
    pub fn open(base_dir: &std::path::Path, keeper: &str) -> Result<Self, OpenError> {
        let base = BaseDir::create(base_dir)?;
        let lock = Lock::take(&base, &Holder::this_process(keeper, now(), None))?;
        let index = Index::load(&base)?;
        Ok(Self { base, index: Mutex::new(index), _lock: lock })
    }

    /// The base directory.
    pub fn base(&self) -> &BaseDir {
        &self.base
    }

    fn index(&self) -> std::sync::MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All sessions, newest first.
    pub fn list(&self) -> Vec<Entry> {
        self.index().entries().rev().cloned().collect()
    }

    /// The session that an id, the beginning of an id, or a name means.
    pub fn resolve(&self, text: &str) -> Result<SessionId, ResolveError> {
        self.index().resolve(text).map(|entry| entry.id.clone())
    }

    /// A readable name that no other session has.
    pub(crate) fn new_name(&self, id: &SessionId) -> String {
        self.index().new_name(id)
    }

    /// Writes down where a session stands, for listings.
    pub(crate) fn note(&self, session: &WorkflowSession) -> Result<(), FileError> {
        let Some(run) = session.state().run() else { return Ok(()) };
        let created_at = run.identity.created_at;
        let entry = Entry {
            id: session.id().clone(),
            name: run.identity.name.clone(),
            goal: session.goal().map(Entry::short_goal),
            status: session.status(),
            created_at,
            updated_at: now(),
            kept: false,
            base_dir: self.base.path().into(),
            fresh: true,
        };
        let mut index = self.index();
        index.set(entry, session.journal_bytes())?;
        index.save()
    }
}
