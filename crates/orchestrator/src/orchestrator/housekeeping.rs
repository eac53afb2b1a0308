//! Removing sessions: on request, and old ones by themselves.

use std::sync::Arc;
use std::time::Duration;

use coven_model::SessionId;
use coven_store::SessionEntry;
use coven_workflow::SessionInput;
use tokio::time::MissedTickBehavior;

use super::Orchestrator;
use crate::error::RequestError;
use crate::state::PastSession;
use crate::state::blocking::blocking;
use coven_folder::best_effort;

/// How often the folders of sessions that are under way are looked after.
const FOLDER_INTERVAL: Duration = Duration::from_secs(5);

impl Orchestrator {
    /// Takes note of every session of this user, and tells what was written down and never told.
    /// Says which there are, newest first.
    pub(super) fn take_up(&self) -> Vec<SessionEntry> {
        let manager = &self.shared.manager;
        let mut entries = manager.list();
        // Nothing follows from a session that this user did not make.
        entries.retain(|entry| !entry.foreign);
        // In the order in which they were made, as far as there is one between sessions.
        for entry in entries.iter().rev() {
            self.shared.options.feed.take_up(&manager.base(), manager.authority(), entry);
        }
        entries.retain(|entry| !self.finish_removal(entry));
        entries
    }

    /// Removes a session where a process died while it was made, before anybody heard of it, or
    /// while it was given up, before its folder was gone. Says whether it did.
    fn finish_removal(&self, entry: &SessionEntry) -> bool {
        // Both have no view, or one that is behind its journal. What is damaged may be anything.
        if entry.fresh || entry.problem.is_some() {
            return false;
        }
        let look = self.shared.manager.look(&entry.id).map_err(RequestError::from);
        let nothing = look.and_then(PastSession::read).is_ok_and(|past| past.is_nothing());
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
        // Held until the folder is gone, so that nothing opens the session again before.
        let turn = self.shared.controllers.turn(id).await;
        if self.controller(id).is_none() {
            self.past(id).await?.state().admits(&SessionInput::Delete { by: by.to_owned() })?;
        }
        loop {
            let controller = self.attend_in(&turn, None).await?;
            let purged = controller.purge(by).await;
            if let Some(purged) = self.unless_left(&controller, purged).await {
                break purged?;
            }
        }
        self.shared.controllers.remove(id);
        let (orchestrator, id) = (self.clone(), id.clone());
        blocking(move || orchestrator.remove(&id)).await
    }

    /// Gives up the sessions that need not be kept any longer, and says which. One that is not
    /// over, has agents that were left alive, or was looked at just now stays.
    pub async fn sweep(&self) -> Vec<SessionId> {
        let mut gone = Vec::new();
        let in_memory = self.shared.controllers.in_memory();
        let needed = |id: &SessionId| in_memory.contains(id);
        for id in self.shared.manager.expired(&self.shared.options.retention, needed) {
            if self.is_closing() {
                break;
            }
            let name = self.entry(&id).map(|entry| entry.name).unwrap_or_default();
            let base = self.shared.manager.base();
            let base = base.path().display();
            match self.purge(&id, "retention").await {
                Ok(()) => {
                    let keep = self.shared.options.retention.keep;
                    tracing::info!(
                        session = %id, %base,
                        "{name} is deleted: {keep} that are over stay (retention in config.yaml)"
                    );
                    gone.push(id);
                }
                // It is tried again the next time.
                Err(error) => {
                    tracing::warn!(session = %id, %base, "{name} could not be deleted: {error}");
                }
            }
        }
        gone
    }

    /// Puts back what was deleted of sessions that are under way. One that is not whole any more
    /// says why in lists.
    pub(super) async fn put_back(&self) {
        for controller in self.shared.controllers.all() {
            if !controller.is_open() || controller.status().is_final() {
                continue;
            }
            let (files, id) = (controller.files(), controller.id().clone());
            let whole = blocking(move || files.put_back()).await;
            self.shared.manager.note_problem(&id, whole.err().map(|error| error.to_string()));
        }
    }

    /// Removes old sessions in the background, now and whenever a session has ended, and looks after
    /// the folders of those that are under way.
    pub(super) fn keep_house(&self) {
        let (shared, ended) = (Arc::downgrade(&self.shared), self.shared.ended.clone());
        ended.notify_one();
        let housekeeper = tokio::spawn(async move {
            let mut turns = tokio::time::interval(FOLDER_INTERVAL);
            turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                let looks = tokio::select! {
                    _ = turns.tick() => true,
                    () = ended.notified() => false,
                };
                let Some(shared) = shared.upgrade() else { return };
                let orchestrator = Self { shared };
                if orchestrator.is_closing() {
                    return;
                }
                if looks {
                    orchestrator.put_back().await;
                } else {
                    orchestrator.sweep().await;
                }
            }
        });
        let mut place = self.shared.housekeeper.lock();
        *place = Some(housekeeper);
    }

    /// Ends that, and waits until it has ended.
    pub(super) async fn leave_house(&self) {
        let housekeeper = {
            let mut place = self.shared.housekeeper.lock();
            place.take()
        };
        if let Some(housekeeper) = housekeeper {
            // Not cut short: work on the disk that it has begun holds the base directory.
            self.shared.ended.notify_one();
            best_effort("end the housekeeping", housekeeper.await);
        }
    }
}
