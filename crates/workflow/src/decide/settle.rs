//! Writes down what follows from the state alone.

use coven_model::event::{SessionEvent, StoppingEnd};
use coven_model::{InterventionId, InterventionKind};

use super::DecisionDraft;
use crate::plan::{OnFailure, OnLost, StepAction};
use crate::rules::DecisionRule;
use crate::state::{RunPhase, StepProgress};

impl DecisionDraft {
    /// Goes on until nothing follows any more.
    pub(super) fn settle(&mut self) {
        while self.settle_once() {}
        self.announce_blocking();
    }

    /// One thing that follows; whether there was one.
    fn settle_once(&mut self) -> bool {
        let before = self.events.len();
        let Some(run) = self.run() else { return false };
        match &run.phase {
            RunPhase::Created => {}
            RunPhase::Running => self.go_on(),
            RunPhase::Stopping { .. } => self.drain(),
            RunPhase::Failed { .. } if run.has_waiting_review() => self.go_on_with_review(),
            RunPhase::Completed | RunPhase::Failed { .. } | RunPhase::Cancelled { .. } => {
                if !self.holds(DecisionRule::FinalAbsorbs) {
                    self.go_on();
                }
            }
        }
        self.events.len() > before
    }

    fn go_on(&mut self) {
        let Some(run) = self.run() else { return };
        let Some((_, _, state)) = run.current() else {
            if run.phase == RunPhase::Running && self.settle_trees() {
                self.record(SessionEvent::WorkflowCompleted { at: self.now });
            }
            return;
        };
        if state.progress == StepProgress::Running && self.ask_about_tree() {
            return;
        }
        let Some(run) = self.run() else { return };
        let Some((_, step, state)) = run.current() else { return };
        match &state.progress {
            StepProgress::Waiting => self.begin_step(),
            StepProgress::Running if state.landing.is_some() => self.settle_landing(),
            StepProgress::Running => match &step.action {
                StepAction::Agent { .. } | StepAction::Script { .. } => self.settle_single(),
                StepAction::Gate { .. } => self.settle_gate(),
                StepAction::AgentLoop { .. } => self.settle_loop(),
                StepAction::ParallelAgents { .. } | StepAction::Stage { .. } => self.settle_many(),
            },
            StepProgress::Decided { kind, decision } => {
                let (kind, decision) = (*kind, decision.as_ref().clone());
                self.apply_decision(kind, decision);
            }
            StepProgress::Failed { error, continues: false, .. } => {
                let (error, name, over) = (error.clone(), step.name.clone(), run.is_over());
                if !over {
                    self.fail_run(error, name);
                }
            }
            StepProgress::Blocked { intervention } if run.has_waiting_review() => {
                self.withdraw_each(vec![*intervention], "a review begins another attempt");
            }
            // A person has to decide; or it is over, and then it is not its turn any more.
            StepProgress::Blocked { .. }
            | StepProgress::Completed { .. }
            | StepProgress::Skipped { .. }
            | StepProgress::Failed { .. } => {}
        }
    }

    /// A run that failed goes on, because a task of it is to begin again with a review.
    fn go_on_with_review(&mut self) {
        let Some(run) = self.run() else { return };
        let (run, at) = (run.retries.saturating_add(1), self.now);
        let (by, why) = ("a review".to_owned(), "what was done was reviewed".to_owned());
        self.record(SessionEvent::WorkflowRetried { run, by, why, at });
    }

    /// The run fails, once nothing is alive.
    fn fail_run(&mut self, error: String, step: String) {
        let alive = self.current().is_some_and(|(_, _, state)| state.live > 0);
        let waits = self.run().is_some_and(|run| !run.interventions.is_empty());
        if alive || waits {
            let (end, by, at) = (StoppingEnd::Failed, format!("step {step}"), self.now);
            self.record(SessionEvent::WorkflowStopping { end, by, why: error, at });
        } else {
            self.record(SessionEvent::WorkflowFailed { error, step: Some(step), at: self.now });
        }
    }

    /// A run that is to end waits until nothing is alive.
    fn drain(&mut self) {
        if !self.holds(DecisionRule::NothingStartsLate) {
            self.go_on();
        }
        self.withdraw_all();
        let Some(run) = self.run() else { return };
        let RunPhase::Stopping { end, by, why } = run.phase.clone() else { return };
        let live = run.current().is_some_and(|(_, _, state)| state.live > 0);
        let kept = end == StoppingEnd::Cancelled && !run.kept.is_empty();
        if (live || kept || run.trees_are_busy()) && self.holds(DecisionRule::DrainFirst) {
            return;
        }
        let at = self.now;
        match end {
            StoppingEnd::Cancelled => self.record(SessionEvent::WorkflowCancelled { by, why, at }),
            StoppingEnd::Failed => {
                let step = run.current().map(|(_, step, _)| step.name.clone());
                self.record(SessionEvent::WorkflowFailed { error: why, step, at });
            }
        }
    }

    /// Withdraws every open intervention of the run.
    fn withdraw_all(&mut self) {
        while let Some(run) = self.run()
            && let Some(number) = run.interventions.keys().next()
        {
            let id = InterventionId::in_session(run.session(), *number);
            let (reason, at) = ("the run is being stopped".to_owned(), self.now);
            self.record(SessionEvent::InterventionWithdrawn { id, reason, at });
        }
    }

    /// Tells that the run waits for a person, or does not any more.
    fn announce_blocking(&mut self) {
        let Some(run) = self.run() else { return };
        let (blocked, waits) = (run.blocked, !run.interventions.is_empty());
        if run.phase == RunPhase::Created || run.is_over() {
            return;
        }
        match (blocked, waits) {
            (false, true) => self.record(SessionEvent::WorkflowBlocked { at: self.now }),
            (true, false) => self.record(SessionEvent::WorkflowResumed { at: self.now }),
            _ => {}
        }
    }

    /// The current step failed for good; what that means is written in the plan.
    pub(super) fn fail_step(&mut self, error: String, kind: InterventionKind) {
        let Some((_, step, state)) = self.current() else { return };
        let lost = kind == InterventionKind::LostJob;
        let task = state.tasks.last().map(|task| task.id.clone());
        // One that was started again as often as may be is asked about.
        let asks = match step.on_lost {
            Some(OnLost::Ask | OnLost::Retry) => lost,
            Some(OnLost::Fail) => false,
            None => lost && step.on_failure == OnFailure::Fail,
        };
        match step.on_failure {
            _ if asks => self.open_intervention(kind, task, error),
            OnFailure::Continue => self.step_failed(error, true),
            OnFailure::Block => self.open_intervention(kind, task, error),
            OnFailure::Fail => self.step_failed(error, false),
        }
    }

    /// The current step failed.
    pub(super) fn step_failed(&mut self, error: String, continues: bool) {
        let Some((index, step, _)) = self.current() else { return };
        let (step, at) = (step.name.clone(), self.now);
        self.record(SessionEvent::StepFailed { step, index, error, continues, at });
    }
}
