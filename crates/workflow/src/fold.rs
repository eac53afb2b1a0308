//! Folds facts into a state. Total: a fact that does not fit is left out, and nothing panics.
//!
//! Here is only what a fact *means*; what follows from it is decided elsewhere and becomes a fact
//! of its own. So a journal gives the same state for ever.

mod intervention;
mod step;
mod task;
mod tree;

use std::sync::Arc;

use coven_model::Timestamp;
use coven_model::TokenUsage;
use coven_model::event::{SessionCreated, SessionEvent, StoppingEnd};

use crate::rules::{ActiveRules, DecisionRule};
use crate::state::{ChunkedList, RunIdentity, RunPhase, State, StepRun, WorkflowRun};

/// The state after one more fact.
#[must_use]
pub fn fold(mut state: State, event: &SessionEvent) -> State {
    apply(&mut state, event);
    state
}

/// The state after all these facts.
#[must_use]
pub fn fold_all<'a>(state: State, events: impl IntoIterator<Item = &'a SessionEvent>) -> State {
    events.into_iter().fold(state, fold)
}

fn apply(state: &mut State, event: &SessionEvent) {
    match event {
        SessionEvent::SessionCreated(created) => return create(state, created),
        SessionEvent::SessionDeleted { .. } => {
            state.closed = Some("it was deleted".to_owned());
            return;
        }
        SessionEvent::Unknown { kind, .. } => {
            state.closed =
                Some(format!("it has a fact of type `{kind}`, which a later version wrote"));
            return;
        }
        _ => {}
    }
    let rules = state.rules;
    let Some(run) = &mut state.run else { return };
    match event {
        SessionEvent::SessionCreated(_)
        | SessionEvent::SessionDeleted { .. }
        // One to a living agent is delivered by facts of its own.
        | SessionEvent::ReviewSent { prompt: None, .. }
        | SessionEvent::Unknown { .. } => {}
        SessionEvent::ReviewSent { job, prompt: Some(prompt), .. } => {
            task::review(run, job, prompt);
        }
        SessionEvent::SessionImported { vouched, repository, .. } => {
            if !vouched {
                run.forget_answers();
            }
            if let Some(place) = repository {
                run.move_repository(place);
            }
        }
        SessionEvent::WorkflowStarted { at } => {
            if run.phase == RunPhase::Created {
                run.phase = RunPhase::Running;
                run.started_at = Some(*at);
            }
        }
        SessionEvent::WorkflowBlocked { .. } => run.blocked = true,
        SessionEvent::WorkflowResumed { .. } => run.blocked = false,
        SessionEvent::WorkflowStopping { end, by, why, .. } => run.stop(*end, by, why),
        SessionEvent::WorkflowCompleted { at } => run.end(RunPhase::Completed, *at),
        SessionEvent::WorkflowFailed { error, at, .. } => {
            run.end(RunPhase::Failed { error: error.clone() }, *at);
        }
        SessionEvent::WorkflowCancelled { by, why, at } => {
            run.end(RunPhase::Cancelled { by: by.clone(), why: why.clone() }, *at);
        }
        SessionEvent::WorkflowRetried { run: number, .. } => run.retry(*number),
        SessionEvent::StepStarted { .. }
        | SessionEvent::StepCompleted { .. }
        | SessionEvent::StepFailed { .. }
        | SessionEvent::StepSkipped { .. }
        | SessionEvent::StepLanding { .. }
        | SessionEvent::LoopJudged { .. }
        | SessionEvent::LoopExtended { .. } => step::apply(run, rules, event),
        SessionEvent::InterventionRequired { .. }
        | SessionEvent::InterventionResolved { .. }
        | SessionEvent::InterventionWithdrawn { .. }
        | SessionEvent::InputDecided { .. }
        | SessionEvent::InputDelivered { .. }
        | SessionEvent::InputRefused { .. }
        | SessionEvent::InputQueued { .. } => intervention::apply(run, rules, event),
        SessionEvent::TaskStarted(_)
        | SessionEvent::TaskEnded(_)
        | SessionEvent::TaskStatus { .. }
        | SessionEvent::TaskStopping { .. }
        | SessionEvent::TaskReleased { .. }
        | SessionEvent::TaskExposed { .. }
        | SessionEvent::TaskConfined { .. }
        | SessionEvent::TaskChannel { .. }
        | SessionEvent::TimerSet { .. }
        | SessionEvent::AgentUsage { .. } => task::apply(run, event),
        SessionEvent::TreeWanted(_)
        | SessionEvent::TreeReady(_)
        | SessionEvent::TreeFailed { .. }
        | SessionEvent::TreeCheckpoint(_)
        | SessionEvent::TreeLanded(_)
        | SessionEvent::TreeConflict { .. }
        | SessionEvent::TreeKept { .. }
        | SessionEvent::TreeRemoved { .. } => tree::apply(run, event),
    }
    if run.identity.graph().is_some() && !run.trees.is_empty() {
        run.landing_turn = run.tree_in_turn();
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
    let active = identity.first_steps().filter_map(|place| u32::try_from(place).ok()).collect();
    let steps: ChunkedList<StepRun> =
        identity.plan.steps.iter().map(|_| StepRun::default()).collect();
    state.run = Some(WorkflowRun {
        identity,
        phase: RunPhase::Created,
        blocked: false,
        steps,
        cursor: 0,
        active,
        landing_turn: None,
        interventions: std::collections::BTreeMap::new(),
        next_intervention: 1,
        kept: std::collections::BTreeMap::new(),
        kept_jobs: std::collections::BTreeMap::new(),
        kept_interventions: std::collections::BTreeMap::new(),
        rules: Vec::new(),
        trees: std::collections::BTreeMap::new(),
        retries: 0,
        usage: TokenUsage::default(),
        started_at: None,
        ended_at: None,
    });
}

impl WorkflowRun {
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
            tree::retry(self);
            let active: Vec<u32> = self.active.iter().copied().collect();
            for index in active {
                step::retry_step(self, index);
            }
        }
    }

    /// A step whose turn it is, to change it.
    fn active_mut(&mut self, index: u32) -> Option<&mut StepRun> {
        if !self.is_active(index) {
            return None;
        }
        self.steps.get_mut(index as usize)
    }

    /// A step whose turn it was is over, and the turn of others has come.
    fn pass(&mut self, index: u32, rules: ActiveRules) {
        if !self.active.remove(&index) {
            return;
        }
        let is_over = |run: &Self, place: usize| run.steps.get(place).is_some_and(StepRun::is_over);
        while is_over(self, self.cursor as usize) {
            self.cursor = self.cursor.saturating_add(1);
        }
        let identity = Arc::clone(&self.identity);
        let next = match identity.graph() {
            None => vec![index as usize + 1],
            Some(graph) => {
                let can_start = |place: &usize| {
                    let mut needs = graph.needs(*place).iter();
                    needs.all(|needed| is_over(self, *needed))
                        || !rules.hold(DecisionRule::NeedsFirst)
                };
                graph.dependents(index as usize).iter().copied().filter(can_start).collect()
            }
        };
        let exist = next.into_iter().filter(|place| *place < self.steps.len());
        self.active.extend(exist.filter_map(|place| u32::try_from(place).ok()));
    }
}
