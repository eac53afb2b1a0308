//! The jobs of the queue and the board they are on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, UNIX_EPOCH};

use coven_model::{JobSpec, JobWork, Timestamp};
use coven_runtime::domain::{DomainId, ExitStatus};
use coven_scheduler::clock::Moment;
use coven_scheduler::command::{Capability, CommandId, Permission};
use coven_scheduler::execution::{Execution, ExecutionFailure, ExecutionId, ExecutionState};
use coven_scheduler::scheduler::{
    AgentAssignment, Board, BoardLimits, CommandState, CommandTicket, IllegalTransition,
};
use tokio::sync::oneshot;

use super::{Admission, Load, SlotUse};
use crate::engine::executor::HOLDER;
use crate::engine::job::RunnerSlot;

/// How many commands wait on the board; all other jobs wait in the backlog, in the same order. The
/// board looks at every command that waits when one ends, and in debug builds after every
/// transition, so a long queue on it would cost as much for each job as there are jobs.
pub(super) const MAX_WAITING_ON_BOARD: usize = 32;

/// How many decisions are remembered. The journals of the sessions have them all.
const MAX_ADMISSIONS: usize = 1024;

/// Lets jobs run whose step needs no approval of a person.
const WORKFLOW: &str = "workflow";

/// The board stops no process, the runners do, and what they report as ended has been read to the
/// end. So no deadline of the board's own ever comes up.
const NO_GRACE: Duration = Duration::ZERO;

/// A job in the queue or in a slot.
pub(super) struct QueuedJob {
    member: u64,
    name: String,
    capability: Capability,
    approved_by: Option<String>,
    domain: DomainId,
    /// Where the runner of the job's process is found once it is started.
    runner: RunnerSlot,
    grant: Option<oneshot::Sender<Result<(), String>>>,
    /// None while it is in the backlog.
    command: Option<CommandId>,
}

impl QueuedJob {
    pub(super) fn new(
        member: u64,
        spec: &JobSpec,
        runner: RunnerSlot,
        grant: oneshot::Sender<Result<(), String>>,
    ) -> Self {
        Self {
            member,
            name: spec.job.to_string(),
            capability: match spec.work {
                JobWork::Agent(_) => Capability::Agent,
                JobWork::Shell(_) => Capability::Shell,
            },
            approved_by: spec.approved_by.clone(),
            domain: DomainId(spec.domain.clone().unwrap_or_else(|| HOLDER.to_owned())),
            runner,
            grant: Some(grant),
            command: None,
        }
    }

    fn ticket(&self, id: CommandId) -> CommandTicket {
        let (by, reason) = match &self.approved_by {
            Some(person) => (person.as_str(), "let the step of the job start"),
            None => (WORKFLOW, "its turn in the workflow has come"),
        };
        CommandTicket {
            id,
            capabilities: [self.capability.clone()].into(),
            dependencies: Vec::new(),
            approval: Permission::Granted { by: by.to_owned(), reason: reason.to_owned() },
        }
    }

    fn answer(&mut self, answer: Result<(), IllegalTransition>) {
        self.runner.end_wait();
        if let Some(grant) = self.grant.take() {
            // A job that has given up waiting releases its slot itself.
            drop(grant.send(answer.map_err(|illegal| illegal.to_string())));
        }
    }
}

/// The board, and the jobs that are on it or wait to be.
pub(super) struct JobBoard {
    board: Board,
    jobs: BTreeMap<u64, QueuedJob>,
    /// Jobs that are not on the board yet, in their order.
    backlog: BTreeSet<u64>,
    /// The jobs on the board. Commands are numbered as they come to the board, because a job that
    /// is taken up passes all that wait.
    commands: BTreeMap<CommandId, u64>,
    /// The orchestrators whose jobs may begin.
    members: BTreeSet<u64>,
    admitted: VecDeque<Admission>,
    next_job: u64,
    next_command: u64,
    next_member: u64,
    /// The number of the pause that is on.
    paused: Option<u64>,
    next_pause: u64,
}

impl JobBoard {
    pub(super) fn new(slots: usize) -> Self {
        // The backlog keeps the queue on the board short, and jobs that are taken up pass it.
        let limits = BoardLimits {
            agents: slots,
            slots,
            queue: None,
            stop_grace: NO_GRACE,
            drain_grace: NO_GRACE,
        };
        Self {
            board: Board::new(limits),
            jobs: BTreeMap::new(),
            backlog: BTreeSet::new(),
            commands: BTreeMap::new(),
            members: BTreeSet::new(),
            admitted: VecDeque::new(),
            next_job: 0,
            next_command: 0,
            next_member: 0,
            paused: None,
            next_pause: 0,
        }
    }

    /// Lets nothing begin until the pause with this number ends.
    pub(super) fn begin_pause(&mut self) -> u64 {
        self.next_pause += 1;
        self.paused = Some(self.next_pause);
        self.next_pause
    }

    /// Ends a pause, unless another one is on.
    pub(super) fn end_pause(&mut self, number: u64) {
        self.paused = self.paused.filter(|paused| *paused != number);
    }

    pub(super) fn load(&self) -> Load {
        let running = self.board.live().count();
        let slots = self.board.limits().slots;
        Load { running, queued: self.jobs.len().saturating_sub(running), slots }
    }

    pub(super) fn admitted(&self) -> Vec<Admission> {
        self.admitted.iter().cloned().collect()
    }

    pub(super) fn slots(&self) -> Vec<SlotUse> {
        let in_use = self.board.live().filter_map(|id| {
            let execution = self.board.execution(id)?;
            let job = self.jobs.get(self.commands.get(&execution.command())?)?;
            Some(SlotUse {
                slot: execution.slot().0,
                job: job.name.clone(),
                domain: job.domain.to_string(),
                followed: job.runner.get().is_some(),
            })
        });
        in_use.collect()
    }

    pub(super) fn join(&mut self) -> u64 {
        let member = self.next_member;
        self.next_member += 1;
        self.members.insert(member);
        member
    }

    /// Takes a job in, and says its number. None if its orchestrator is closed.
    pub(super) fn enqueue(&mut self, job: QueuedJob) -> Option<u64> {
        if !self.members.contains(&job.member) {
            return None;
        }
        let number = self.next_job;
        self.next_job += 1;
        job.runner.wait_for_slot();
        self.jobs.insert(number, job);
        self.backlog.insert(number);
        Some(number)
    }

    /// Removes an orchestrator and its jobs that wait. Those that run keep their slots.
    pub(super) fn close(&mut self, member: u64, now: Moment) -> Vec<QueuedJob> {
        self.members.remove(&member);
        let own = self.jobs.iter().filter(|(_, job)| job.member == member);
        let waiting = own.filter(|(_, job)| self.execution(job).is_none());
        let waiting: Vec<u64> = waiting.map(|(number, _)| *number).collect();
        waiting.into_iter().filter_map(|number| self.release(number, None, now)).collect()
    }

    /// A job runs already.
    pub(super) fn adopt(&mut self, number: u64, now: Moment) {
        if self.backlog.remove(&number) {
            self.put_on_board(number, now);
        }
        let Some(command) = self.jobs.get(&number).and_then(|job| job.command) else { return };
        match self.board.adopt(command) {
            Ok(_) => self.admit(command),
            // It had got a slot in the meantime, and its process is there.
            Err(_) => self.started(number, now),
        }
    }

    /// The process of a job was started.
    pub(super) fn started(&mut self, number: u64, now: Moment) {
        let execution = self.jobs.get(&number).and_then(|job| self.execution(job));
        if let Some(execution) = execution {
            // One that was taken up is running from the beginning.
            drop(self.board.started(execution, now));
        }
    }

    /// Removes a job, however far it has come. `ok` is how it ended, if that is known.
    pub(super) fn release(
        &mut self,
        number: u64,
        ok: Option<bool>,
        now: Moment,
    ) -> Option<QueuedJob> {
        let job = self.jobs.remove(&number)?;
        job.runner.end_wait();
        self.backlog.remove(&number);
        if let Some(command) = job.command {
            self.commands.remove(&command);
            let over = self.end(command, &job, ok, now);
            let over = over.and_then(|()| self.board.forget(command));
            debug_assert!(over.is_ok(), "{} stays on the board: {over:?}", job.name);
        }
        Some(job)
    }

    fn end(
        &mut self,
        command: CommandId,
        job: &QueuedJob,
        ok: Option<bool>,
        now: Moment,
    ) -> Result<(), IllegalTransition> {
        let Some(execution) = self.execution(job) else {
            return self.board.cancel(command, now).map(drop);
        };
        let state = self.board.execution(execution).map(Execution::state);
        if matches!(state, Some(ExecutionState::Starting { .. })) {
            let error = "no process was started for it".to_owned();
            let reason = ExecutionFailure::Spawn { domain: Some(job.domain.clone()), error };
            return self.board.not_started(execution, reason, now).map(drop);
        }
        // Whether a job has failed is more than its exit code: its outcome says it.
        let exit = ok.map(|ok| ExitStatus::Code(i32::from(!ok)));
        self.board.exited(execution, exit, now)?;
        self.board.drained(execution, now).map(drop)
    }

    /// Lets begin what may begin: first come, first served.
    pub(super) fn plan(&mut self, now: Moment) {
        loop {
            while self.waiting_on_board() < MAX_WAITING_ON_BOARD
                && let Some(number) = self.backlog.pop_first()
            {
                self.put_on_board(number, now);
            }
            if self.paused.is_some() || self.board.free_slots() == 0 || !self.begin_next() {
                return;
            }
        }
    }

    /// Begins what the board says is next. Says whether anything has begun.
    fn begin_next(&mut self) -> bool {
        while let Some(assignment) = self.next_assignment() {
            if let Err(illegal) = self.board.assign(assignment) {
                debug_assert!(false, "the board refuses what it proposed: {illegal}");
                break;
            }
        }
        let mut begun = false;
        for command in self.board.assigned() {
            if self.board.begin(command).is_err() {
                break;
            }
            begun = true;
            self.admit(command);
        }
        begun
    }

    /// The next job and the agent of the board that takes it. There are as many agents as slots,
    /// made when they are first needed: the limit may be far above what ever runs.
    fn next_assignment(&mut self) -> Option<AgentAssignment> {
        if let Some(assignment) = self.board.next_assignment() {
            return Some(assignment);
        }
        if self.waiting_on_board() <= self.board.assigned().len() {
            return None;
        }
        self.board.add_agent(&[Capability::Agent, Capability::Shell]).ok()?;
        self.board.next_assignment()
    }

    fn waiting_on_board(&self) -> usize {
        self.commands.len().saturating_sub(self.board.live().count())
    }

    fn put_on_board(&mut self, number: u64, now: Moment) {
        let Some(job) = self.jobs.get_mut(&number) else { return };
        let command = CommandId(self.next_command);
        self.next_command += 1;
        match self.board.queue(&job.ticket(command), now) {
            Ok(_) => {
                job.command = Some(command);
                self.commands.insert(command, number);
            }
            Err(illegal) => job.answer(Err(illegal)),
        }
    }

    /// Tells a job that it has its slot, and writes down by whose leave.
    fn admit(&mut self, command: CommandId) {
        let number = self.commands.get(&command);
        let Some(job) = number.and_then(|number| self.jobs.get_mut(number)) else { return };
        job.answer(Ok(()));
        let entry = self.board.command(command);
        let audit = entry.and_then(|entry| self.board.approvals().audit(entry.approval()));
        let Some(audit) = audit else { return };
        if self.admitted.len() == MAX_ADMISSIONS {
            self.admitted.pop_front();
        }
        self.admitted.push_back(Admission {
            job: job.name.clone(),
            by: audit.by.clone(),
            reason: audit.reason.clone(),
            at: timestamp(audit.at),
        });
    }

    /// The execution of a job that has a slot.
    fn execution(&self, job: &QueuedJob) -> Option<ExecutionId> {
        match self.board.command(job.command?)?.state() {
            CommandState::Executing { execution } => Some(*execution),
            _ => None,
        }
    }
}

fn timestamp(moment: Moment) -> Timestamp {
    let since = moment.to_system_time().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let millis = since.unwrap_or_default().as_millis();
    Timestamp::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}
