//! Begins a job, as often as it takes while the disk has no room for what is kept of it: its session
//! waits for disk space meanwhile, and can be cancelled.

use coven_model::ProcessEnding;
use tokio::sync::mpsc;

use super::begin::{BegunJob, NotBegun};
use super::{JobOrder, RunningJob, blocking, failed, stopped};
use crate::state::STORAGE_RETRY;

/// The reason of the outcome of a job that was stopped in time.
const NOT_BEGUN_REASON: &str = "it was stopped before it began";

impl RunningJob {
    /// Begins the job, or takes it up. Nothing if its session lets go of it before.
    pub(super) async fn begin(
        &mut self,
        started: bool,
        orders: &mut mpsc::Receiver<JobOrder>,
        early: &mut Vec<JobOrder>,
    ) -> Option<Result<BegunJob, NotBegun>> {
        let mut told = false;
        let begun = loop {
            let details = self.details.clone();
            let problem = match blocking(move || details.begin(started)).await {
                Err(NotBegun::Full(problem)) => problem,
                begun => break begun,
            };
            self.live.storage_fails(&self.id(), &mut told, problem);
            tokio::select! {
                () = tokio::time::sleep(STORAGE_RETRY) => {}
                stopped = stopped(orders, early) => {
                    if !stopped {
                        return None;
                    }
                    break Err(self.stopped_before().await);
                }
            }
        };
        if told {
            self.live.storage_recovers(&self.id());
        }
        Some(begun)
    }

    /// The end of a job that was stopped before it began.
    pub(super) async fn stopped_before(&self) -> NotBegun {
        let details = self.details.clone();
        blocking(move || details.mark_killed()).await;
        NotBegun::Ended(Box::new(failed(ProcessEnding::Stopped, NOT_BEGUN_REASON.to_owned())))
    }
}
