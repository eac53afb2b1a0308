//! Loops: an agent in rounds, each judged by a command, an arbiter, or both.

use coven_model::InterventionKind;
use coven_model::event::{InterventionDecision, LoopVerdict, SessionEvent, StepOutput, TaskRole};
use serde_json::Value;

use super::DecisionDraft;
use super::single::{failure, reason};
use super::spec::summary;
use crate::plan::{OnLimit, StepAction};
use crate::rules::DecisionRule;
use crate::state::{StepRun, TaskPhase, TaskRun};
use crate::verdict::{ArbiterVerdict, judge};

/// How much of what a check printed is told to the next round, of each stream, in characters.
const MAX_CHECK_OUTPUT_CHARS: usize = 8000;

/// How many rounds a person can add at once.
const MAX_ROUNDS_ADDED: u32 = 100;

impl DecisionDraft {
    pub(super) fn settle_loop(&mut self) {
        let Some((_, step, state)) = self.current() else { return };
        let StepAction::AgentLoop { arbiter, until, .. } = &step.action else { return };
        let is_judged = arbiter.is_some();
        let Some(task) = state.tasks.last() else {
            let first = until.as_ref().is_some_and(|until| until.first);
            return self.start(if first { TaskRole::Check(0) } else { TaskRole::Round(1) });
        };
        match (task.role, &task.phase) {
            (TaskRole::Round(round), TaskPhase::Done { .. }) => {
                let is_checked = until.is_some();
                let next =
                    if is_checked { TaskRole::Check(round) } else { TaskRole::Arbiter(round) };
                self.start(next);
            }
            // What passes before the first round has nothing that could be judged.
            (TaskRole::Check(round), TaskPhase::Done { exit_code: Some(0), .. })
                if is_judged && round > 0 =>
            {
                self.start(TaskRole::Arbiter(round));
            }
            (TaskRole::Check(round), TaskPhase::Done { .. }) => {
                let (attempt, verdict) = (task.attempt, check_verdict(task));
                self.settle_judgement(round, attempt, || verdict);
            }
            (TaskRole::Arbiter(round), TaskPhase::Done { value, .. }) => {
                let (attempt, text) = (task.attempt, text(value));
                self.settle_judgement(round, attempt, || judge(&text));
            }
            (_, TaskPhase::Failed { .. }) => {
                let (error, kind) = (reason(task), failure(task, InterventionKind::FailedStep));
                self.fail_step(format!("{}: {error}", describe(task)), kind);
            }
            _ => self.start_if_due(state.tasks.len().saturating_sub(1)),
        }
    }

    /// What follows from what the arbiter answered, or the command came to.
    pub(super) fn settle_judgement(
        &mut self,
        round: u32,
        attempt: u32,
        judge: impl FnOnce() -> ArbiterVerdict,
    ) {
        let Some((index, step, state)) = self.current() else { return };
        let Some(judged) = state.verdict(round).filter(|judged| judged.attempt == attempt) else {
            let judged = judge();
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
            // In a loop of several steps, the first of those inside follows by itself.
            LoopVerdict::Actionable
                if round < state.rounds || !self.holds(DecisionRule::RoundsEnd) =>
            {
                if matches!(step.action, StepAction::AgentLoop { .. }) {
                    self.start(TaskRole::Round(round + 1));
                }
            }
            LoopVerdict::Actionable => {
                let Some((_, on_max_iterations)) = step.action.rounds() else { return };
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
        let last = state.judged.last().map(|judged| judged.round);
        let worked = |task: &&TaskRun| match task.role {
            TaskRole::Round(_) => true,
            TaskRole::Inner { round, .. } => {
                last == Some(round) && matches!(task.phase, TaskPhase::Done { .. })
            }
            _ => false,
        };
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
        let usual = step.action.rounds().map_or(1, |(most, _)| most);
        let wanted = decision.text.as_deref().and_then(|text| text.trim().parse().ok());
        let more = wanted.unwrap_or(usual).clamp(1, MAX_ROUNDS_ADDED);
        let judged = state.judged.last().map_or(0, |judged| judged.round);
        let limit = rounds(state).max(judged).max(state.rounds).saturating_add(more);
        self.record(SessionEvent::LoopExtended { index, limit });
    }
}

fn rounds(state: &StepRun) -> u32 {
    match state.tasks.last().map(|task| task.role) {
        Some(
            TaskRole::Round(round)
            | TaskRole::Arbiter(round)
            | TaskRole::Check(round)
            | TaskRole::Inner { round, .. },
        ) => round,
        _ => 0,
    }
}

fn describe(task: &TaskRun) -> String {
    match task.role {
        TaskRole::Arbiter(round) => format!("the arbiter of round {round}"),
        TaskRole::Check(0) => "the check before the first round".to_owned(),
        TaskRole::Check(round) => format!("the check of round {round}"),
        TaskRole::Round(round) => format!("round {round}"),
        _ => task.id.to_string(),
    }
}

/// What the command of a loop came to. Only exit code 0 ends the loop.
pub(super) fn check_verdict(task: &TaskRun) -> ArbiterVerdict {
    let TaskPhase::Done { value, exit_code, .. } = &task.phase else {
        return ArbiterVerdict { verdict: LoopVerdict::Unreadable, reason: String::new() };
    };
    let (verdict, ended) = match exit_code {
        Some(0) => (LoopVerdict::Done, "exit code 0".to_owned()),
        Some(code) => (LoopVerdict::Actionable, format!("exit code {code}")),
        None => (LoopVerdict::Actionable, "a signal ended it, or it ran out of time".to_owned()),
    };
    if verdict == LoopVerdict::Done {
        return ArbiterVerdict { verdict, reason: ended };
    }
    let printed = task.printed.as_deref();
    let stdout = printed.and_then(|printed| printed.stdout.clone()).unwrap_or_else(|| text(value));
    let stderr = printed.map_or("", |printed| printed.stderr.as_str());
    let mut reason = ended;
    // Tools say what is wrong on either, and most at the end.
    for part in [stdout.as_str(), stderr] {
        let part = part.trim_end();
        if !part.is_empty() {
            reason.push_str("\n\n");
            reason.push_str(&ending(part));
        }
    }
    ArbiterVerdict { verdict, reason }
}

/// The end of a text that is too long to be told whole.
fn ending(text: &str) -> String {
    let left_out = text.chars().count().saturating_sub(MAX_CHECK_OUTPUT_CHARS);
    if left_out == 0 {
        return text.to_owned();
    }
    let end: String = text.chars().skip(left_out).collect();
    format!("[{left_out} characters before]\n{end}")
}

/// An answer as text.
pub(super) fn text(value: &Value) -> String {
    crate::template::to_text(value)
}
