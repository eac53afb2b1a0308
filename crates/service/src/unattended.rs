//! Jobs that nobody follows: their holders run, and their session is gone or cannot be read. They
//! are told of, and end when all agents are to end.

use coven_api::system::UnattendedJob;
use coven_model::SessionId;
use coven_orchestrator::blocking;
use coven_runtime::hold::HolderEntry;

use crate::service::Service;
use crate::sessions::Sessions;

impl Service {
    /// The jobs that run and that nobody follows. None is known of while a folder is being opened:
    /// any job may be one of its sessions.
    pub(crate) async fn unattended(&self) -> Vec<HolderEntry> {
        let registry = self.holders();
        let running = blocking(move || registry.running()).await.unwrap_or_default();
        if running.is_empty() || self.base_dirs().iter().any(|base| base.is_opening()) {
            return Vec::new();
        }
        let sessions = self.sessions().await;
        let mut unattended = Vec::new();
        for entry in running {
            if !is_followed(&sessions, &entry).await {
                unattended.push(entry);
            }
        }
        unattended
    }

    /// The same for a status.
    pub(crate) async fn unattended_jobs(&self) -> Vec<UnattendedJob> {
        let found = self.unattended().await;
        found
            .into_iter()
            .map(|entry| UnattendedJob { job: entry.job, pid: entry.holder.pid })
            .collect()
    }

    /// Ends jobs that nobody follows, and waits until they have ended.
    pub(crate) async fn end_unattended(&self, jobs: Vec<HolderEntry>) {
        let registry = self.holders();
        blocking(move || {
            for entry in &jobs {
                tracing::info!(job = entry.job, "ends a job that nobody follows");
                if let Err(error) = registry.end(entry) {
                    tracing::warn!(job = entry.job, "cannot be ended: {error}");
                }
            }
        })
        .await;
    }
}

/// Whether a session knows of a job: it is in memory, left the job alive on purpose, or can be
/// taken up again.
async fn is_followed(all: &[Sessions], entry: &HolderEntry) -> bool {
    let Ok(id) = SessionId::new(entry.session()) else { return false };
    for sessions in all {
        let Some(listed) = sessions.entry(&id).filter(|listed| !listed.foreign) else { continue };
        if sessions.controller(&id).is_some() {
            return true;
        }
        let may_have_jobs = listed.kept || !listed.status.is_final();
        if listed.problem.is_none() && may_have_jobs && sessions.snapshot(&id).await.is_ok() {
            return true;
        }
    }
    false
}
