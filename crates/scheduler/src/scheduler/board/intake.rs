//! What comes from outside: agents, commands, decisions on them, and that they are not wanted any
//! more.

use std::collections::BTreeSet;

use super::{
    Board, BoardEffect, BoardEntry, CancelledStage, CommandState, CommandTicket, DueDeadline,
    EndedCommand,
};
use crate::agent::{AgentId, AgentRecord, AgentState};
use crate::approval::{ApprovalAudit, ApprovalDecision, ApprovalId, ApprovalVerdict};
use crate::clock::Moment;
use crate::command::{Capability, CommandId, Permission};
use crate::execution::{
    ExecutionFailure, ExecutionId, ExecutionOutcome, ExecutionState, StopCause,
};
use crate::scheduler::{IllegalTransition, Rule};

/// Who withdraws a question that became void.
const SCHEDULER: &str = "scheduler";

impl Board {
    /// Adds an agent with these capabilities.
    pub fn add_agent(&mut self, capabilities: &[Capability]) -> Result<AgentId, IllegalTransition> {
        self.transition(|board| {
            let permanent = board.agents.values().filter(|agent| !agent.temporary).count();
            if permanent >= board.limits.agents {
                return Err(IllegalTransition::TooManyAgents(board.limits.agents));
            }
            Ok(board.insert_agent(capabilities.iter().cloned().collect(), false))
        })
    }

    pub(super) fn insert_agent(
        &mut self,
        capabilities: BTreeSet<Capability>,
        temporary: bool,
    ) -> AgentId {
        let id = AgentId(self.next_agent);
        self.next_agent += 1;
        self.agents.insert(id, AgentRecord { capabilities, state: AgentState::Idle, temporary });
        id
    }

    /// Removes an agent that has nothing to do.
    pub fn remove_agent(&mut self, id: AgentId) -> Result<(), IllegalTransition> {
        self.transition(|board| {
            let agent = board.agents.get(&id).ok_or(IllegalTransition::NoSuchAgent(id))?;
            board.rules.require(
                Rule::OnlyIdleLeave,
                agent.is_idle(),
                IllegalTransition::AgentBusy(id),
            )?;
            board.agents.remove(&id);
            Ok(())
        })
    }

    /// Takes a command in and asks for its approval. It ends at once if a command it depends on
    /// has failed already. A full queue takes nothing in until a command in it is given to an
    /// agent or ends.
    pub fn queue(
        &mut self,
        ticket: &CommandTicket,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        self.transition(|board| {
            let id = ticket.id;
            if board.commands.contains_key(&id) || Some(id) <= board.forgotten {
                return Err(IllegalTransition::IdUsed(id));
            }
            let missing = |dependency: &&CommandId| !board.commands.contains_key(dependency);
            if let Some(&dependency) = ticket.dependencies.iter().find(missing) {
                return Err(IllegalTransition::NoSuchDependency { command: id, dependency });
            }
            let limit = board.limits.queue.unwrap_or(usize::MAX);
            let has_room = board.waiting.len() < limit;
            let full = IllegalTransition::QueueFull { command: id, limit };
            board.rules.require(Rule::QueueIsBounded, has_room, full)?;
            let approval = board.ask(ticket, now)?;
            let place = board.next_place;
            board.next_place += 1;
            board.waiting.insert(place, id);
            let entry = BoardEntry {
                capabilities: ticket.capabilities.clone(),
                dependencies: ticket.dependencies.clone(),
                approval,
                place,
                state: match ticket.approval {
                    Permission::Granted { .. } => CommandState::Queued,
                    Permission::Required { .. } => CommandState::AwaitingApproval,
                },
                cancelled: None,
            };
            board.commands.insert(id, entry);
            let failed = |dependency: &CommandId| {
                let outcome = board.commands.get(dependency)?.outcome()?;
                Some(ExecutionFailure::Dependency {
                    command: *dependency,
                    ending: outcome.ending()?,
                })
            };
            match ticket.dependencies.iter().find_map(failed) {
                Some(failure) => Ok(board.end(id, None, ExecutionOutcome::Failed(failure), now)),
                None => Ok(Vec::new()),
            }
        })
    }

    /// Asks for a command's approval; one that brings it along is approved there and then.
    fn ask(
        &mut self,
        ticket: &CommandTicket,
        now: Moment,
    ) -> Result<ApprovalId, IllegalTransition> {
        match &ticket.approval {
            Permission::Required { timeout } => {
                let deadline = timeout.map(|timeout| now.after(timeout));
                let id = self.approvals.ask(ticket.id, deadline, now);
                self.note_deadline(deadline, DueDeadline::Approval(id));
                Ok(id)
            }
            Permission::Granted { by, reason } => {
                let id = self.approvals.ask(ticket.id, None, now);
                let decision = ApprovalDecision { verdict: ApprovalVerdict::Approved, by, reason };
                self.approvals.decide(id, &decision, now)?;
                Ok(id)
            }
        }
    }

    /// Lets a command run, or not.
    pub fn decide(
        &mut self,
        id: ApprovalId,
        approve: bool,
        by: &str,
        reason: &str,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        let verdict = if approve { ApprovalVerdict::Approved } else { ApprovalVerdict::Rejected };
        let decision = ApprovalDecision { verdict, by, reason };
        self.transition(|board| board.settle(id, &decision, now))
    }

    /// Writes a decision down and does with the command what it says.
    pub(super) fn settle(
        &mut self,
        id: ApprovalId,
        decision: &ApprovalDecision<'_>,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        let audit = self.conclude(id, decision, now)?;
        let approved = audit.verdict == ApprovalVerdict::Approved;
        let command = audit.command;
        if !approved && self.rules.obeys(Rule::RejectedIsOver) {
            return Ok(self.end(command, None, ExecutionOutcome::Rejected(audit), now));
        }
        let entry = self.entry(command)?;
        if entry.state == CommandState::AwaitingApproval {
            entry.state = CommandState::Queued;
        }
        Ok(Vec::new())
    }

    /// Writes a decision down; its deadline is none any more.
    fn conclude(
        &mut self,
        id: ApprovalId,
        decision: &ApprovalDecision<'_>,
        now: Moment,
    ) -> Result<ApprovalAudit, IllegalTransition> {
        let audit = self.approvals.decide(id, decision, now)?;
        let deadline = self.approvals.get(id).and_then(|approval| approval.deadline);
        self.drop_deadline(deadline, DueDeadline::Approval(id));
        Ok(audit)
    }

    /// Cancels a command. One that has not begun never will; one that runs is asked to end, and
    /// has ended when its process is gone. Cancelling twice is cancelling once.
    pub fn cancel(
        &mut self,
        id: CommandId,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        self.transition(|board| match board.entry(id)?.state {
            CommandState::Executing { execution } => board.cancel_running(id, execution, now),
            CommandState::Ended { .. } => Err(IllegalTransition::TooLate(id)),
            _ => {
                board.entry(id)?.cancelled = Some(CancelledStage::BeforeItBegan);
                if !board.rules.obeys(Rule::CancelledIsOver) {
                    return Ok(Vec::new());
                }
                Ok(board.end(id, None, ExecutionOutcome::Cancelled { exit: None }, now))
            }
        })
    }

    fn cancel_running(
        &mut self,
        id: CommandId,
        execution: ExecutionId,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        let mut effects = Vec::new();
        match self.run(execution)?.state {
            ExecutionState::Starting { ref mut cancelled } => *cancelled = true,
            ExecutionState::Running => {
                effects = self.stop(execution, StopCause::Cancelled, now)?;
            }
            ExecutionState::Stopping { cause: StopCause::Cancelled, .. } => {}
            _ => return Err(IllegalTransition::TooLate(id)),
        }
        self.entry(id)?.cancelled = Some(CancelledStage::During(execution));
        Ok(effects)
    }

    /// Takes a command that has ended off the board, with its run and its approval. Its id is used
    /// up, and with it all lower ones that are not on the board.
    pub fn forget(&mut self, id: CommandId) -> Result<(), IllegalTransition> {
        self.transition(|board| {
            let CommandState::Ended { execution, .. } = board.entry(id)?.state else {
                return Err(IllegalTransition::NotEnded(id));
            };
            let needs = |waiting: &CommandId| {
                board.commands.get(waiting).is_some_and(|entry| entry.dependencies.contains(&id))
            };
            if board.waiting.values().any(needs) {
                return Err(IllegalTransition::StillNeeded(id));
            }
            if let Some(entry) = board.commands.remove(&id) {
                board.approvals.forget(entry.approval);
            }
            if let Some(execution) = execution {
                board.executions.remove(&execution);
            }
            board.forgotten = board.forgotten.max(Some(id));
            Ok(())
        })
    }

    /// Ends a command, and without success those that wait for it, and so on.
    pub(super) fn end(
        &mut self,
        id: CommandId,
        execution: Option<ExecutionId>,
        outcome: ExecutionOutcome,
        now: Moment,
    ) -> Vec<BoardEffect> {
        let mut effects = Vec::new();
        let mut ends = vec![EndedCommand { command: id, execution, outcome }];
        while let Some(ended) = ends.pop() {
            if !self.close(&ended, now) {
                continue;
            }
            if let Some(ending) = ended.outcome.ending() {
                let command = ended.command;
                let failure =
                    || ExecutionOutcome::Failed(ExecutionFailure::Dependency { command, ending });
                let depends = |waiting: &&CommandId| {
                    let entry = self.commands.get(waiting);
                    entry.is_some_and(|entry| entry.dependencies.contains(&command))
                };
                let mut found: Vec<CommandId> =
                    self.waiting.values().filter(depends).copied().collect();
                found.reverse();
                ends.extend(found.into_iter().map(|dependent| EndedCommand {
                    command: dependent,
                    execution: None,
                    outcome: failure(),
                }));
            }
            effects.push(BoardEffect::Ended(ended));
        }
        effects
    }

    /// Marks one command as ended: its approval is withdrawn and no agent has it any more. Says
    /// whether it was open.
    fn close(&mut self, ended: &EndedCommand, now: Moment) -> bool {
        let Some(entry) = self.commands.get_mut(&ended.command) else { return false };
        if entry.outcome().is_some() {
            return false;
        }
        let (place, approval) = (entry.place, entry.approval);
        let before = std::mem::replace(
            &mut entry.state,
            CommandState::Ended { execution: ended.execution, outcome: ended.outcome.clone() },
        );
        self.waiting.remove(&place);
        match before {
            CommandState::Assigned { agent } => self.set_agent(agent, AgentState::Idle),
            CommandState::AwaitingApproval => {
                let reason = format!("the command {}", ended.outcome);
                let decision = ApprovalDecision {
                    verdict: ApprovalVerdict::Withdrawn,
                    by: SCHEDULER,
                    reason: &reason,
                };
                // Already decided where the decision itself ended the command.
                self.conclude(approval, &decision, now).ok();
            }
            _ => {}
        }
        true
    }
}
