//! Making foreign sessions the user's own.

use std::sync::Arc;

use coven_folder::best_effort;
use coven_model::{SessionId, WorkflowStatus};
use coven_store::SealKey;

use super::Orchestrator;
use crate::engine::trees::{moved_repository, repair_worktrees};
use crate::error::ImportFailed;
use crate::state::blocking::blocking;

impl Orchestrator {
    /// Makes a foreign session the user's own. `digest` is that of the journal that was looked at;
    /// with a key, only a journal that the key sealed. A run that was under way goes on: jobs that
    /// ran elsewhere are lost, which a person is asked about.
    pub async fn import(
        &self,
        id: &SessionId,
        digest: &str,
        key: Option<Arc<SealKey>>,
    ) -> Result<WorkflowStatus, ImportFailed> {
        let turn = self.shared.controllers.turn(id).await;
        let before = self.snapshot(id).await.ok();
        let (orchestrator, imported, digest) = (self.clone(), id.clone(), digest.to_owned());
        blocking(move || {
            let manager = &orchestrator.shared.manager;
            let record = before.as_ref().and_then(|before| before.state().run());
            let record = record.and_then(|run| run.identity.repository.as_deref());
            let base = manager.base();
            let place = record.and_then(|record| moved_repository(record, base.path()));
            manager.import(&imported, &digest, key.as_ref(), place.as_ref())?;
            if let Some(place) = place {
                best_effort("have trees find their repository again", repair_worktrees(&place));
            }
            if let Some(entry) = manager.entry(&imported) {
                let feed = &orchestrator.shared.options.feed;
                feed.take_up(&manager.base(), manager.authority(), &entry);
            }
            Ok::<_, ImportFailed>(())
        })
        .await?;
        let status = self.snapshot(id).await?.status();
        if matches!(status, WorkflowStatus::Running | WorkflowStatus::Blocked) {
            best_effort("go on with an imported session", self.attend_in(&turn, None).await);
        }
        Ok(status)
    }
}
