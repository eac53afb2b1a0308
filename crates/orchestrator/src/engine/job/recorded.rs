//! The outcome of a job, on the disk before anything follows from it.

use coven_model::{AttemptId, JobOutcome};
use coven_store::Attempt;
use coven_store::attempt::AttemptError;
use tokio::sync::mpsc;

use super::{JobOrder, LivePublisher};
use crate::state::blocking::blocking;
use crate::state::{STORAGE_RETRY, StorageProblem, may_pass};

/// Writes the outcome of a job down, as often as it takes: nothing may follow from it before. One
/// that was written down before counts. Nothing if the session lets go of the job first.
pub(super) async fn recorded(
    (job, attempt): (&AttemptId, &Attempt),
    outcome: JobOutcome,
    live: &LivePublisher,
    orders: &mut mpsc::Receiver<JobOrder>,
) -> Option<JobOutcome> {
    let mut told = false;
    loop {
        let (attempt, wanted) = (attempt.clone(), outcome.clone());
        let error = match blocking(move || attempt.decide(&wanted)).await {
            Ok(decided) => {
                if told {
                    live.storage_recovers(job);
                }
                return Some(decided);
            }
            Err(error) => error,
        };
        if !matches!(&error, AttemptError::File(error) if may_pass(error)) {
            // It will not be different the next time, and the session must go on.
            return Some(outcome);
        }
        live.storage_fails(job, &mut told, StorageProblem::of(&error));
        tokio::select! {
            () = tokio::time::sleep(STORAGE_RETRY) => {}
            () = closed(orders) => return None,
        }
    }
}

/// Waits until the session has dropped its handle to a job that needs no more orders.
async fn closed(orders: &mut mpsc::Receiver<JobOrder>) {
    while orders.recv().await.is_some() {}
}
