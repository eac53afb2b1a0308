//! Removing sessions: on request, and old ones by themselves.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use coven_model::SessionId;
use coven_store::Entry;
use coven_workflow::Input;

use super::Orchestrator;
use crate::error::RequestError;

impl Orchestrator {
    /// Takes note of every session of this user, and tells what was written down and never told.
    /// Says which there are, newest first.
    pub(super) fn take_up(&self) -> Vec<Entry> {
        let manager = &self.shared.manager;
        let mut entries = manager.list();
        // Nothing follows from a session that this user did not make.
        entries.retain(|entry| !entry.foreign);
        // In the order in which they were made, as far as there is one between sessions.
        for entry in entries.iter().rev() {
            self.shared.options.feed.take_up(&manager.base(), entry);
        }
        entries.retain(|entry| !self.finish_removal(entry));
        entries
    }

    /// Removes a session where a process died while it was made, before anybody heard of it, or
    /// while it was given up, before its folder was gone. Says whether it did.
    fn finish_removal(&self, entry: &Entry) -> bool {
        // Both have no view, or one that is behind its journal.
        if entry.fresh {
            return false;
        }
        let nothing = self.past(&entry.id).is_ok_and(|past| past.is_nothing());
        nothing && self.remove(&entry.id).is_ok()
    }

    fn remove(&self, id: &SessionId) -> Result<(), RequestError> {
        self.shared.manager.remove(id)?;
        self.shared.options.feed.forget(id);
        Ok(())
    }

    /// Gives up a session that is over: the agents that were left alive are stopped, that it was
    /// given up is told, then its folder goes with everything in it. A session that is not over is
    /// refused.
    pub async fn purge(&self, id: &SessionId, by: &str) -> Result<(), RequestError> {
        loop {
            if self.controller(id).await.is_none() {
                self.past(id)?.state().admits(&Input::Delete { by: by.to_owned() })?;
            }
            let controller = self.attend(id, None).await?;
            match controller.purge(by).await {
                Ok(()) => break,
                // It has just left the memory, and is opened again.
                Err(RequestError::Closing | RequestError::NotLive(_))
                    if !self.shared.closing.load(Ordering::Relaxed) =>
                {
                    controller.gone().await;
                }
                Err(error) => return Err(error),
            }
        }
        // Nobody may open it again before its folder is gone.
        let mut controllers = self.shared.controllers.write().await;
        controllers.remove(id);
        self.remove(id)
    }

    /// Gives up the sessions that need not be kept any longer, and says which. One that is not
    /// over, has agents that were left alive, or was looked at just now stays.
    pub async fn sweep(&self) -> Vec<SessionId> {
        let mut gone = Vec::new();
        let in_memory: Vec<SessionId> = {
            let mut controllers = self.shared.controllers.write().await;
            controllers.retain(|_, controller| controller.is_open());
            controllers.keys().cloned().collect()
        };
        let needed = |id: &SessionId| in_memory.contains(id);
        for id in self.shared.manager.expired(&self.shared.options.retention, needed) {
            // One that cannot be removed now is tried again the next time.
            if self.purge(&id, "retention").await.is_ok() {
                gone.push(id);
            }
        }
        gone
    }

    /// Removes old sessions in the background: now, and whenever a session has ended.
    pub(super) fn keep_house(&self) {
        let (shared, ended) = (Arc::downgrade(&self.shared), self.shared.ended.clone());
        ended.notify_one();
        let housekeeper = tokio::spawn(async move {
            loop {
                ended.notified().await;
                let Some(shared) = shared.upgrade() else { return };
                Self { shared }.sweep().await;
            }
        });
        let mut place = self.shared.housekeeper.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(housekeeper);
    }

    /// Ends that, and waits until it has ended.
    pub(super) async fn leave_house(&self) {
        let housekeeper = {
            let mut place = self.shared.housekeeper.lock().unwrap_or_else(PoisonError::into_inner);
            place.take()
        };
        if let Some(housekeeper) = housekeeper {
            housekeeper.abort();
            let _ = housekeeper.await;
        }
    }
}
