//! A command's way from the queue to its end: given to an agent, begun on a slot, running,
//! stopped, gone, read to the end.

use coven_runtime::domain::{ExitStatus, StopMode};

use super::{AgentAssignment, Board, BoardEffect, CommandState, DueDeadline};
use crate::agent::{AgentId, AgentState};
use crate::clock::Moment;
use crate::command::CommandId;
use crate::execution::{
    Execution, ExecutionFailure, ExecutionId, ExecutionOutcome, ExecutionState, StopCause,
};
use crate::scheduler::{IllegalTransition, Rule};
use crate::slot::SlotId;

/// An execution that has its slot and waits for its pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunExecution {
    /// The execution that began.
    pub execution: ExecutionId,
    /// The slot it was given.
    pub slot: SlotId,
}

impl Board {
    /// The first command in the queue that may start and the first agent that can take it. One
    /// that no idle agent can take does not keep others waiting.
    pub fn next_assignment(&self) -> Option<AgentAssignment> {
        let idle = || self.agents.iter().filter(|(_, agent)| agent.is_idle());
        idle().next()?;
        self.waiting.values().find_map(|&command| {
            let entry = self.commands.get(&command)?;
            if entry.state != CommandState::Queued || !self.dependencies_succeeded(command) {
                return None;
            }
            let (&agent, _) = idle().find(|(_, agent)| agent.can_all(&entry.capabilities))?;
            Some(AgentAssignment { command, agent })
        })
    }

    pub(super) fn dependencies_succeeded(&self, command: CommandId) -> bool {
        let succeeded = |id| self.commands.get(id).is_some_and(super::BoardEntry::has_succeeded);
        self.commands.get(&command).is_some_and(|entry| entry.dependencies.iter().all(succeeded))
    }

    /// Refuses a command while what it depends on has not succeeded.
    pub(super) fn require_dependencies(&self, command: CommandId) -> Result<(), IllegalTransition> {
        let open = IllegalTransition::DependenciesOpen(command);
        self.rules.require(Rule::DependenciesFirst, self.dependencies_succeeded(command), open)
    }

    /// Gives a command to an agent.
    pub fn assign(
        &mut self,
        AgentAssignment { command, agent }: AgentAssignment,
    ) -> Result<(), IllegalTransition> {
        self.transition(|board| {
            let rules = board.rules;
            let entry =
                board.commands.get(&command).ok_or(IllegalTransition::NoSuchCommand(command))?;
            let taker = board.agents.get(&agent).ok_or(IllegalTransition::NoSuchAgent(agent))?;
            let (unapproved, assigned, over) = match &entry.state {
                CommandState::AwaitingApproval => (true, false, None),
                CommandState::Queued => (false, false, None),
                CommandState::Assigned { .. } => (false, true, None),
                CommandState::Executing { .. } => {
                    return Err(IllegalTransition::AlreadyBegun(command));
                }
                CommandState::Ended { outcome: ExecutionOutcome::Failed(_), .. } => {
                    (false, false, Some(Rule::FailedIsOver))
                }
                CommandState::Ended { .. } => (false, false, Some(Rule::EndedIsOver)),
            };
            rules.require(
                Rule::ApprovedFirst,
                !unapproved,
                IllegalTransition::NotApproved(command),
            )?;
            rules.require(
                Rule::AssignedOnce,
                !assigned,
                IllegalTransition::AlreadyAssigned(command),
            )?;
            if let Some(rule) = over {
                rules.require(rule, false, IllegalTransition::AlreadyBegun(command))?;
            }
            board.require_dependencies(command)?;
            if !taker.is_idle() {
                return Err(IllegalTransition::AgentBusy(agent));
            }
            if let Some(capability) = taker.first_missing(&entry.capabilities).cloned() {
                let not_able = IllegalTransition::NotCapable { agent, command, capability };
                rules.require(Rule::CapableOnly, false, not_able)?;
            }

            let place = entry.place;
            board.waiting.remove(&place);
            board.entry(command)?.state = CommandState::Assigned { agent };
            board.set_agent(agent, AgentState::Assigned { command });
            Ok(())
        })
    }

    /// The commands that agents have and that have not begun, in the order of the queue.
    pub fn assigned(&self) -> Vec<CommandId> {
        let assigned = self.agents.values().filter_map(|agent| match agent.state {
            AgentState::Assigned { command } => Some((self.commands.get(&command)?.place, command)),
            _ => None,
        });
        let mut assigned: Vec<_> = assigned.collect();
        assigned.sort_unstable();
        assigned.into_iter().map(|(_, command)| command).collect()
    }

    /// Begins a command that an agent has: it gets a slot, and its pane may be started.
    pub fn begin(&mut self, command: CommandId) -> Result<BegunExecution, IllegalTransition> {
        self.transition(|board| {
            let entry = board.entry(command)?;
            let CommandState::Assigned { agent } = entry.state else {
                return Err(IllegalTransition::NotAssigned(command));
            };
            let slots = board.limits.slots;
            let slot = board.free_slot().ok_or(IllegalTransition::NoTerminalsAvailable(slots))?;
            let state = ExecutionState::Starting { cancelled: false };
            board.execute(Execution { command, agent, slot, state, adopted: false })
        })
    }

    /// Puts an execution on the board: its slot, its agent and its command know of it.
    pub(super) fn execute(&mut self, run: Execution) -> Result<BegunExecution, IllegalTransition> {
        let Execution { command, agent, slot, .. } = run;
        let execution = ExecutionId(self.next_execution);
        self.entry(command)?.state = CommandState::Executing { execution };
        self.next_execution += 1;
        self.hold_slot(slot, execution);
        self.set_agent(agent, AgentState::Executing { execution });
        self.executions.insert(execution, run);
        Ok(BegunExecution { execution, slot })
    }

    /// The pane is there. One whose command was cancelled meanwhile is stopped.
    pub fn started(
        &mut self,
        id: ExecutionId,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        self.transition(|board| match board.run(id)?.state {
            ExecutionState::Starting { cancelled: false } => {
                board.set_state(id, ExecutionState::Running)?;
                Ok(Vec::new())
            }
            ExecutionState::Starting { cancelled: true } => {
                board.stop(id, StopCause::Cancelled, now)
            }
            _ => Err(IllegalTransition::WrongState(id)),
        })
    }

    /// The pane could not be started: the execution is over and its slot is free.
    pub fn not_started(
        &mut self,
        id: ExecutionId,
        reason: ExecutionFailure,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        self.transition(|board| match board.run(id)?.state {
            ExecutionState::Starting { cancelled: false } => {
                board.finish(id, ExecutionState::Failed { reason }, now)
            }
            ExecutionState::Starting { cancelled: true } => {
                board.finish(id, ExecutionState::Cancelled { exit: None }, now)
            }
            _ => Err(IllegalTransition::WrongState(id)),
        })
    }

    /// The pane cannot be used any more. Its process is ended by force: it can be asked nothing.
    /// The execution will have failed unless it was being cancelled or was over already.
    pub fn broken(
        &mut self,
        id: ExecutionId,
        error: String,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        self.transition(|board| match board.run(id)?.state {
            ExecutionState::Running => board.force(id, StopCause::Broken(error), now),
            ExecutionState::Stopping { .. } | ExecutionState::Draining { .. } => Ok(Vec::new()),
            _ => Err(IllegalTransition::WrongState(id)),
        })
    }

    /// The process and everything it started are gone. What it printed last is still to be read.
    pub fn exited(
        &mut self,
        id: ExecutionId,
        exit: Option<ExitStatus>,
        now: Moment,
    ) -> Result<(), IllegalTransition> {
        self.transition(|board| {
            let cause = match &board.run(id)?.state {
                ExecutionState::Running => None,
                ExecutionState::Stopping { cause, .. } => Some(cause.clone()),
                _ => return Err(IllegalTransition::WrongState(id)),
            };
            if !board.rules.obeys(Rule::SlotsAreHeldToTheEnd) {
                let slot = board.run(id)?.slot;
                board.free(slot);
            }
            let until = now.after(board.limits.drain_grace);
            board.set_state(id, ExecutionState::Draining { exit, cause, until })
        })
    }

    /// The output has been read to its end: the execution is over.
    pub fn drained(
        &mut self,
        id: ExecutionId,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        self.transition(|board| board.finish_drained(id, now))
    }

    pub(super) fn finish_drained(
        &mut self,
        id: ExecutionId,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        match &self.run(id)?.state {
            ExecutionState::Draining { exit, cause, .. } => {
                let state = ExecutionState::after(*exit, cause.clone());
                self.finish(id, state, now)
            }
            _ => Err(IllegalTransition::WrongState(id)),
        }
    }

    /// Asks a process to end.
    pub(super) fn stop(
        &mut self,
        execution: ExecutionId,
        cause: StopCause,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        let grace = self.limits.stop_grace;
        self.set_state(execution, ExecutionState::Stopping { cause, force: now.after(grace) })?;
        Ok(vec![BoardEffect::Stop { execution, stop: StopMode::Polite { grace } }])
    }

    /// Ends an execution: its slot is free, its agent idle and its command over.
    fn finish(
        &mut self,
        id: ExecutionId,
        state: ExecutionState,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        let outcome = state.outcome().ok_or(IllegalTransition::WrongState(id))?;
        self.set_state(id, state)?;
        let Execution { command, agent, slot, .. } = *self.run(id)?;
        if self.rules.obeys(Rule::SlotsAreGivenBack) {
            self.free(slot);
        }
        if self.rules.obeys(Rule::AgentsReturn) {
            self.release_agent(agent);
        }
        Ok(self.end(command, Some(id), outcome, now))
    }

    pub(super) fn run(&mut self, id: ExecutionId) -> Result<&mut Execution, IllegalTransition> {
        self.executions.get_mut(&id).ok_or(IllegalTransition::NoSuchExecution(id))
    }

    /// Moves an execution on, and its deadline with it.
    pub(super) fn set_state(
        &mut self,
        id: ExecutionId,
        state: ExecutionState,
    ) -> Result<(), IllegalTransition> {
        let after = state.deadline();
        let before = std::mem::replace(&mut self.run(id)?.state, state).deadline();
        self.drop_deadline(before, DueDeadline::Execution(id));
        self.note_deadline(after, DueDeadline::Execution(id));
        Ok(())
    }

    pub(super) fn set_agent(&mut self, id: AgentId, state: AgentState) {
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.state = state;
        }
    }

    /// An agent has nothing to do any more. One that was hired for its command leaves.
    pub(super) fn release_agent(&mut self, id: AgentId) {
        if self.agents.get(&id).is_some_and(|agent| agent.temporary) {
            self.agents.remove(&id);
        } else {
            self.set_agent(id, AgentState::Idle);
        }
    }
}
