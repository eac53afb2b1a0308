//! What must be true of a [`Board`] at any time, each as a pure function that names what it found.
//!
//! In debug builds they are checked after every transition; the model checker checks them in every
//! state that can be reached.

mod approvals;
mod orchestration;

use std::fmt;

use crate::scheduler::Board;

/// A promise of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// No command is with two agents.
    NoDoubleAssignment,
    /// Whatever runs belongs to a command and an agent that know of it.
    NoOrphanedExecution,
    /// No slot serves two executions.
    TerminalExclusivity,
    /// What has been given to an agent depends only on what has succeeded.
    DependenciesRespected,
    /// An agent is capable of what it was given.
    CapabilityMatch,
    /// An agent that executes has a slot, to the end.
    ExecutingAgentHasTerminal,
    /// Whatever runs or ran was approved.
    OnlyApprovedExecute,
    /// Nothing was decided twice.
    NoDoubleDecision,
    /// What is decided has its line in the trail.
    CompletedHaveAudit,
    /// What is not decided has none.
    PendingNotCompleted,
    /// What is decided has a time, and it is not before the question.
    CompletedHaveTime,
    /// Ids of requests are given in order and without gaps.
    IdsSequential,
    /// Decisions came before the deadline, timeouts did not.
    TimeoutsValid,
    /// No command succeeded twice.
    SucceedsAtMostOnce,
    /// What has failed did not begin again.
    FailedNeverBeginsAgain,
    /// What was cancelled or rejected did not begin afterwards.
    CancelledNeverRuns,
    /// Nothing that has a deadline will be overlooked.
    DeadlinesListed,
    /// What has ended holds no slot and no agent.
    LimitsRecover,
    /// Only what ran already when it was taken up runs beyond the number of slots.
    LimitsKept,
    /// No more commands wait than may.
    QueueBounded,
}

/// A promise that is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{invariant} is violated: {detail}")]
pub struct Violation {
    /// The invariant that does not hold.
    pub invariant: Invariant,
    /// The part of the board that breaks it.
    pub detail: String,
}

impl fmt::Display for Invariant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

impl Invariant {
    /// All of them: seven of orchestration, six of approvals, seven of our own.
    pub const ALL: [Self; 20] = [
        Self::NoDoubleAssignment,
        Self::NoOrphanedExecution,
        Self::TerminalExclusivity,
        Self::DependenciesRespected,
        Self::CapabilityMatch,
        Self::ExecutingAgentHasTerminal,
        Self::OnlyApprovedExecute,
        Self::NoDoubleDecision,
        Self::CompletedHaveAudit,
        Self::PendingNotCompleted,
        Self::CompletedHaveTime,
        Self::IdsSequential,
        Self::TimeoutsValid,
        Self::SucceedsAtMostOnce,
        Self::FailedNeverBeginsAgain,
        Self::CancelledNeverRuns,
        Self::DeadlinesListed,
        Self::LimitsRecover,
        Self::LimitsKept,
        Self::QueueBounded,
    ];

    /// Whether the invariant holds on a board.
    pub fn check(self, board: &Board) -> Result<(), Violation> {
        let found = match self {
            Self::NoDoubleAssignment => orchestration::double_assignment(board),
            Self::NoOrphanedExecution => orchestration::orphaned_execution(board),
            Self::TerminalExclusivity => orchestration::shared_slot(board),
            Self::DependenciesRespected => orchestration::open_dependency(board),
            Self::CapabilityMatch => orchestration::incapable_agent(board),
            Self::ExecutingAgentHasTerminal => orchestration::agent_without_slot(board),
            Self::OnlyApprovedExecute => orchestration::unapproved_execution(board),
            Self::NoDoubleDecision => approvals::double_decision(board),
            Self::CompletedHaveAudit => approvals::decision_without_audit(board),
            Self::PendingNotCompleted => approvals::pending_with_audit(board),
            Self::CompletedHaveTime => approvals::decision_before_question(board),
            Self::IdsSequential => approvals::gap_in_ids(board),
            Self::TimeoutsValid => approvals::deadline_not_kept(board),
            Self::SucceedsAtMostOnce => orchestration::second_success(board),
            Self::FailedNeverBeginsAgain => orchestration::run_after_a_failure(board),
            Self::CancelledNeverRuns => orchestration::run_after_the_end(board),
            Self::DeadlinesListed => approvals::unlisted_deadline(board),
            Self::LimitsRecover => orchestration::held_after_the_end(board),
            Self::LimitsKept => orchestration::begun_beyond_the_limit(board),
            Self::QueueBounded => orchestration::overfull_queue(board),
        };
        match found {
            Some(detail) => Err(Violation { invariant: self, detail }),
            None => Ok(()),
        }
    }
}

/// Whether all of them hold; the first that does not.
pub fn check(board: &Board) -> Result<(), Violation> {
    Invariant::ALL.into_iter().try_for_each(|invariant| invariant.check(board))
}
