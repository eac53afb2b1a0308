//! The scheduler: carries out what the [`Board`] decides. It starts panes, reads them, stops them
//! and tells the board what became of it.
//!
//! Deciding is on the board and pure; everything here is doing. What it did is collected until
//! the report is taken.

mod board;
mod illegal;
#[cfg(test)]
mod model;
mod panes;
mod poller;
mod report;
mod rules;
mod turns;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use coven_runtime::domain::{DomainId, DomainRegistry, SpawnError};
use coven_terminal::screen::GridSize;

use crate::agent::AgentId;
use crate::approval::ApprovalId;
use crate::clock::Moment;
use crate::command::{AgentCommand, Capability, CommandId};
use crate::execution::{ExecutionFailure, ExecutionId};
use crate::slot::{SlotParts, TerminalSlot};
use panes::PaneTable;

pub use board::{
    AgentAssignment, BegunExecution, Board, BoardEffect, BoardEntry, BoardLimits, CommandState,
    CommandTicket, EndedCommand,
};
pub(crate) use board::{CancelledStage, DueDeadline};
pub use illegal::IllegalTransition;
pub use report::{Completion, Error, TickResult};
pub(crate) use rules::{Rule, Rules};

/// Tells schedulers of one process apart, for the names of jobs.
static SCHEDULERS: AtomicU64 = AtomicU64::new(0);

/// What a scheduler is to be like.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many there may be, and how long things may take.
    pub limits: BoardLimits,
    /// The size of a terminal unless a command asks for another.
    pub size: GridSize,
    /// How many bytes of each stream are kept in memory.
    pub keep: usize,
}

/// Runs commands on panes.
pub struct Scheduler {
    options: Options,
    board: Board,
    domains: DomainRegistry,
    /// What is to be run, for commands that have not ended.
    commands: BTreeMap<CommandId, AgentCommand>,
    panes: PaneTable,
    report: TickResult,
    /// Something changed that may let a command start.
    replan: bool,
    name: String,
}

impl Scheduler {
    /// A scheduler without agents and commands. It needs a descriptor of its own.
    pub fn new(options: Options) -> io::Result<Self> {
        let number = SCHEDULERS.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            options,
            board: Board::new(options.limits),
            domains: DomainRegistry::new(),
            commands: BTreeMap::new(),
            panes: PaneTable::new()?,
            report: TickResult::default(),
            replan: false,
            name: format!("{}.{number}", std::process::id()),
        })
    }

    /// The board that this scheduler carries out.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Where panes come from.
    pub fn domains_mut(&mut self) -> &mut DomainRegistry {
        &mut self.domains
    }

    /// The slot of an execution, from its start to its end.
    pub fn slot(&self, execution: ExecutionId) -> Option<&TerminalSlot> {
        self.panes.slot(execution)
    }

    pub(crate) fn slot_mut(
        &mut self,
        id: ExecutionId,
    ) -> Result<&mut TerminalSlot, IllegalTransition> {
        self.panes.slot_mut(id).ok_or(IllegalTransition::NotRunning(id))
    }

    /// Adds an agent with these capabilities.
    pub fn add_agent(&mut self, capabilities: &[Capability]) -> Result<AgentId, IllegalTransition> {
        self.replan = true;
        self.board.add_agent(capabilities)
    }

    /// Removes an agent that has nothing to do.
    pub fn remove_agent(&mut self, agent: AgentId) -> Result<(), IllegalTransition> {
        self.board.remove_agent(agent)
    }

    /// Takes a command in.
    pub fn queue(&mut self, command: AgentCommand, now: Moment) -> Result<(), IllegalTransition> {
        let effects = self.board.queue(&CommandTicket::from(&command), now)?;
        self.commands.insert(command.id, command);
        self.replan = true;
        self.act(effects);
        Ok(())
    }

    /// Lets a command run, or not.
    pub fn decide(
        &mut self,
        approval: ApprovalId,
        approve: bool,
        by: &str,
        reason: &str,
        now: Moment,
    ) -> Result<(), IllegalTransition> {
        let effects = self.board.decide(approval, approve, by, reason, now)?;
        self.replan = true;
        self.act(effects);
        Ok(())
    }

    /// Cancels a command. One that runs has ended when its process is gone.
    pub fn cancel(&mut self, command: CommandId, now: Moment) -> Result<(), IllegalTransition> {
        let effects = self.board.cancel(command, now)?;
        self.act(effects);
        Ok(())
    }

    /// Takes a command that has ended off the board.
    pub fn forget(&mut self, command: CommandId) -> Result<(), IllegalTransition> {
        self.board.forget(command)
    }

    /// Gives a command to an agent.
    pub fn assign(&mut self, assignment: AgentAssignment) -> Result<(), IllegalTransition> {
        self.board.assign(assignment)?;
        self.report.assignments.push(assignment);
        self.replan = true;
        Ok(())
    }

    /// Begins a command that an agent has: takes a slot and starts the pane.
    pub fn begin_execution(
        &mut self,
        command: CommandId,
        now: Moment,
    ) -> Result<ExecutionId, Error> {
        let begun = self.board.begin(command)?;
        let execution = begun.execution;
        match self.spawn(command, begun) {
            Ok(slot) => {
                let effects = self.board.started(execution, now)?;
                self.report.executions_started.push(execution);
                let watched = self.panes.insert(slot);
                self.act(effects);
                if let Err(error) = watched {
                    self.break_pane(execution, "watching it", error, now)?;
                }
                Ok(execution)
            }
            Err(source) => {
                let reason = ExecutionFailure::Spawn {
                    domain: self.place(command),
                    error: source.to_string(),
                };
                let effects = self.board.not_started(execution, reason, now)?;
                self.act(effects);
                Err(Error::SpawnFailed { command, execution, source })
            }
        }
    }

    /// Where a command starts, or was meant to.
    fn place(&self, id: CommandId) -> Option<DomainId> {
        let named = self.commands.get(&id)?.domain.as_ref();
        self.domains.get(named).map(|domain| domain.id()).or(named.cloned())
    }

    fn spawn(&self, id: CommandId, begun: BegunExecution) -> Result<TerminalSlot, SpawnError> {
        let command = self.commands.get(&id);
        let command = command.ok_or_else(|| SpawnError::Refused(format!("there is no {id}")))?;
        let domain = self.domains.get(command.domain.as_ref()).ok_or_else(|| {
            SpawnError::Refused(match &command.domain {
                Some(name) => format!("there is no domain `{name}`"),
                None => "there is no default domain".to_owned(),
            })
        })?;
        let job = format!("{}.{}", self.name, id.0);
        let config = command
            .spawn_config(self.options.size, &job)
            .map_err(|source| SpawnError::Io { step: "finding the working directory", source })?;
        let fitting = SlotParts {
            id: begun.slot,
            execution: begun.execution,
            domain: domain.id(),
            connection: config.connection,
            keep: self.options.keep,
        };
        Ok(TerminalSlot::new(fitting, domain.spawn(&config)?))
    }

    /// Gives ready commands to agents and begins what agents have, as far as asked for.
    pub fn plan(&mut self, assign: bool, execute: bool, now: Moment) {
        while std::mem::take(&mut self.replan) {
            while let Some(assignment) = self.board.next_assignment().filter(|_| assign) {
                if let Err(illegal) = self.board.assign(assignment) {
                    self.report.errors.push(illegal.into());
                    break;
                }
                self.report.assignments.push(assignment);
            }
            if execute {
                self.begin_assigned(now);
            }
        }
    }

    fn begin_assigned(&mut self, now: Moment) {
        for command in self.board.assigned() {
            match self.begin_execution(command, now) {
                Ok(_) => {}
                // It begins when one is free.
                Err(Error::Illegal(IllegalTransition::NoTerminalsAvailable(_))) => break,
                Err(error) => self.report.errors.push(error),
            }
        }
    }

    /// When something has to be done although no pane says anything; the beginning of time for at
    /// once. Nothing if only a pane or a caller can change anything.
    pub fn next_deadline(&self) -> Option<Moment> {
        let at_once = self.replan || self.report.has_news() || self.panes.want_a_turn();
        let at_once = at_once.then_some(Moment::BEGINNING);
        [at_once, self.board.next_deadline()].into_iter().flatten().min()
    }

    /// What happened since this was last asked.
    pub(crate) fn take_report(&mut self) -> TickResult {
        std::mem::take(&mut self.report)
    }
}

impl AsFd for Scheduler {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.panes.as_fd()
    }
}
