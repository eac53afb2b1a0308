//! Invariants of approvals and deadlines. Each function returns what it found that must not be.

use std::collections::BTreeSet;

use crate::approval::{Approval, ApprovalAudit, ApprovalState, ApprovalVerdict};
use crate::scheduler::{Board, DueDeadline};

/// Each line of the trail with the request it is about.
fn decided(board: &Board) -> impl Iterator<Item = (&Approval, &ApprovalAudit)> {
    let lines = board.approvals.trail.values().flatten();
    lines.filter_map(|audit| Some((board.approvals.get(audit.approval)?, audit)))
}

pub(super) fn double_decision(board: &Board) -> Option<String> {
    let mut trail = board.approvals.trail.iter();
    let (id, lines) = trail.find(|(_, lines)| lines.len() > 1)?;
    Some(format!("{id} was decided {} times", lines.len()))
}

pub(super) fn decision_without_audit(board: &Board) -> Option<String> {
    board.approvals.requests.values().find_map(|approval| {
        let ApprovalState::Decided(verdict) = approval.state else { return None };
        let fits = |audit: &ApprovalAudit| {
            audit.command == approval.command && audit.verdict == verdict && !audit.by.is_empty()
        };
        let lines = board.approvals.trail.get(&approval.id);
        let found = lines.is_some_and(|lines| lines.iter().any(fits));
        (!found).then(|| format!("the trail does not say who decided {}", approval.id))
    })
}

pub(super) fn pending_with_audit(board: &Board) -> Option<String> {
    let (approval, _) = decided(board).find(|(approval, _)| approval.is_pending())?;
    Some(format!("{} is decided and still pending", approval.id))
}

pub(super) fn decision_before_question(board: &Board) -> Option<String> {
    let (approval, _) = decided(board).find(|(approval, audit)| audit.at < approval.asked)?;
    Some(format!("{} was decided before it was asked for", approval.id))
}

pub(super) fn gap_in_ids(board: &Board) -> Option<String> {
    let approvals = &board.approvals;
    if approvals.requests.len() as u64 + approvals.forgotten != approvals.next {
        return Some(format!("{} ids were given, but not to as many requests", approvals.next));
    }
    let wrong = |id: u64, approval: &Approval| id != approval.id.0 || id >= approvals.next;
    let (id, _) = approvals.requests.iter().find(|(id, approval)| wrong(id.0, approval))?;
    Some(format!("{id} was never given"))
}

pub(super) fn deadline_not_kept(board: &Board) -> Option<String> {
    let early = board
        .approvals
        .requests
        .values()
        .find(|approval| approval.deadline.is_some_and(|deadline| deadline < approval.asked));
    if let Some(approval) = early {
        return Some(format!("the deadline of {} passed before it was asked for", approval.id));
    }
    let (approval, audit) = decided(board).find(|(approval, audit)| {
        let passed = approval.deadline.is_some_and(|deadline| deadline <= audit.at);
        match audit.verdict {
            ApprovalVerdict::Approved | ApprovalVerdict::Rejected => passed,
            ApprovalVerdict::TimedOut => !passed,
            ApprovalVerdict::Withdrawn => false,
        }
    })?;
    Some(format!("{} became {:?} on the wrong side of its deadline", approval.id, audit.verdict))
}

pub(super) fn unlisted_deadline(board: &Board) -> Option<String> {
    let pending = board.approvals.pending();
    let questions = pending.filter_map(|one| Some((one.deadline?, DueDeadline::Approval(one.id))));
    let runs = board.executions.iter();
    let waits =
        runs.filter_map(|(id, run)| Some((run.state.deadline()?, DueDeadline::Execution(*id))));
    let expected: BTreeSet<_> = questions.chain(waits).collect();
    let different = expected.symmetric_difference(&board.deadlines).next()?;
    Some(format!("{different:?} is due and not listed, or listed and not due"))
}
