//! What people want: decisions, the end of a task or of the run, another try.

use coven_model::event::{InterventionDecision, SessionEvent, StopCause, StoppingEnd};
use coven_model::{InterventionId, TaskId};

use super::DecisionDraft;
use crate::state::{RetryTarget, RunPhase, WorkflowRun};

impl DecisionDraft {
    pub(super) fn resolve(&mut self, id: InterventionId, decision: InterventionDecision) {
        let Some(run) = self.run() else { return };
        let asked = run.pending(&id).map(|(_, pending)| &pending.intervention);
        let task = asked.and_then(|asked| asked.task.clone());
        let decision = match asked {
            Some(asked) => asked.read_answer(decision.clone()).unwrap_or(decision),
            None => decision,
        };
        let (decision, at) = (Box::new(decision), self.now);
        self.record(SessionEvent::InterventionResolved { id, decision, at });
        if let Some(task) = task {
            self.keep(&task);
        }
    }

    /// A task that was called done and whose agent stays has ended.
    fn keep(&mut self, task: &TaskId) {
        let Some(task) = self.run().and_then(|run| run.task(task)) else { return };
        let Some(live) = task.live().filter(|live| live.stays_alive()) else { return };
        if let Some((StopCause::Completed, by)) = &live.stop {
            let (job, by, output) = (task.job(), by.clone(), live.output.clone());
            self.end_alive(job, &by, output);
        }
    }

    /// After a restart: what a cut in the journal left undone and no state alone shows.
    pub(super) fn recover(&mut self) {
        let jobs = self.run().into_iter().flat_map(WorkflowRun::live_jobs);
        let tasks: Vec<TaskId> = jobs.map(|(task, _)| task.id.clone()).collect();
        for task in tasks {
            self.keep(&task);
        }
    }

    pub(super) fn complete(&mut self, task: &TaskId, by: String) {
        let run = self.run();
        let live = run.and_then(|run| run.task(task)).and_then(|task| task.live());
        let output = run.zip(live).and_then(|(run, live)| run.last_answer(live));
        self.finish(task, by, output);
    }

    /// An interactive task is done: its agent is stopped, or left alive if that is wanted.
    pub(super) fn finish(&mut self, task: &TaskId, by: String, output: Option<String>) {
        let Some(task) = self.run().and_then(|run| run.task(task)) else { return };
        let Some(live) = task.live() else { return };
        let (job, kept) = (task.job(), live.stays_alive());
        self.withdraw(&job, "the task is done");
        if kept {
            self.end_alive(job, &by, output);
        } else {
            let cause = StopCause::Completed;
            self.record(SessionEvent::TaskStopping { job, cause, by, output });
        }
    }

    pub(super) fn stop_task(&mut self, task: &TaskId, by: String) {
        let Some(task) = self.run().and_then(|run| run.task(task)) else { return };
        let job = task.job();
        self.withdraw(&job, "the task is being stopped");
        self.record(SessionEvent::TaskStopping {
            job,
            cause: StopCause::Unwanted,
            by,
            output: None,
        });
    }

    pub(super) fn cancel(&mut self, by: String, why: String) {
        let at = self.now;
        if self.run().is_some_and(|run| run.phase == RunPhase::Created) {
            return self.record(SessionEvent::WorkflowCancelled { by, why, at });
        }
        let end = StoppingEnd::Cancelled;
        self.record(SessionEvent::WorkflowStopping { end, by, why, at });
    }

    pub(super) fn retry(&mut self, by: String, why: String) {
        let Some(run) = self.run() else { return };
        let Ok(what) = run.retryable() else { return };
        let at = self.now;
        match what {
            RetryTarget::Failed => {
                let number = run.retries.saturating_add(1);
                self.record(SessionEvent::WorkflowRetried { run: number, by, why, at });
            }
            RetryTarget::Blocked(blocked) => {
                let session = run.session().clone();
                for (intervention, choice) in blocked {
                    let id = InterventionId::in_session(&session, intervention);
                    let decision = InterventionDecision::new(choice, by.clone());
                    let decision = Box::new(InterventionDecision { why: why.clone(), ..decision });
                    self.record(SessionEvent::InterventionResolved { id, decision, at });
                }
            }
        }
    }
}
