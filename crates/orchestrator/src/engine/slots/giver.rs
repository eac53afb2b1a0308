//! Gives the slots: hands commands to the runtime, lets it tick, and forgets what has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use coven_scheduler::agent_runtime::{AgentRuntime, RuntimeConfig};
use coven_scheduler::command::{Capability, Command, CommandId, Environment};
use coven_scheduler::drive::Driver;
use coven_scheduler::scheduler::{CommandState, TickResult};

use super::domain::{Offers, SlotDomain};
use super::{Admission, Comer, Desk, Gate, Wish};
use crate::state::now;

/// How many commands wait at the runtime; all others wait here, in the same order. The runtime
/// looks at every command it has when one ends, and in debug builds after every step, so a long
/// queue of its own would cost as much for each job as there are jobs.
pub(super) const AT_THE_RUNTIME: usize = 32;

/// How many decisions are remembered. The journals of the sessions have them all.
const REMEMBERED: usize = 1024;

/// Who lets a job run that nobody had to be asked about.
const WORKFLOW: &str = "workflow";

/// The actor that has the runtime.
pub(super) struct Giver {
    desk: Arc<Desk>,
    runtime: AgentRuntime,
    driver: Driver,
    /// Those at the runtime that have no slot yet.
    offers: Offers,
    /// Those that are not at the runtime yet, in their order.
    queue: BTreeMap<u64, Box<Comer>>,
    /// Those that run without a slot.
    runs: BTreeSet<u64>,
}

impl Giver {
    /// One with a runtime of its own.
    pub(super) fn new(desk: Arc<Desk>, slots: usize) -> io::Result<Self> {
        let config = RuntimeConfig {
            max_agents: slots,
            // A stand-in prints nothing.
            output_limit: 0,
            ..RuntimeConfig::default()
        };
        let mut runtime = AgentRuntime::new(config)?;
        let offers = Offers::default();
        runtime.set_default_domain(Arc::new(SlotDomain::new(offers.clone())));
        for _ in 0..slots {
            let capable = [Capability::Agent, Capability::Shell];
            runtime.spawn_agent(&capable).map_err(io::Error::other)?;
        }
        let driver = Driver::new(&runtime)?;
        let (queue, runs) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self { desk, runtime, driver, offers, queue, runs })
    }

    pub(super) async fn run(mut self) {
        let desk = self.desk.clone();
        while desk.state().gate == Gate::Open {
            tokio::select! {
                // What jobs want goes first: when nothing is to start any more, nothing may.
                biased;
                () = desk.news.notified() => self.hear(),
                ticked = self.driver.tick(&mut self.runtime) => match ticked {
                    Ok(result) => self.settle(result),
                    // Without its descriptor nobody would ever hear that a slot is free.
                    Err(_) => return,
                },
            }
            self.hand_over();
            self.count();
        }
    }

    fn hear(&mut self) {
        let wishes = std::mem::take(&mut self.desk.state().wishes);
        for wish in wishes {
            match wish {
                Wish::Come(number, comer) => drop(self.queue.insert(number, comer)),
                Wish::Runs(number) => drop(self.runs.insert(number)),
                Wish::Leave(number) => self.leave(number),
            }
        }
    }

    /// A job that waited does not wait any more: its command is cancelled. The command of one that
    /// has its slot ends by itself, because the slot is gone.
    fn leave(&mut self, number: u64) {
        self.runs.remove(&number);
        self.queue.remove(&number);
        let command = CommandId(number);
        let entry = self.runtime.board().command(command);
        if entry.is_some_and(|entry| !matches!(entry.state(), CommandState::Executing { .. })) {
            // It may have ended, and is then about to be forgotten.
            self.runtime.cancel(command).ok();
        }
    }

    /// Hands commands to the runtime, as many as it may have at a time.
    fn hand_over(&mut self) {
        while self.offers.waiting() < AT_THE_RUNTIME
            && let Some((number, comer)) = self.queue.pop_first()
        {
            let Comer { job, capability, approved_by, offer } = *comer;
            let (by, reason) = match &approved_by {
                Some(person) => (person.as_str(), "let the step of the job start"),
                None => (WORKFLOW, "its turn in the workflow has come"),
            };
            let id = CommandId(number);
            let mut command = Command::program(id, [job.as_str()])
                .needing(capability)
                .approved_by(by, reason)
                .on_pipes();
            command.job = Some(number.to_string());
            command.env = Environment::Exactly(BTreeMap::new());
            command.cwd = Some("/".into());
            self.offers.put(number, offer);
            match self.runtime.queue_command(command) {
                Ok(()) => self.admit(id, job),
                Err(illegal) => self.offers.refuse(number, illegal.to_string()),
            }
        }
    }

    /// Keeps the line of the record, as the runtime has it.
    fn admit(&self, command: CommandId, job: String) {
        let board = self.runtime.board();
        let audit = board.command(command).and_then(|entry| {
            let approvals = board.approvals();
            approvals.audit(entry.approval()).cloned()
        });
        let Some(audit) = audit else { return };
        let mut state = self.desk.state();
        if state.admitted.len() == REMEMBERED {
            state.admitted.pop_front();
        }
        let (by, reason, at) = (audit.by, audit.reason, now());
        state.admitted.push_back(Admission { job, by, reason, at });
    }

    /// Forgets what has ended; its slot is free.
    fn settle(&mut self, result: TickResult) {
        for completion in result.completions {
            let number = completion.command.0;
            self.offers.refuse(number, completion.outcome.to_string());
            // Nothing depends on it, so it can be forgotten.
            self.runtime.forget(completion.command).ok();
        }
    }

    fn count(&mut self) {
        let slots = self.runtime.board().live().count();
        // One that got a slot meanwhile runs like all others.
        let (queue, offers) = (&self.queue, &self.offers);
        self.runs.retain(|number| queue.contains_key(number) || offers.has(*number));
        let waiting = self.queue.len() + self.offers.waiting();
        let load = &mut self.desk.state().load;
        load.running = slots + self.runs.len();
        load.queued = waiting.saturating_sub(self.runs.len());
    }
}

/// However the actor ends, nobody waits for it then.
impl Drop for Giver {
    fn drop(&mut self) {
        self.desk.close(Gate::Gone);
        self.offers.close();
    }
}
