//! Which jobs may run now. The queue drives the scheduler's pure board: every job is one command on
//! it, approved by the workflow or by the person who let its step start, and gets a slot in the
//! order in which jobs were asked for.
//!
//! The board decides; the runners do. A slot refers to the runner that has the job's process, and
//! the runner reads its pane and keeps its screen, each in a task of its own.
//!
//! All orchestrators of a process share one queue, so that the number of slots is the number of
//! jobs of the process (see `docs/design/0007-slots-of-the-daemon.md`).

mod job_board;

use std::fmt;
use std::sync::Arc;

use coven_model::{JobSpec, Timestamp};
use coven_scheduler::clock::{SchedulerClock, SystemClock};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use self::job_board::{JobBoard, QueuedJob};
use super::job::RunnerSlot;

/// How much there is to do for all that share a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Jobs that run. There are more than slots for a while when jobs that ran already were taken
    /// up from an earlier process.
    pub running: usize,
    /// Jobs that wait for a slot.
    pub queued: usize,
    /// How many may run at once.
    pub slots: usize,
}

/// A job that was let run: a line of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The job that was let run.
    pub job: String,
    /// Who let it run: a person, or `workflow`.
    pub by: String,
    /// Why it was let run.
    pub reason: String,
    /// When it was approved, by the queue's clock.
    pub at: Timestamp,
}

/// A slot in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotUse {
    /// The number of the slot, from 0. One that is not below the number of slots is beyond the
    /// limit, and gone when its job has ended.
    pub slot: usize,
    /// The job that has it.
    pub job: String,
    /// The domain in which the job's process is started.
    pub domain: String,
    /// Whether a runner follows the job's process now: not before it is started.
    pub followed: bool,
}

/// The queue of a process for slots. Clones are handles to the same queue.
#[derive(Clone)]
pub struct AdmissionQueue {
    shared: Arc<AdmissionState>,
}

struct AdmissionState {
    jobs: Mutex<JobBoard>,
    clock: Box<dyn SchedulerClock>,
}

impl fmt::Debug for AdmissionQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("AdmissionQueue").field(&self.load()).finish()
    }
}

impl AdmissionQueue {
    /// A queue for this many slots, at least one.
    pub fn new(slots: usize) -> Self {
        Self::with_clock(slots, SystemClock::new())
    }

    /// The same with another clock.
    pub(crate) fn with_clock(slots: usize, clock: impl SchedulerClock + 'static) -> Self {
        let jobs = Mutex::new(JobBoard::new(slots.max(1)));
        Self { shared: Arc::new(AdmissionState { jobs, clock: Box::new(clock) }) }
    }

    /// How many jobs run and wait, each counted once.
    pub fn load(&self) -> Load {
        self.jobs().load()
    }

    /// The slots in use, by their number.
    pub fn slots(&self) -> Vec<SlotUse> {
        self.jobs().slots()
    }

    /// The jobs that were let run lately, the newest last. The journals of the sessions have them
    /// all.
    pub fn admitted(&self) -> Vec<Admission> {
        self.jobs().admitted()
    }

    /// Access for one orchestrator.
    pub(super) fn join(&self) -> QueueMember {
        QueueMember { id: self.jobs().join(), queue: self.clone() }
    }

    fn jobs(&self) -> MutexGuard<'_, JobBoard> {
        self.shared.jobs.lock()
    }

    /// Changes something, and then lets begin what may begin.
    fn change<T>(&self, change: impl FnOnce(&mut JobBoard) -> T) -> T {
        let now = self.shared.clock.now();
        let mut jobs = self.jobs();
        let changed = change(&mut jobs);
        jobs.plan(now);
        changed
    }
}

/// One orchestrator's access to the queue. When it is closed or dropped, its waiting jobs leave the
/// queue; what runs keeps its slot until its end, and the jobs of others go on.
#[derive(Debug)]
pub(super) struct QueueMember {
    id: u64,
    queue: AdmissionQueue,
}

impl QueueMember {
    /// Puts a job at the end of the queue. Its runner will be found in `runner`.
    pub(super) fn enqueue(&self, spec: &JobSpec, runner: RunnerSlot) -> SlotRequest {
        let (grant, granted) = oneshot::channel();
        let job = QueuedJob::new(self.id, spec, runner, grant);
        let number = self.queue.change(|jobs| jobs.enqueue(job));
        SlotRequest { number, queue: self.queue.clone(), granted }
    }

    pub(super) fn queue(&self) -> &AdmissionQueue {
        &self.queue
    }

    /// Lets no job of this orchestrator begin any more.
    pub(super) fn close(&self) {
        let now = self.queue.shared.clock.now();
        // What was removed is dropped without the lock: its jobs wake up.
        let removed = self.queue.change(|jobs| jobs.close(self.id, now));
        drop(removed);
    }
}

impl Drop for QueueMember {
    fn drop(&mut self) {
        self.close();
    }
}

/// Why a job does not get a slot.
#[derive(Debug)]
pub(super) enum NoSlot {
    /// Nothing starts here any more. The job is started by the process that goes on with its
    /// session.
    Closed,
    /// The board refused it, for this reason.
    Refused(String),
}

/// A job's request for a slot, then its slot. Dropping it gives up both.
#[derive(Debug)]
pub(super) struct SlotRequest {
    number: Option<u64>,
    queue: AdmissionQueue,
    granted: oneshot::Receiver<Result<(), String>>,
}

impl SlotRequest {
    /// Waits until the job has its slot. May be waited for again if the wait was given up.
    pub(super) async fn granted(&mut self) -> Result<(), NoSlot> {
        match (&mut self.granted).await {
            Ok(granted) => granted.map_err(NoSlot::Refused),
            Err(_) => Err(NoSlot::Closed),
        }
    }

    /// The job runs already, because an earlier process started it: it has a slot at once, beyond
    /// the limit if there is none.
    pub(super) fn adopt(&self) {
        let now = self.queue.shared.clock.now();
        self.queue.change(|jobs| self.number.map(|number| jobs.adopt(number, now)));
    }

    /// The job's process was started.
    pub(super) fn started(&self) {
        let now = self.queue.shared.clock.now();
        self.queue.change(|jobs| self.number.map(|number| jobs.started(number, now)));
    }

    /// The job has ended: its slot is free.
    pub(super) fn ended(mut self, ok: bool) {
        self.release(Some(ok));
    }

    fn release(&mut self, ok: Option<bool>) {
        let now = self.queue.shared.clock.now();
        let released = self.number.take();
        let released =
            self.queue.change(|jobs| released.and_then(|number| jobs.release(number, ok, now)));
        drop(released);
    }
}

impl Drop for SlotRequest {
    fn drop(&mut self) {
        if self.number.is_some() {
            self.release(None);
        }
    }
}

#[cfg(test)]
mod tests;
