//! Invariants of agents, commands, executions and slots. Each function returns what it found that
//! must not be.

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::{AgentId, AgentState};
use crate::approval::{ApprovalState, ApprovalVerdict};
use crate::command::CommandId;
use crate::execution::{Execution, ExecutionId, ExecutionState};
use crate::scheduler::{Board, CancelledStage, CommandState};
use crate::slot::SlotId;

/// Each agent that has a command, and which.
fn held(board: &Board) -> impl Iterator<Item = (AgentId, CommandId)> {
    board.agents.iter().filter_map(|(&agent, record)| match record.state {
        AgentState::Idle => None,
        AgentState::Assigned { command } => Some((agent, command)),
        AgentState::Executing { execution } => {
            Some((agent, board.executions.get(&execution)?.command))
        }
    })
}

fn live(board: &Board) -> impl Iterator<Item = (ExecutionId, &Execution)> {
    let runs = board.executions.iter().map(|(&id, execution)| (id, execution));
    runs.filter(|(_, execution)| execution.state.is_live())
}

pub(super) fn double_assignment(board: &Board) -> Option<String> {
    let mut holders = BTreeMap::new();
    for (agent, command) in held(board) {
        if let Some(other) = holders.insert(command, agent) {
            return Some(format!("{command} is with {other} and with {agent}"));
        }
    }
    board.commands.iter().find_map(|(command, entry)| match entry.state {
        CommandState::Assigned { agent } if holders.get(command) != Some(&agent) => {
            Some(format!("{command} is given to {agent}, which does not have it"))
        }
        _ => None,
    })
}

pub(super) fn orphaned_execution(board: &Board) -> Option<String> {
    let unknown = live(board).find_map(|(id, execution)| {
        let command = board.commands.get(&execution.command);
        let agent = board.agents.get(&execution.agent);
        if command.is_none_or(|entry| entry.state != CommandState::Executing { execution: id }) {
            return Some(format!("{id} runs, but {} does not know of it", execution.command));
        }
        if agent.is_none_or(|agent| agent.state != AgentState::Executing { execution: id }) {
            return Some(format!("{id} runs, but {} does not know of it", execution.agent));
        }
        None
    });
    unknown.or_else(|| {
        board.commands.iter().find_map(|(command, entry)| match entry.state {
            CommandState::Executing { execution }
                if board.executions.get(&execution).is_none_or(|run| !run.state.is_live()) =>
            {
                Some(format!("{command} is said to run as {execution}, which does not run"))
            }
            _ => None,
        })
    })
}

pub(super) fn shared_slot(board: &Board) -> Option<String> {
    let mut taken = BTreeMap::new();
    live(board).find_map(|(id, execution)| {
        let other = taken.insert(execution.slot, id)?;
        Some(format!("{} serves {other} and {id}", execution.slot))
    })
}

pub(super) fn open_dependency(board: &Board) -> Option<String> {
    let ran: BTreeSet<_> = board.executions.values().map(|execution| execution.command).collect();
    let given: BTreeSet<_> = held(board).map(|(_, command)| command).collect();
    ran.union(&given).find_map(|command| {
        let entry = board.commands.get(command)?;
        let open = entry.dependencies.iter().find(|&dependency| {
            match board.commands.get(dependency) {
                Some(entry) => !entry.has_succeeded(),
                // Only a command without dependants is forgotten, so it had succeeded in time.
                None => Some(*dependency) > board.forgotten,
            }
        })?;
        Some(format!("{command} was given to an agent before {open} succeeded"))
    })
}

pub(super) fn incapable_agent(board: &Board) -> Option<String> {
    held(board).find_map(|(agent, command)| {
        let needed = &board.commands.get(&command)?.capabilities;
        let missing = board.agents.get(&agent)?.first_missing(needed)?;
        Some(format!("{agent} has {command} and is not capable of `{missing}`"))
    })
}

pub(super) fn agent_without_slot(board: &Board) -> Option<String> {
    board.agents.iter().find_map(|(agent, record)| {
        let AgentState::Executing { execution } = record.state else { return None };
        let slot = board.executions.get(&execution)?.slot;
        let holder = board.slots.get(slot.0).copied().flatten();
        (holder != Some(execution)).then(|| format!("{agent} runs {execution} without {slot}"))
    })
}

pub(super) fn unapproved_execution(board: &Board) -> Option<String> {
    board.executions.iter().find_map(|(id, execution)| {
        let entry = board.commands.get(&execution.command)?;
        let approval = board.approvals.get(entry.approval);
        let approved = approval.is_some_and(|approval| {
            approval.command == execution.command
                && approval.state == ApprovalState::Decided(ApprovalVerdict::Approved)
        });
        (!approved).then(|| format!("{id} runs {}, which is not approved", execution.command))
    })
}

pub(super) fn second_success(board: &Board) -> Option<String> {
    let mut succeeded = BTreeMap::new();
    let runs = board.executions.iter();
    runs.filter(|(_, run)| run.state == ExecutionState::Succeeded).find_map(|(id, run)| {
        let other = succeeded.insert(run.command, id)?;
        Some(format!("{} succeeded as {other} and as {id}", run.command))
    })
}

/// Executions are numbered as they begin, so one with a higher number began later. A command that
/// failed before it had an execution failed with what it depends on, and is another invariant's.
pub(super) fn run_after_a_failure(board: &Board) -> Option<String> {
    let mut failed = BTreeMap::new();
    board.executions.iter().find_map(|(id, run)| {
        if let Some(before) = failed.get(&run.command) {
            return Some(format!("{} failed as {before} and began again as {id}", run.command));
        }
        if matches!(run.state, ExecutionState::Failed { .. }) {
            failed.insert(run.command, *id);
        }
        None
    })
}

pub(super) fn run_after_the_end(board: &Board) -> Option<String> {
    board.executions.iter().find_map(|(id, execution)| {
        let command = execution.command;
        let entry = board.commands.get(&command)?;
        if entry.cancelled.is_some_and(|then| then != CancelledStage::During(*id)) {
            return Some(format!("{command} was cancelled and began afterwards as {id}"));
        }
        let mut trail = board.approvals.trail.get(&entry.approval).into_iter().flatten();
        let against = trail.find(|audit| audit.verdict != ApprovalVerdict::Approved)?;
        Some(format!("{command} began as {id} although it was {:?}", against.verdict))
    })
}

pub(super) fn held_after_the_end(board: &Board) -> Option<String> {
    let is_live = |id: ExecutionId| board.executions.get(&id).is_some_and(|e| e.state.is_live());
    let mut slots = (0..).zip(&board.slots).filter_map(|(slot, holder)| Some((slot, (*holder)?)));
    if let Some((slot, holder)) = slots.find(|(_, holder)| !is_live(*holder)) {
        return Some(format!("{} is held by {holder}, which has ended", SlotId(slot)));
    }
    board.agents.iter().find_map(|(agent, record)| match record.state {
        AgentState::Executing { execution } if !is_live(execution) => {
            Some(format!("{agent} is busy with {execution}, which has ended"))
        }
        AgentState::Assigned { command } => {
            let over = board.commands.get(&command).is_none_or(|entry| entry.outcome().is_some());
            over.then(|| format!("{agent} is busy with {command}, which has ended"))
        }
        _ => None,
    })
}

/// Executions are numbered as they begin, so of those that run now, all but the first few began
/// when every slot was in use.
pub(super) fn begun_beyond_the_limit(board: &Board) -> Option<String> {
    let mut beyond = live(board).skip(board.limits.slots);
    let (id, _) = beyond.find(|(_, execution)| !execution.adopted)?;
    Some(format!("{id} began although all {} slots were in use", board.limits.slots))
}

pub(super) fn overfull_queue(board: &Board) -> Option<String> {
    let (waiting, limit) = (board.waiting.len(), board.limits.queue?);
    (waiting > limit).then(|| format!("{waiting} commands wait where {limit} may"))
}
