//! Where the process of a job is found, whether the job waits for a slot, and what is done for it
//! before and after its process.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Runner;
use super::look::FolderLook;

/// Where a job shows its process while it is followed, and before that whether it waits for a slot
/// of the daemon.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunnerSlot {
    phase: Arc<Mutex<RunnerPhase>>,
    look: Arc<Mutex<Option<FolderLook>>>,
}

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
        match &*self.phase.lock() {
            RunnerPhase::Followed(runner) => Some(runner.clone()),
            RunnerPhase::Queued | RunnerPhase::NotFollowed => None,
        }
    }

    pub(crate) fn is_queued(&self) -> bool {
        matches!(&*self.phase.lock(), RunnerPhase::Queued)
    }

    /// The job waits for a slot from now on.
    pub(in crate::engine) fn wait_for_slot(&self) {
        *self.phase.lock() = RunnerPhase::Queued;
    }

    /// The job does not wait for a slot any more.
    pub(in crate::engine) fn end_wait(&self) {
        let mut phase = self.phase.lock();
        if matches!(*phase, RunnerPhase::Queued) {
            *phase = RunnerPhase::NotFollowed;
        }
    }

    /// What is looked at for the job now, in words; nothing most of the time.
    pub(crate) fn look_words(&self) -> Option<String> {
        self.look.lock().as_ref().map(ToString::to_string)
    }

    /// Shows what is looked at, until that is over.
    pub(super) fn show_look<T>(&self, look: &FolderLook, work: impl FnOnce(&FolderLook) -> T) -> T {
        *self.look.lock() = Some(look.clone());
        let done = work(look);
        *self.look.lock() = None;
        done
    }

    pub(super) fn set(&self, runner: Option<Runner>) {
        *self.phase.lock() = runner.map_or(RunnerPhase::NotFollowed, RunnerPhase::Followed);
    }
}
