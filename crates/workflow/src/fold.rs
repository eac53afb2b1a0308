//! Folds facts into a state. Total: a fact that does not fit is left out, and nothing panics.
//!
//! Here is only what a fact *means*; what follows from it is decided elsewhere and becomes a fact
//! of its own. So a journal gives the same state for ever.

mod intervention;
mod step;
mod task;

use std::sync::Arc;

use coven_model::Timestamp;
use coven_model::Usage;
use coven_model::event::{Event, SessionCreated, StoppingEnd};

use crate::state::{ChunkedList, Run, RunIdentity, RunPhase, State, StepRun};

/// The state after one more fact.
#[must_use]
pub fn fold(mut state: State, event: &Event) -> State {
    apply(&mut state, event);
    state
}

/// The state after all these facts.
#[must_use]
pub fn fold_all<'a>(state: State, events: impl IntoIterator<Item = &'a Event>) -> State {
    events.into_iter().fold(state, fold)
}

fn apply(state: &mut State, event: &Event) {
    match event {
        Event::SessionCreated(created) => return create(state, created),
        Event::SessionDeleted { .. } => {
            state.closed = Some("it was deleted".to_owned());
            return;
        }
        Event::Unknown { kind, .. } => {
            state.closed =
                Some(format!("it has a fact of type `{kind}`, which a later version wrote"));
            return;
        }
        _ => {}
    }
    let rules = state.rules;
    let Some(run) = &mut state.run else { return };
    match event {
        Event::SessionCreated(_) | Event::SessionDeleted { .. } | Event::Unknown { .. } => {}
        Event::WorkflowStarted { at } => {
            if run.phase == RunPhase::Created {
                run.phase = RunPhase::Running;
                run.started_at = Some(*at);
            }
        }
        Event::WorkflowBlocked { .. } => run.blocked = true,
        Event::WorkflowResumed { .. } => run.blocked = false,
        Event::WorkflowStopping { end, by, why, .. } => run.stop(*end, by, why),
        Event::WorkflowCompleted { at } => run.end(RunPhase::Completed, *at),
        Event::WorkflowFailed { error, at, .. } => {
            run.end(RunPhase::Failed { error: error.clone() }, *at);
        }
        Event::WorkflowCancelled { by, why, at } => {
            run.end(RunPhase::Cancelled { by: by.clone(), why: why.clone() }, *at);
        }
        Event::WorkflowRetried { run: number, .. } => run.retry(*number),
        Event::StepStarted { .. }
        | Event::StepCompleted { .. }
        | Event::StepFailed { .. }
        | Event::StepSkipped { .. }
        | Event::LoopJudged { .. }
        | Event::LoopExtended { .. } => step::apply(run, event),
        Event::InterventionRequired { .. }
        | Event::InterventionResolved { .. }
        | Event::InterventionWithdrawn { .. }
        | Event::InputDecided { .. }
        | Event::InputDelivered { .. }
        | Event::InputRefused { .. }
        | Event::InputQueued { .. } => intervention::apply(run, rules, event),
        Event::TaskStarted(_)
        | Event::TaskEnded(_)
        | Event::TaskStatus { .. }
        | Event::TaskStopping { .. }
        | Event::TaskReleased { .. }
        | Event::TaskExposed { .. }
        | Event::TimerSet { .. }
        | Event::AgentUsage { .. } => task::apply(run, event),
    }
}

fn create(state: &mut State, created: &SessionCreated) {
    if state.run.is_some() {
        return;
    }
    let identity = match RunIdentity::new(created) {
        Ok(identity) => Arc::new(identity),
        Err(error) => {
            state.closed = Some(format!("its plan cannot be read: {error}"));
            return;
        }
    };
    let steps: ChunkedList<StepRun> =
        identity.plan.steps.iter().map(|_| StepRun::default()).collect();
    state.run = Some(Run {
        identity,
        phase: RunPhase::Created,
        blocked: false,
        steps,
        cursor: 0,
        interventions: std::collections::BTreeMap::new(),
        next_intervention: 1,
        kept: std::collections::BTreeMap::new(),
        retries: 0,
        usage: Usage::default(),
        started_at: None,
        ended_at: None,
    });
}

impl Run {
    fn stop(&mut self, end: StoppingEnd, by: &str, why: &str) {
        let outranked = match &self.phase {
            RunPhase::Stopping { end: now, .. } => *now >= end,
            _ => self.is_over(),
        };
        if !outranked {
            self.phase = RunPhase::Stopping { end, by: by.to_owned(), why: why.to_owned() };
        }
    }

    fn end(&mut self, phase: RunPhase, at: Timestamp) {
        if self.phase != phase {
            self.phase = phase;
            self.ended_at = Some(at);
            self.blocked = false;
            self.interventions.clear();
        }
    }

    fn retry(&mut self, number: u32) {
        self.retries = number;
        if matches!(self.phase, RunPhase::Failed { .. }) {
            self.phase = RunPhase::Running;
            self.ended_at = None;
            step::retry_step(self);
        }
    }

    /// The step whose turn it is, to change it.
    fn current_mut(&mut self) -> Option<&mut StepRun> {
        self.steps.get_mut(self.cursor as usize)
    }
}
