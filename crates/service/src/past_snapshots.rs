//! Sessions as their journals tell them, of those that were asked for last and that no actor holds
//! in memory. One command asks for a session several times: what it is, what its steps gave,
//! whether it is over. Without this, each time would read and fold the whole journal.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use coven_model::SessionId;
use coven_orchestrator::{RequestError, SessionSnapshot};
use parking_lot::Mutex;

use crate::attempt::JournalStamp;
use crate::blocking::blocking;
use crate::sessions::Sessions;

/// How many sessions are remembered: each may have many thousand facts.
const MAX_KEPT_SNAPSHOTS: usize = 2;

/// What a snapshot was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SnapshotSource {
    base_dir: PathBuf,
    session: SessionId,
    /// A foreign session is read by other rules.
    foreign: bool,
    journal: JournalStamp,
}

/// The sessions that were asked for last.
#[derive(Debug, Default)]
pub(crate) struct PastSnapshots {
    kept: Mutex<VecDeque<(SnapshotSource, Arc<SessionSnapshot>)>>,
}

impl PastSnapshots {
    /// A session after its last durable fact: from memory, or from its journal.
    pub(crate) async fn snapshot(
        &self,
        sessions: &Sessions,
        id: &SessionId,
    ) -> Result<Arc<SessionSnapshot>, RequestError> {
        let source = source(sessions, id).await;
        if let Some(source) = &source
            && let Some(kept) = self.get(source)
        {
            return Ok(kept);
        }
        let snapshot = sessions.snapshot(id).await?;
        // One that was taken up meanwhile has jobs that are followed.
        if let Some(source) = source.filter(|_| sessions.controller(id).is_none()) {
            self.put(source, snapshot.clone());
        }
        Ok(snapshot)
    }

    fn get(&self, source: &SnapshotSource) -> Option<Arc<SessionSnapshot>> {
        let kept = self.kept.lock();
        kept.iter().find(|(one, _)| one == source).map(|(_, snapshot)| snapshot.clone())
    }

    fn put(&self, source: SnapshotSource, snapshot: Arc<SessionSnapshot>) {
        let mut kept = self.kept.lock();
        kept.retain(|(one, _)| one.session != source.session);
        kept.push_front((source, snapshot));
        kept.truncate(MAX_KEPT_SNAPSHOTS);
    }
}

/// What the snapshot of a session would be made from; none if an actor has it in memory.
async fn source(sessions: &Sessions, id: &SessionId) -> Option<SnapshotSource> {
    if sessions.controller(id).is_some() {
        return None;
    }
    let entry = sessions.entry(id)?;
    let (base_dir, session) = (entry.base_dir.to_path_buf(), id.clone());
    // Before the journal is read: what is appended meanwhile makes it another one.
    let looked = blocking({
        let (base_dir, session) = (base_dir.clone(), session.clone());
        move || Ok(JournalStamp::of(&base_dir, &session))
    });
    let journal = looked.await.ok()??;
    Some(SnapshotSource { base_dir, session, foreign: entry.foreign, journal })
}

#[cfg(test)]
mod tests;
