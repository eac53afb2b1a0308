//! Deadlines: an approval without a decision, a process that did not end, output without an end.

use std::time::Duration;

use coven_runtime::domain::StopMode;

use super::{Board, BoardEffect, DueDeadline};
use crate::approval::{ApprovalDecision, ApprovalId, ApprovalVerdict};
use crate::clock::Moment;
use crate::execution::{ExecutionId, ExecutionState, StopCause};
use crate::scheduler::{IllegalTransition, Rule};

/// How long after force was used it is used again, if the process is still there. Nothing survives
/// it for long but what is stuck in the kernel or was out of sight the first time.
const FORCE_AGAIN: Duration = Duration::from_secs(1);

/// The name in the audit trail for a rejection by deadline.
const DEADLINE: &str = "deadline";

impl Board {
    /// Does what is due.
    pub fn advance(&mut self, now: Moment) -> Vec<BoardEffect> {
        let is_due = |at: Moment| at <= now || !self.rules.obeys(Rule::DeadlinesAreKept);
        let due = self.deadlines.iter().take_while(|(at, _)| is_due(*at)).map(|(_, due)| *due);
        let due: Vec<DueDeadline> = due.collect();
        let mut effects = Vec::new();
        for due in due {
            let done = self.transition(|board| match due {
                DueDeadline::Approval(id) => board.time_out(id, now),
                DueDeadline::Execution(id) => board.hurry(id, now),
            });
            // What was due may have been settled by something due before it.
            effects.extend(done.unwrap_or_default());
        }
        effects
    }

    fn time_out(
        &mut self,
        id: ApprovalId,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        let decision = ApprovalDecision {
            verdict: ApprovalVerdict::TimedOut,
            by: DEADLINE,
            reason: "nobody decided in time",
        };
        let ended = self.settle(id, &decision, now)?;
        Ok([vec![BoardEffect::TimedOut(id)], ended].concat())
    }

    fn hurry(
        &mut self,
        id: ExecutionId,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        match &self.run(id)?.state {
            ExecutionState::Stopping { cause, .. } => {
                let cause = cause.clone();
                self.force(id, cause, now)
            }
            ExecutionState::Draining { .. } => self.finish_drained(id, now),
            _ => Err(IllegalTransition::WrongState(id)),
        }
    }

    /// Ends a process by force, and again later if it should still be there.
    pub(super) fn force(
        &mut self,
        execution: ExecutionId,
        cause: StopCause,
        now: Moment,
    ) -> Result<Vec<BoardEffect>, IllegalTransition> {
        let force = now.after(FORCE_AGAIN);
        self.set_state(execution, ExecutionState::Stopping { cause, force })?;
        Ok(vec![BoardEffect::Stop { execution, stop: StopMode::Force }])
    }

    pub(super) fn note_deadline(&mut self, at: Option<Moment>, due: DueDeadline) {
        if let Some(at) = at.filter(|_| self.rules.obeys(Rule::DeadlinesAreListed)) {
            self.deadlines.insert((at, due));
        }
    }

    pub(super) fn drop_deadline(&mut self, at: Option<Moment>, due: DueDeadline) {
        if let Some(at) = at {
            self.deadlines.remove(&(at, due));
        }
    }
}
