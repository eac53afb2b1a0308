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
use std::sync::{Arc, Weak};
use std::time::Duration;

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
    /// The pause that is on, if there is one.
    pause: Mutex<Weak<PauseState>>,
}

/// How long a pause lasts at most. A folder whose disk hangs delays the jobs of others no longer.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// While a clone of it lives no job begins, up to [`MAX_PAUSE`]: jobs that run already are about to
/// be taken up, and each of them may need a slot that looks free.
#[derive(Clone)]
pub struct AdmissionPause {
    _state: Arc<PauseState>,
}

struct PauseState {
    number: u64,
    queue: AdmissionQueue,
}

impl fmt::Debug for AdmissionPause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AdmissionPause").finish_non_exhaustive()
    }
}

impl Drop for PauseState {
    fn drop(&mut self) {
        self.queue.change(|jobs| jobs.end_pause(self.number));
    }
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
        let pause = Mutex::default();
        Self { shared: Arc::new(AdmissionState { jobs, clock: Box::new(clock), pause }) }
    }

    /// Lets no job begin until jobs that run already are taken up, or for [`MAX_PAUSE`]. Must be
    /// called within a tokio runtime.
    pub fn pause(&self) -> AdmissionPause {
        let mut pause = self.shared.pause.lock();
        if let Some(state) = pause.upgrade() {
            return AdmissionPause { _state: state };
        }
        let number = self.jobs().begin_pause();
        let state = Arc::new(PauseState { number, queue: self.clone() });
        *pause = Arc::downgrade(&state);
        let queue = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(MAX_PAUSE).await;
            queue.change(|jobs| jobs.end_pause(number));
        });
        AdmissionPause { _state: state }
    }

    /// The pause that is on. Its holder is about to take up a job.
    pub(crate) fn current_pause(&self) -> Option<AdmissionPause> {
        self.shared.pause.lock().upgrade().map(|state| AdmissionPause { _state: state })
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
    /// Puts a job at the end of the queue. Its runner will be found in `runner`. One that is not new
    /// may run already, and keeps a pause on until that is known.
    pub(super) fn enqueue(&self, spec: &JobSpec, runner: RunnerSlot, is_new: bool) -> SlotRequest {
        let (grant, granted) = oneshot::channel();
        let job = QueuedJob::new(self.id, spec, runner, grant);
        let pause = if is_new { None } else { self.queue.current_pause() };
        let number = self.queue.change(|jobs| jobs.enqueue(job));
        SlotRequest { number, queue: self.queue.clone(), granted, pause }
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
    pause: Option<AdmissionPause>,
}

impl SlotRequest {
    /// It is known whether the job runs already.
    pub(super) fn is_looked_at(&mut self) {
        self.pause = None;
    }

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
