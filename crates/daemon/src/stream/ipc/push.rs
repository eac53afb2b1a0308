//! What interfaces are told without asking, in the names of the source this grew from.

use std::collections::{BTreeMap, HashMap};

use coven_api::ipc::IpcPush;
use coven_model::event::SessionEvent;
use coven_model::{AttemptId, OrchestratorState, SessionId, TaskId, TaskStatus, WorkflowStatus};
use coven_service::{FeedEvent, LiveEvent, PublishedEvent, Service, stream_name};
use serde_json::{Value, json};

/// Makes what is pushed out of what happens. Remembers the statuses of tasks, so that each change
/// is told once.
#[derive(Debug, Default)]
pub(super) struct PushBuilder {
    statuses: HashMap<SessionId, BTreeMap<TaskId, TaskStatus>>,
}

impl PushBuilder {
    /// What is pushed because of this.
    pub(super) async fn of(&mut self, service: &Service, envelope: &FeedEvent) -> Vec<IpcPush> {
        let session = &envelope.session;
        let event = match &envelope.what {
            PublishedEvent::Live(live) => return live_push(session, live).into_iter().collect(),
            PublishedEvent::Fact { event, .. } => event,
        };
        let mut pushes = Vec::new();
        if let SessionEvent::WorkflowStarted { .. } = **event {
            let view = service.session_view(session).await;
            let (name, goal) = view.map_or((None, None), |view| (Some(view.name), view.goal));
            let data = json!({"sessionId": session, "name": name, "goal": goal});
            pushes.push(push("workflowStarted", data));
        }
        if let Some(status) = status_after(event) {
            let state = OrchestratorState::from(status);
            let data = json!({"sessionId": session, "state": state, "status": status});
            pushes.push(push("stateChange", data));
        }
        for (task, attempt, status) in self.changes(service, session, event).await {
            let data = json!({
                "sessionId": session, "taskId": task, "attempt": attempt, "status": status,
            });
            pushes.push(push("taskStatusChange", data));
        }
        pushes.extend(told(session, event));
        if matches!(**event, SessionEvent::SessionDeleted { .. }) {
            self.statuses.remove(session);
        }
        pushes
    }

    /// Which tasks stand elsewhere than before.
    async fn changes(
        &mut self,
        service: &Service,
        session: &SessionId,
        event: &SessionEvent,
    ) -> Vec<(TaskId, Option<u32>, TaskStatus)> {
        let told = match event {
            SessionEvent::TaskStarted(started) => (&started.spec.job.attempt, TaskStatus::Running),
            SessionEvent::TaskStatus { job, status, .. } => (job, *status),
            SessionEvent::TaskEnded(ended) => (&ended.job, ended.status),
            // What waits for a person says only together with everything else that waits where its
            // task stands. There is no more of it than people can answer.
            SessionEvent::InterventionRequired { .. }
            | SessionEvent::InterventionResolved { .. }
            | SessionEvent::InterventionWithdrawn { .. } => {
                let Some(view) = service.session_view(session).await else { return Vec::new() };
                let changed = view.task_status.into_iter().filter(|(task, status)| {
                    // What has not begun is not told of.
                    *status != TaskStatus::Pending && self.note(session, task, *status)
                });
                return changed.map(|(task, status)| (task, None, status)).collect();
            }
            _ => return Vec::new(),
        };
        let (AttemptId { task, attempt }, status) = told;
        if self.note(session, task, status) {
            vec![(task.clone(), Some(*attempt), status)]
        } else {
            Vec::new()
        }
    }

    /// Takes note of a status. Says whether it is new.
    fn note(&mut self, session: &SessionId, task: &TaskId, status: TaskStatus) -> bool {
        let statuses = self.statuses.entry(session.clone()).or_default();
        statuses.insert(task.clone(), status) != Some(status)
    }
}

fn push(name: &str, data: Value) -> IpcPush {
    IpcPush { event: format!("orchestrator:{name}"), data }
}

/// Where a session stands after this, if it stands elsewhere then.
fn status_after(event: &SessionEvent) -> Option<WorkflowStatus> {
    Some(match event {
        SessionEvent::SessionCreated(_) => WorkflowStatus::Pending,
        SessionEvent::WorkflowStarted { .. }
        | SessionEvent::WorkflowResumed { .. }
        | SessionEvent::WorkflowRetried { .. } => WorkflowStatus::Running,
        SessionEvent::WorkflowBlocked { .. } => WorkflowStatus::Blocked,
        SessionEvent::WorkflowCompleted { .. } => WorkflowStatus::Completed,
        SessionEvent::WorkflowFailed { .. } => WorkflowStatus::Failed,
        SessionEvent::WorkflowCancelled { .. } => WorkflowStatus::Cancelled,
        _ => return None,
    })
}

/// What else is said because of a fact.
fn told(session: &SessionId, event: &SessionEvent) -> Option<IpcPush> {
    Some(match event {
        SessionEvent::InterventionRequired { intervention, .. } => push(
            "interactionNeeded",
            json!({"sessionId": session, "taskId": intervention.task, "intervention": intervention}),
        ),
        SessionEvent::WorkflowFailed { error, step, .. } => {
            push("error", json!({"sessionId": session, "step": step, "message": error}))
        }
        SessionEvent::StepFailed { error, step, .. } => {
            push("error", json!({"sessionId": session, "step": step, "message": error}))
        }
        _ => return None,
    })
}

fn live_push(session: &SessionId, live: &LiveEvent) -> Option<IpcPush> {
    Some(match live {
        LiveEvent::Output { job, stream: from, offset, length, clean } => push(
            "taskOutput",
            json!({
                "sessionId": session, "taskId": job.task, "attempt": job.attempt,
                "stream": stream_name(*from), "offset": offset, "len": length, "data": &**clean,
            }),
        ),
        LiveEvent::Storage { problem } | LiveEvent::Trigger { problem } => {
            push("error", json!({"sessionId": session, "step": null, "message": problem}))
        }
        LiveEvent::State { .. } | LiveEvent::Restored => return None,
    })
}
