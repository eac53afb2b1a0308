//! Where the process of a job is found, and whether the job waits for a slot.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Runner;

/// Where a job shows its process while it is followed, and before that whether it waits for a slot
/// of the daemon.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunnerSlot(Arc<Mutex<RunnerPhase>>);

#[derive(Clone, Debug, Default)]
enum RunnerPhase {
    /// As many jobs run as may at once.
    Queued,
    /// Its process is not there yet, or not any more.
    #[default]
    NotFollowed,
    Followed(Runner),
}

impl RunnerSlot {
    pub(crate) fn get(&self) -> Option<Runner> {
        match &*self.0.lock() {
            RunnerPhase::Followed(runner) => Some(runner.clone()),
            RunnerPhase::Queued | RunnerPhase::NotFollowed => None,
        }
    }

    pub(crate) fn is_queued(&self) -> bool {
        matches!(&*self.0.lock(), RunnerPhase::Queued)
    }

    /// The job waits for a slot from now on.
    pub(in crate::engine) fn wait_for_slot(&self) {
        *self.0.lock() = RunnerPhase::Queued;
    }

    /// The job does not wait for a slot any more.
    pub(in crate::engine) fn end_wait(&self) {
        let mut phase = self.0.lock();
        if matches!(*phase, RunnerPhase::Queued) {
            *phase = RunnerPhase::NotFollowed;
        }
    }

    pub(super) fn set(&self, runner: Option<Runner>) {
        *self.0.lock() = runner.map_or(RunnerPhase::NotFollowed, RunnerPhase::Followed);
    }
}
