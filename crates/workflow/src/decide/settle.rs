//! Writes down what follows from the state alone.

use coven_model::event::{SessionEvent, StopCause, StoppingEnd};
use coven_model::{AttemptId, InterventionId, InterventionKind};

use super::DecisionDraft;
use crate::plan::{OnFailure, OnLost, StepAction};
use crate::rules::DecisionRule;
use crate::state::{RunPhase, StepProgress, TaskRun, WorkflowRun};

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
        if run.current().is_none() {
            if run.phase == RunPhase::Running && self.settle_trees() {
                self.record(SessionEvent::WorkflowCompleted { at: self.now });
            }
            return;
        }
        let all = self.holds(DecisionRule::BranchesGoOn);
        if let Some((error, step)) = run.failure(all) {
            if !run.is_over() {
                self.fail_run(error, step);
            }
            return;
        }
        let active: Vec<u32> = run.active().map(|(index, ..)| index).collect();
        for index in active {
            self.step = Some(index);
            self.settle_step();
        }
        self.step = None;
    }

    /// One thing that follows for the current step.
    fn settle_step(&mut self) {
        let Some((_, _, state)) = self.current() else { return };
        if state.progress == StepProgress::Running && self.ask_about_tree() {
            return;
        }
        let Some((_, step, state)) = self.current() else { return };
        match &state.progress {
            StepProgress::Waiting => self.begin_step(),
            StepProgress::Running if state.landing.is_some() => self.settle_landing(),
            StepProgress::Running => match &step.action {
                StepAction::Agent { .. } | StepAction::Script { .. } => self.settle_single(),
                StepAction::Gate { .. } => self.settle_gate(),
                StepAction::AgentLoop { .. } => self.settle_loop(),
                StepAction::Loop { .. } => self.settle_steps(),
                StepAction::ParallelAgents { .. }
                | StepAction::ForEach { .. }
                | StepAction::Stage { .. } => self.settle_many(),
            },
            StepProgress::Decided { kind, decision } => {
                let (kind, decision) = (*kind, decision.as_ref().clone());
                self.apply_decision(kind, decision);
            }
            StepProgress::Failed { continues: false, .. } => self.stop_failed_step(),
            StepProgress::Blocked { intervention } if state.has_waiting_review() => {
                self.withdraw_each(vec![*intervention], "a review begins another attempt");
            }
            // A person has to decide; or it is over, and then it is not its turn any more.
            StepProgress::Blocked { .. }
            | StepProgress::Completed { .. }
            | StepProgress::Skipped { .. }
            | StepProgress::Failed { .. } => {}
        }
    }

    /// A step failed while others go on: what is still alive of it is stopped.
    fn stop_failed_step(&mut self) {
        let Some((_, step, state)) = self.current() else { return };
        if state.live == 0 {
            return;
        }
        let by = format!("step {}", step.name);
        let is_live = |task: &&TaskRun| task.live().is_some_and(|live| live.stop.is_none());
        let jobs: Vec<AttemptId> = state.tasks.iter().filter(is_live).map(TaskRun::job).collect();
        for job in jobs {
            self.withdraw(&job, "its step failed");
            let (cause, by) = (StopCause::Unwanted, by.clone());
            self.record(SessionEvent::TaskStopping { job, cause, by, output: None });
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
        let alive = self.run().is_some_and(WorkflowRun::is_alive);
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
        let live = run.is_alive();
        let kept = end == StoppingEnd::Cancelled && !run.kept.is_empty();
        if (live || kept || run.trees_are_busy()) && self.holds(DecisionRule::DrainFirst) {
            return;
        }
        let at = self.now;
        match end {
            StoppingEnd::Cancelled => self.record(SessionEvent::WorkflowCancelled { by, why, at }),
            StoppingEnd::Failed => {
                let failed = run.active().find(|(_, _, state)| state.has_failed());
                let step = failed.or_else(|| run.current()).map(|(_, step, _)| step.name.clone());
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

impl WorkflowRun {
    /// Why the run cannot go on, with the step that says it: all steps whose turn it is have failed.
    /// One that failed does not keep others from going on that do not need it.
    fn failure(&self, all: bool) -> Option<(String, String)> {
        let mut failed = Vec::new();
        for (_, step, state) in self.active() {
            match &state.progress {
                StepProgress::Failed { error, continues: false, .. } => failed.push((step, error)),
                _ if all => return None,
                _ => {}
            }
        }
        let ((step, error), others) = failed.split_first()?;
        let error = match others {
            [] => (*error).clone(),
            others => {
                let names: Vec<&str> = others.iter().map(|(step, _)| step.name.as_str()).collect();
                format!("{error} (and {} failed as well)", names.join(", "))
            }
        };
        Some((error, step.name.clone()))
    }
}
