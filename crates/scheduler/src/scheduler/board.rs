//! The board: everything the scheduler knows and decides, without any of the world in it.
//!
//! It is a value: cloneable, comparable, hashable. Nothing on it runs, waits, reads a clock or
//! fails half-way: a transition either happens as a whole or is [`IllegalTransition`] and changes nothing.
//! What is to be done about the world comes back as [`BoardEffect`]s. So the very code that schedules
//! can be taken through every state it can reach (see `model.rs`).

mod adoption;
mod intake;
mod progress;
mod time;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coven_runtime::domain::StopMode;

use super::rules::{Rule, Rules};
use crate::agent::{AgentId, AgentRecord};
use crate::approval::{ApprovalId, Approvals};
use crate::clock::Moment;
use crate::command::{AgentCommand, Capability, CommandId, Permission};
use crate::execution::{Execution, ExecutionId, ExecutionOutcome};
use crate::invariants;
use crate::scheduler::IllegalTransition;
use crate::slot::SlotId;

pub use progress::BegunExecution;

/// How many there may be, and how long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BoardLimits {
    /// How many agents there may be at a time.
    pub agents: usize,
    /// How many commands may run at a time.
    pub slots: usize,
    /// How many commands may wait for an agent at a time; any number for none.
    pub queue: Option<usize>,
    /// How long a process may take to end after it was asked to, before it is ended by force.
    pub stop_grace: Duration,
    /// How long the end of the output may take to come after the process has ended.
    pub drain_grace: Duration,
}

/// What the board needs to know of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandTicket {
    /// The id of the command.
    pub id: CommandId,
    /// What its agent must be capable of, all of it.
    pub capabilities: BTreeSet<Capability>,
    /// What must have succeeded before.
    pub dependencies: Vec<CommandId>,
    /// Who lets it run.
    pub approval: Permission,
}

impl From<&AgentCommand> for CommandTicket {
    fn from(command: &AgentCommand) -> Self {
        Self {
            id: command.id,
            capabilities: command.capabilities.clone(),
            dependencies: command.dependencies.clone(),
            approval: command.approval.clone(),
        }
    }
}

/// Where a command stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommandState {
    /// The command needs an approval.
    AwaitingApproval,
    /// It waits for what it depends on, or for an agent.
    Queued,
    /// It waits for a slot.
    Assigned {
        /// The agent that has it.
        agent: AgentId,
    },
    /// The command has an execution.
    Executing {
        /// The execution of the command.
        execution: ExecutionId,
    },
    /// The command ended, executed or not.
    Ended {
        /// Its run, if it ever began.
        execution: Option<ExecutionId>,
        /// How the command ended.
        outcome: ExecutionOutcome,
    },
}

/// A command on the board.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BoardEntry {
    pub(crate) capabilities: BTreeSet<Capability>,
    pub(crate) dependencies: Vec<CommandId>,
    pub(crate) approval: ApprovalId,
    /// Its place in the queue.
    pub(crate) place: u64,
    pub(crate) state: CommandState,
    pub(crate) cancelled: Option<CancelledStage>,
}

/// How far a command was when it was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CancelledStage {
    BeforeItBegan,
    During(ExecutionId),
}

impl BoardEntry {
    /// The state of the command.
    pub fn state(&self) -> &CommandState {
        &self.state
    }

    /// The request for its approval.
    pub fn approval(&self) -> ApprovalId {
        self.approval
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<&ExecutionOutcome> {
        match &self.state {
            CommandState::Ended { outcome, .. } => Some(outcome),
            _ => None,
        }
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        self.outcome() == Some(&ExecutionOutcome::Succeeded)
    }
}

/// A command and the agent it is given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AgentAssignment {
    /// The command this is about.
    pub command: CommandId,
    /// The agent that gets it.
    pub agent: AgentId,
}

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndedCommand {
    /// The command this is about.
    pub command: CommandId,
    /// Its run, if it ever began.
    pub execution: Option<ExecutionId>,
    /// How the command ended.
    pub outcome: ExecutionOutcome,
}

/// What a transition asks the owner of the panes to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardEffect {
    /// No decision came in time.
    TimedOut(ApprovalId),
    /// A process has to be ended.
    Stop {
        /// The execution whose process is stopped.
        execution: ExecutionId,
        /// How the process is stopped.
        stop: StopMode,
    },
    /// A command is over. Comes once for each.
    Ended(EndedCommand),
}

/// What has a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DueDeadline {
    Approval(ApprovalId),
    Execution(ExecutionId),
}

/// Who is there, what is queued, what runs and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Board {
    pub(crate) limits: BoardLimits,
    pub(crate) agents: BTreeMap<AgentId, AgentRecord>,
    pub(crate) commands: BTreeMap<CommandId, BoardEntry>,
    /// Commands that no agent has yet, by their place in the queue.
    pub(crate) waiting: BTreeMap<u64, CommandId>,
    pub(crate) executions: BTreeMap<ExecutionId, Execution>,
    /// Who holds each slot. Those beyond the limit are there only while commands that ran already
    /// hold them.
    pub(crate) slots: Vec<Option<ExecutionId>>,
    pub(crate) approvals: Approvals,
    pub(crate) deadlines: BTreeSet<(Moment, DueDeadline)>,
    pub(crate) next_agent: u64,
    pub(crate) next_place: u64,
    pub(crate) next_execution: u64,
    /// Ids up to this one that are not on the board are used up.
    pub(crate) forgotten: Option<CommandId>,
    pub(crate) rules: Rules,
}

impl Board {
    /// A board without agents and commands.
    pub fn new(limits: BoardLimits) -> Self {
        Self {
            limits,
            agents: BTreeMap::new(),
            commands: BTreeMap::new(),
            waiting: BTreeMap::new(),
            executions: BTreeMap::new(),
            slots: vec![None; limits.slots],
            approvals: Approvals::default(),
            deadlines: BTreeSet::new(),
            next_agent: 0,
            next_place: 0,
            next_execution: 0,
            forgotten: None,
            rules: Rules::default(),
        }
    }

    /// A board on which one rule does not hold.
    #[cfg(test)]
    pub(crate) fn breaking(limits: BoardLimits, rule: Option<Rule>) -> Self {
        let mut board = Self::new(limits);
        board.rules.broken = rule;
        board.rules.unexamined = true;
        board.approvals.rules.broken = rule;
        board
    }

    /// The agent with this id.
    pub fn agent(&self, id: AgentId) -> Option<&AgentRecord> {
        self.agents.get(&id)
    }

    /// The command with this id.
    pub fn command(&self, id: CommandId) -> Option<&BoardEntry> {
        self.commands.get(&id)
    }

    /// The execution with this id.
    pub fn execution(&self, id: ExecutionId) -> Option<&Execution> {
        self.executions.get(&id)
    }

    /// The requests for approval.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// The executions that hold a slot, by slot.
    pub fn live(&self) -> impl Iterator<Item = ExecutionId> {
        self.slots.iter().flatten().copied()
    }

    /// How many commands may begin now. None may while more run than there are slots, also when
    /// one of those within the limit has ended.
    pub fn free_slots(&self) -> usize {
        self.limits.slots.saturating_sub(self.live().count())
    }

    /// How many there may be, and how long things may take.
    pub fn limits(&self) -> BoardLimits {
        self.limits
    }

    /// The commands that have not ended.
    pub fn unfinished(&self) -> impl Iterator<Item = CommandId> {
        let is_over = |entry: &BoardEntry| entry.outcome().is_some();
        self.commands.iter().filter(move |(_, entry)| !is_over(entry)).map(|(id, _)| *id)
    }

    /// When something has to be done although nothing happens.
    pub fn next_deadline(&self) -> Option<Moment> {
        self.deadlines.first().map(|(moment, _)| *moment)
    }

    /// Every change goes through here: in debug builds all invariants are checked after it.
    fn transition<T>(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<T, IllegalTransition>,
    ) -> Result<T, IllegalTransition> {
        let result = change(self)?;
        if self.rules.are_examined() {
            let checked = invariants::check(self);
            debug_assert!(checked.is_ok(), "{checked:?}");
        }
        Ok(result)
    }

    fn entry(&mut self, id: CommandId) -> Result<&mut BoardEntry, IllegalTransition> {
        self.commands.get_mut(&id).ok_or(IllegalTransition::NoSuchCommand(id))
    }

    fn free_slot(&self) -> Option<SlotId> {
        if !self.rules.obeys(Rule::SlotsServeOne) {
            return Some(SlotId(0));
        }
        let free = self.free_slots() > 0 || !self.rules.obeys(Rule::BeginWithinTheLimit);
        free.then(|| self.unused_slot())
    }

    /// The first slot that no execution holds, which may be one that is not there yet.
    fn unused_slot(&self) -> SlotId {
        let unused = self.slots.iter().position(Option::is_none);
        SlotId(unused.unwrap_or(self.slots.len()))
    }

    fn hold_slot(&mut self, slot: SlotId, execution: ExecutionId) {
        if self.slots.len() <= slot.0 {
            self.slots.resize(slot.0 + 1, None);
        }
        self.slots[slot.0] = Some(execution);
    }

    /// Frees a slot. One beyond the limit is gone with it.
    fn free(&mut self, slot: SlotId) {
        if let Some(holder) = self.slots.get_mut(slot.0) {
            *holder = None;
        }
        while self.slots.len() > self.limits.slots && self.slots.last() == Some(&None) {
            self.slots.pop();
        }
    }
}
