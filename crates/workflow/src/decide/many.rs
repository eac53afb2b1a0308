//! Steps with tasks side by side: fan-out and stages.

use coven_model::InterventionKind;
use coven_model::event::{StepOutput, TaskRole};
use serde_json::Value;

use super::DecisionDraft;
use super::jobs::on_lost;
use crate::plan::{OnFailure, OnLost, StepAction};
use crate::state::StepRun;
use crate::state::{TaskPhase, TaskRun};

impl DecisionDraft {
    /// Starts what there is room for; when all have ended, the step does.
    pub(super) fn settle_many(&mut self) {
        let Some(run) = self.run() else { return };
        let Some((_, step, state)) = self.current() else { return };
        let (total, room, fan_out) = match (&step.action, step.action.fan_out()) {
            (_, Some((.., most))) => {
                let items = state.items.as_ref();
                (items.map_or(0, |items| items.len()), run.room(step, most), true)
            }
            (StepAction::Stage { tasks }, _) => (tasks.len(), u32::MAX, false),
            _ => return,
        };
        let before = self.events.len();
        self.resume_some(room);
        while let Some((_, _, state)) = self.current()
            && state.progress == crate::state::StepProgress::Running
            && state.live < room
            && state.tasks.len() < total
        {
            let begun = state.tasks.len();
            let role = |place: usize| {
                let place = place as u32;
                if fan_out { TaskRole::Item(place) } else { TaskRole::Stage(place) }
            };
            // The trees of all that there is room for are asked for; the first one starts.
            let room = begun.saturating_add((room - state.live) as usize).min(total);
            let ready: Vec<bool> =
                (begun..room).map(|place| self.tree_is_ready(role(place))).collect();
            if ready.first() != Some(&true) {
                break;
            }
            self.start(role(begun));
        }
        if self.events.len() == before && self.all_ended(total) {
            self.end_many();
        }
    }

    /// Starts again what is to be started again, as far as there is room.
    fn resume_some(&mut self, room: u32) {
        let Some((_, _, state)) = self.current() else { return };
        let due =
            state.delayed.iter().filter(|(_, due)| **due <= self.now).map(|(place, _)| *place);
        let places: Vec<u32> = state.ready.iter().copied().chain(due).collect();
        for place in places {
            let Some((_, _, state)) = self.current() else { return };
            if state.live >= room {
                return;
            }
            self.start_if_due(place as usize);
        }
    }

    fn all_ended(&self, total: usize) -> bool {
        self.current().is_some_and(|(_, _, state)| {
            state.tasks.len() >= total
                && state.live == 0
                && state.ready.is_empty()
                && state.delayed.is_empty()
        })
    }

    fn end_many(&mut self) {
        let Some((_, step, state)) = self.current() else { return };
        if state.failed == 0 {
            return self.complete_many();
        }
        let error = failures(state);
        let is_lost = |task: &&TaskRun| matches!(task.phase, TaskPhase::Failed { lost: true, .. });
        let said = |wanted: OnLost| {
            let mut lost = state.tasks.iter().filter(is_lost);
            lost.any(|task| on_lost(step, task.role) == Some(wanted))
        };
        if matches!(step.action, StepAction::Stage { .. }) && said(OnLost::Fail) {
            return self.step_failed(error, false);
        }
        match step.on_failure {
            OnFailure::Fail | OnFailure::Continue if said(OnLost::Ask) || said(OnLost::Retry) => {
                self.open_intervention(InterventionKind::PartialFailure, None, error);
            }
            OnFailure::Block => {
                self.open_intervention(InterventionKind::PartialFailure, None, error);
            }
            OnFailure::Fail => self.step_failed(error, false),
            // What did succeed is worth going on with, and the results tell what did not.
            OnFailure::Continue => self.complete_many(),
        }
    }

    /// The step is done, with the results it has.
    pub(super) fn complete_many(&mut self) {
        let Some((_, step, state)) = self.current() else { return };
        let (total, failed) = (state.tasks.len(), state.failed);
        let summary = format!("{} of {total} succeeded", total - failed as usize);
        let output = match step.action.fan_out() {
            Some(_) => StepOutput::Results,
            None => StepOutput::Value(Value::Null),
        };
        self.complete_step(output, summary);
    }
}

/// How many failed, and the first few with their reasons.
fn failures(state: &StepRun) -> String {
    const MAX_NAMED_FAILURES: usize = 3;
    let failed = state.tasks.iter().filter(|task| task.error.is_some());
    let mut told: Vec<String> = failed
        .take(MAX_NAMED_FAILURES)
        .map(|task| format!("{}: {}", task.id, task.error.as_deref().unwrap_or_default()))
        .collect();
    if state.failed as usize > MAX_NAMED_FAILURES {
        told.push(format!("and {} more", state.failed as usize - MAX_NAMED_FAILURES));
    }
    format!("{} of {} failed ({})", state.failed, state.tasks.len(), told.join("; "))
}
