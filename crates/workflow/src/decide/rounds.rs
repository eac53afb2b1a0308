//! Loops: an agent and an arbiter in turns.

use coven_model::InterventionKind;
use coven_model::event::{InterventionDecision, LoopVerdict, SessionEvent, StepOutput, TaskRole};
use serde_json::Value;

use super::DecisionDraft;
use super::single::{failure, reason};
use super::spec::summary;
use crate::plan::{OnLimit, StepAction};
use crate::state::{StepRun, TaskPhase, TaskRun, place};
use crate::verdict::judge;

/// How many rounds a person can add at once.
const MAX_ROUNDS_ADDED: u32 = 100;

impl DecisionDraft {
    pub(super) fn settle_loop(&mut self) {
        let Some((_, _, state)) = self.current() else { return };
        let Some(task) = state.tasks.last() else { return self.start(TaskRole::Round(1)) };
        match (task.role, &task.phase) {
            (TaskRole::Round(round), TaskPhase::Done { .. }) => {
                self.start(TaskRole::Arbiter(round));
            }
            (TaskRole::Arbiter(round), TaskPhase::Done { value, .. }) => {
                let (attempt, text) = (task.attempt, text(value));
                self.settle_judgement(round, attempt, &text);
            }
            (_, TaskPhase::Failed { .. }) => {
                let (error, kind) = (reason(task), failure(task, InterventionKind::FailedStep));
                self.fail_step(format!("{}: {error}", describe(task)), kind);
            }
            (role, _) => self.start_if_due(place(role)),
        }
    }

    /// What follows from what the arbiter answered.
    fn settle_judgement(&mut self, round: u32, attempt: u32, answer: &str) {
        let Some((index, step, state)) = self.current() else { return };
        let Some(judged) = state.verdict(round).filter(|judged| judged.attempt == attempt) else {
            let judged = judge(answer);
            let (verdict, reason) = (judged.verdict, judged.reason);
            return self.record(SessionEvent::LoopJudged {
                index,
                round,
                attempt,
                verdict,
                reason,
            });
        };
        match judged.verdict {
            LoopVerdict::Done => self.complete_loop(),
            LoopVerdict::Actionable if round < state.rounds => {
                self.start(TaskRole::Round(round + 1));
            }
            LoopVerdict::Actionable => {
                let StepAction::AgentLoop { on_max_iterations, .. } = step.action else { return };
                let rounds = if round == 1 { "round is" } else { "rounds are" };
                let reason =
                    format!("{round} {rounds} over, and there is still to do: {}", judged.reason);
                match on_max_iterations {
                    OnLimit::Block => {
                        self.open_intervention(InterventionKind::LoopLimit, None, reason);
                    }
                    OnLimit::Proceed => self.complete_loop(),
                    OnLimit::Fail => self.fail_step(reason, InterventionKind::FailedStep),
                }
            }
            LoopVerdict::Unreadable if state.unreadable_in_a_row(round) < 2 => {
                self.start(TaskRole::Arbiter(round));
            }
            LoopVerdict::Unreadable => {
                let task = state.tasks.last().map(|task| task.id.clone());
                let reason = format!("the arbiter cannot be understood: {}", judged.reason);
                self.open_intervention(InterventionKind::UnreadableVerdict, task, reason);
            }
        }
    }

    /// The loop is done; its output is that of its last round.
    pub(super) fn complete_loop(&mut self) {
        let Some((_, _, state)) = self.current() else { return };
        let worked = |task: &&TaskRun| matches!(task.role, TaskRole::Round(_));
        let Some(task) = state.tasks.iter().rev().find(worked) else {
            return self.complete_step(StepOutput::Value(Value::Null), String::new());
        };
        let summary = match &task.phase {
            TaskPhase::Done { value, .. } => summary(value),
            _ => String::new(),
        };
        self.complete_step(StepOutput::Task(task.id.clone()), summary);
    }

    /// A person grants more rounds: as many as the text says, or as many as there were at first.
    pub(super) fn extend_loop(&mut self, decision: &InterventionDecision) {
        let Some((index, step, state)) = self.current() else { return };
        let usual = match &step.action {
            StepAction::AgentLoop { max_iterations, .. } => *max_iterations,
            _ => 1,
        };
        let wanted = decision.text.as_deref().and_then(|text| text.trim().parse().ok());
        let more = wanted.unwrap_or(usual).clamp(1, MAX_ROUNDS_ADDED);
        let limit = rounds(state).max(state.rounds).saturating_add(more);
        self.record(SessionEvent::LoopExtended { index, limit });
    }
}

fn rounds(state: &StepRun) -> u32 {
    match state.tasks.last().map(|task| task.role) {
        Some(TaskRole::Round(round) | TaskRole::Arbiter(round)) => round,
        _ => 0,
    }
}

fn describe(task: &TaskRun) -> String {
    match task.role {
        TaskRole::Arbiter(round) => format!("the arbiter of round {round}"),
        TaskRole::Round(round) => format!("round {round}"),
        _ => task.id.to_string(),
    }
}

/// An answer as text.
pub(super) fn text(value: &Value) -> String {
    crate::template::to_text(value)
}
