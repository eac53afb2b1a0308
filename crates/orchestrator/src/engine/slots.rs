//! Who may run now: every job of an orchestrator is one command of a runtime, which gives as many
//! of them a slot as there are, first come, first served.
//!
//! The runtime decides and keeps the record of who let a job run; it does not start the process.
//! The runner does, and keeps the process's pane, because reading an agent takes its screen. What
//! the runtime gets for a pane is a stand-in ([`StandIn`]) that knows two things: whether the job
//! still has its slot, and how the job ended. So nothing is read twice, and everything the runtime
//! promises of slots and approvals holds for jobs.
//!
//! Nothing here polls. A slot is one end of a pair of sockets and the stand-in has the other: when
//! a job lets go of its slot, the runtime's descriptor becomes readable.

mod domain;
mod giver;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coven_model::{JobSpec, Timestamp, Work};
use coven_scheduler::command::Capability;
use tokio::sync::{Notify, oneshot};

use giver::Giver;

/// How much an orchestrator has to do.
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
    /// The job.
    pub job: String,
    /// Who let it run: a person, or `workflow`.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// The slots of an orchestrator.
#[derive(Debug)]
pub(crate) struct Slots {
    desk: Arc<Desk>,
}

/// Where jobs leave what they want, and find what is known. What lies here is bounded by the jobs
/// there are: each comes once and leaves once.
#[derive(Debug, Default)]
struct Desk {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    wishes: Vec<Wish>,
    load: Load,
    admitted: VecDeque<Admission>,
    gate: Gate,
}

/// Whether slots are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gate {
    #[default]
    Open,
    /// Not any more, on purpose.
    Closed,
    /// Not any more, because whoever gave them failed.
    Gone,
}

/// Why a job does not get a slot.
#[derive(Debug)]
pub(crate) enum NoSlot {
    /// Nothing starts here any more. The job is started by whoever goes on with its session.
    Closed,
    /// There is none, for this reason.
    Failed(String),
}

/// What a job wants.
#[derive(Debug)]
enum Wish {
    /// A slot, when it is its turn.
    Come(u64, Box<Comer>),
    /// None any more.
    Leave(u64),
    /// To be counted as running although it has no slot yet.
    Runs(u64),
}

/// A job that wants a slot.
#[derive(Debug)]
struct Comer {
    job: String,
    capability: Capability,
    approved_by: Option<String>,
    offer: Offer,
}

/// Where a slot is handed over, or told why there is none.
type Offer = oneshot::Sender<Result<Slot, String>>;

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wish(&self, wish: Wish) {
        let mut state = self.state();
        if state.gate == Gate::Open {
            state.wishes.push(wish);
            drop(state);
            self.news.notify_one();
        }
    }

    /// Takes nothing in any more, and tells everybody who waits here by letting go of them.
    fn close(&self, gate: Gate) {
        let mut state = self.state();
        if state.gate == Gate::Open {
            state.gate = gate;
        }
        state.load = Load { slots: state.load.slots, ..Load::default() };
        let wishes = std::mem::take(&mut state.wishes);
        drop(state);
        drop(wishes);
    }
}

impl Slots {
    /// This many slots. Must be called within a tokio runtime that has I/O.
    pub(crate) fn new(slots: usize) -> io::Result<Self> {
        let desk = Arc::new(Desk::default());
        desk.state().load.slots = slots;
        tokio::spawn(Giver::new(desk.clone(), slots)?.run());
        Ok(Self { desk })
    }

    /// A place in the queue, behind all that were taken before.
    pub(crate) fn line_up(&self, spec: &JobSpec) -> Place {
        let (offer, taken) = oneshot::channel();
        let comer = Comer {
            job: spec.job.to_string(),
            capability: match spec.work {
                Work::Agent(_) => Capability::Agent,
                Work::Shell(_) => Capability::Shell,
            },
            approved_by: spec.approved_by.clone(),
            offer,
        };
        let mut state = self.desk.state();
        let number = state.next;
        state.next += 1;
        if state.gate == Gate::Open {
            state.wishes.push(Wish::Come(number, Box::new(comer)));
        }
        drop(state);
        self.desk.news.notify_one();
        Place { number, desk: self.desk.clone(), taken, slot: None }
    }

    /// Gives no slot any more, so that nothing starts in the places of those who let go.
    pub(crate) fn close(&self) {
        self.desk.close(Gate::Closed);
        self.desk.news.notify_one();
    }

    /// How much there is to do.
    pub(crate) fn load(&self) -> Load {
        self.desk.state().load
    }

    /// Who was let run lately, the newest last.
    pub(crate) fn admitted(&self) -> Vec<Admission> {
        self.desk.state().admitted.iter().cloned().collect()
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.close();
    }
}

/// A job's place in the queue, then its slot. Whoever drops it gives both up.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    desk: Arc<Desk>,
    taken: oneshot::Receiver<Result<Slot, String>>,
    slot: Option<Slot>,
}

impl Place {
    /// Waits until it is this job's turn. May be waited for again if the wait was given up.
    pub(crate) async fn turn(&mut self) -> Result<(), NoSlot> {
        let slot = match (&mut self.taken).await {
            Ok(slot) => slot.map_err(NoSlot::Failed)?,
            Err(_) if self.desk.state().gate == Gate::Closed => return Err(NoSlot::Closed),
            Err(_) => return Err(NoSlot::Failed("nobody gives slots any more".to_owned())),
        };
        self.slot = Some(slot);
        Ok(())
    }

    /// The job runs already, because an earlier process started it: it does not wait for its turn.
    /// If there is a slot it has one; if not, it runs beyond the limit and keeps its place, so that
    /// the next slot that becomes free is taken by it and not by one job more.
    pub(crate) fn runs_already(&self) {
        self.desk.wish(Wish::Runs(self.number));
    }

    /// The job has ended.
    pub(crate) fn ended(mut self, ok: bool) {
        let slot = self.slot.take().or_else(|| self.taken.try_recv().ok()?.ok());
        if let Some(mut slot) = slot {
            // If it cannot be told how the job ended, that it has ended is seen all the same.
            slot.end.write_all(&[u8::from(!ok)]).ok();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.desk.wish(Wish::Leave(self.number));
    }
}

/// A slot. Its end of the pair of sockets closes when it is dropped.
#[derive(Debug)]
struct Slot {
    end: UnixStream,
}

#[cfg(test)]
mod tests;
