//! Steps with one task: agent, script, gate.

use coven_model::event::{SessionEvent, StepOutput, TaskRole};
use coven_model::{InterventionChoice, InterventionKind};

use super::DecisionDraft;
use super::spec::summary;
use crate::plan::StepAction;
use crate::state::{TaskPhase, TaskRun, TaskVariables};

impl DecisionDraft {
    pub(super) fn settle_single(&mut self) {
        let Some((_, _, state)) = self.current() else { return };
        let Some(task) = state.task(0) else { return self.start(TaskRole::Main) };
        match &task.phase {
            TaskPhase::Done { value, .. } => {
                let summary = summary(value);
                self.complete_step(StepOutput::Task(task.id.clone()), summary);
            }
            TaskPhase::Failed { .. } => {
                let (error, kind) = (reason(task), failure(task, InterventionKind::FailedStep));
                self.fail_step(error, kind);
            }
            _ => self.start_if_due(0),
        }
    }

    pub(super) fn settle_gate(&mut self) {
        let Some(run) = self.run() else { return };
        let Some((index, step, state)) = self.current() else { return };
        let StepAction::Gate { script, message, skippable } = &step.action else { return };
        let names = TaskVariables { run, step: index, local: Vec::new() };
        let message = match message {
            Some(message) => match names.text(step, "message", message) {
                Ok(message) => Some(message),
                Err(error) => return self.step_failed(error, false),
            },
            None => None,
        };
        if script.is_none() {
            let reason = message.unwrap_or_else(|| format!("gate `{}` asks you", step.name));
            let skip = skippable.then_some(InterventionChoice::Skip);
            return self.ask_for_approval(InterventionKind::HumanGate, reason, skip);
        }
        match state.task(0) {
            Some(task) if matches!(task.phase, TaskPhase::Failed { .. }) => {
                let error = reason(task);
                let error = message.map_or(error.clone(), |message| format!("{message} {error}"));
                let kind = failure(task, InterventionKind::FailedGate);
                self.fail_step(error, kind);
            }
            _ => self.settle_single(),
        }
    }

    /// Starts the next attempt of a task if its time has come.
    pub(super) fn start_if_due(&mut self, place: usize) {
        let Some((_, step, state)) = self.current() else { return };
        let Some(task) = state.task(place) else { return };
        let role = task.role;
        let (step, _) = step.of_task(role);
        match &task.phase {
            TaskPhase::Ready { at_once: false } if !step.retry.delay.is_zero() => {
                let (timer, due) = (task.next_attempt(), self.now.after(step.retry.delay));
                self.record(SessionEvent::TimerSet { timer, due });
            }
            TaskPhase::Ready { .. } => self.start(role),
            TaskPhase::Delayed { due } if *due <= self.now => self.start(role),
            _ => {}
        }
    }
}

/// Why a task failed.
pub(super) fn reason(task: &TaskRun) -> String {
    task.error.clone().unwrap_or_else(|| "it failed".to_owned())
}

/// What a person is asked about a task that failed.
pub(super) fn failure(task: &TaskRun, otherwise: InterventionKind) -> InterventionKind {
    match task.phase {
        TaskPhase::Failed { lost: true, .. } => InterventionKind::LostJob,
        _ => otherwise,
    }
}
