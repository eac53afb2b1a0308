//! Loops of several steps: rounds of agents and scripts, until a command or a condition says that they
//! are done.

use coven_model::InterventionKind;
use coven_model::event::{LoopVerdict, SessionEvent, TaskRole};

use super::DecisionDraft;
use super::rounds::check_verdict;
use super::single::{failure, reason};
use super::spec::local;
use crate::plan::{LoopEnd, OnFailure, PlanStep, StepAction};
use crate::rules::DecisionRule;
use crate::state::{StepRun, TaskPhase, TaskVariables};
use crate::verdict::ArbiterVerdict;

/// What stands next in a round.
enum Next {
    /// A task is to be started for the first time.
    Start(TaskRole),
    /// A task that was started goes on, by its place.
    Resume(usize),
    /// A task failed, and so the round did.
    Fail(usize),
    /// What says whether a step inside is left out cannot be evaluated.
    Wrong(String),
    /// All steps are over.
    Over,
}

impl DecisionDraft {
    pub(super) fn settle_steps(&mut self) {
        let Some((_, step, state)) = self.current() else { return };
        let StepAction::Loop { until, .. } = &step.action else { return };
        let is_checked_first = step.action.check().is_some_and(|check| check.first);
        let rounds = if self.holds(DecisionRule::RoundsEnd) { state.rounds } else { u32::MAX };
        let round = round_of(state, rounds, is_checked_first);
        let next = if state.verdict(round).is_some() || round == 0 {
            Next::Over
        } else {
            self.next_step(round)
        };
        match next {
            Next::Start(role) => self.start(role),
            Next::Resume(place) => self.start_if_due(place),
            Next::Wrong(error) => self.step_failed(error, false),
            Next::Fail(place) => self.fail_task(place),
            Next::Over => match until {
                LoopEnd::Command(_) => self.settle_check(round),
                LoopEnd::Condition(_) => self.settle_condition(round),
            },
        }
    }

    /// What a round does next: its steps one after the other, without those that are left out.
    fn next_step(&self, round: u32) -> Next {
        let Some((_, step, state)) = self.current() else { return Next::Over };
        let role = |place: usize| TaskRole::Inner { round, place: place as u32 };
        let last = state.tasks.last().map(|task| task.role);
        for (place, inner) in step.inner().iter().enumerate() {
            let Some(task) = state.task_of(role(place)) else {
                // One behind it was started, so this one was left out.
                if matches!(last, Some(TaskRole::Inner { round: of, place: at }) if of == round && at as usize > place)
                {
                    continue;
                }
                match self.is_wanted(inner, role(place)) {
                    Ok(true) => return Next::Start(role(place)),
                    Ok(false) => continue,
                    Err(error) => return Next::Wrong(error),
                }
            };
            let at = state.place(role(place));
            match &task.phase {
                TaskPhase::Done { .. } => {}
                TaskPhase::Failed { .. } if inner.on_failure == OnFailure::Continue => {}
                TaskPhase::Failed { .. } => return Next::Fail(at),
                _ => return Next::Resume(at),
            }
        }
        Next::Over
    }

    /// Whether the condition of a step inside holds.
    fn is_wanted(&self, inner: &PlanStep, role: TaskRole) -> Result<bool, String> {
        let Some(condition) = &inner.when else { return Ok(true) };
        self.holds_in_round(condition, inner, "when", role)
    }

    fn holds_in_round(
        &self,
        condition: &crate::condition::Condition,
        of: &PlanStep,
        field: &str,
        role: TaskRole,
    ) -> Result<bool, String> {
        let Some((run, (index, step, state))) = self.run().zip(self.current()) else {
            return Ok(false);
        };
        let names = TaskVariables { run, step: index, local: local(run, step, state, role) };
        let scope = names.scope(condition.references().into_iter());
        condition.evaluate(&scope).map_err(|error| {
            // Once more with all names, for a message that can suggest one.
            let scope = names.scope_for_errors(&scope);
            let error = condition.evaluate(&scope).err().unwrap_or(error);
            format!("{error} ({})", super::spec::field(of, field))
        })
    }

    /// A task of the loop failed for good.
    fn fail_task(&mut self, place: usize) {
        let Some((_, _, state)) = self.current() else { return };
        let Some(task) = state.task(place) else { return };
        let (error, kind) = (reason(task), failure(task, InterventionKind::FailedStep));
        self.fail_step(format!("{}: {error}", task.id), kind);
    }

    /// The command says whether the loop is done.
    fn settle_check(&mut self, round: u32) {
        let Some((_, _, state)) = self.current() else { return };
        let role = TaskRole::Check(round);
        let Some(task) = state.task_of(role) else { return self.start(role) };
        let place = state.place(role);
        match &task.phase {
            TaskPhase::Done { .. } => {
                let (attempt, verdict) = (task.attempt, check_verdict(task));
                self.settle_judgement(round, attempt, || verdict);
            }
            TaskPhase::Failed { .. } => self.fail_task(place),
            _ => self.start_if_due(place),
        }
    }

    /// The condition says whether the loop is done.
    fn settle_condition(&mut self, round: u32) {
        let Some((_, step, state)) = self.current() else { return };
        let StepAction::Loop { until: LoopEnd::Condition(condition), .. } = &step.action else {
            return;
        };
        if state.verdict(round).is_some() {
            return self.settle_judgement(round, 0, || ArbiterVerdict {
                verdict: LoopVerdict::Unreadable,
                reason: String::new(),
            });
        }
        // As a text behind all steps of the round sees it.
        let place = step.inner().len() as u32;
        let holds = self.holds_in_round(condition, step, "until", TaskRole::Inner { round, place });
        let verdict = match holds {
            Ok(true) => LoopVerdict::Done,
            Ok(false) => LoopVerdict::Actionable,
            Err(error) => return self.step_failed(error, false),
        };
        let says = if verdict == LoopVerdict::Done { "holds" } else { "does not hold" };
        let reason = format!("the condition {says}: {}", condition.source());
        let Some((index, ..)) = self.current() else { return };
        self.record(SessionEvent::LoopJudged { index, round, attempt: 0, verdict, reason });
    }
}

/// The round that is under way, or was the last: 0 is that before the first, of which there is only the
/// command.
fn round_of(state: &StepRun, rounds: u32, is_checked_first: bool) -> u32 {
    match state.judged.last() {
        None => u32::from(!is_checked_first),
        Some(judged) if judged.verdict == LoopVerdict::Actionable && judged.round < rounds => {
            judged.round.saturating_add(1)
        }
        Some(judged) => judged.round,
    }
}
