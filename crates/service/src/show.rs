//! One session with everything about it.

use std::collections::BTreeMap;

use coven_api::workflow::{SessionOutputs, StepResult, TaskItem, WorkflowDetails};
use coven_model::{PlanView, SessionId, TaskId, TreeId};
use coven_orchestrator::{SessionSnapshot, TaskSnapshot};
use coven_workflow::plan::{PlanStep, StepAction};
use coven_workflow::state::{StepRun, TaskPhase};
use serde_json::Value;

use crate::context::ServiceContext;
use crate::error::ServiceError;
use crate::find::FoundSession;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::sharing::shared_folders;
use crate::trees::tree_name;
use crate::{auto_answer, list};

impl Service {
    /// Everything about a session. Of a session in memory this reads its snapshot alone.
    pub async fn show(&self, text: &str) -> Result<WorkflowDetails, ServiceError> {
        let found = self.find(text).await?;
        shown(self.context(), &found.sessions, &found.id).await
    }

    /// What the steps of a session gave. Large values are whole, as no view has them.
    pub async fn outputs(&self, text: &str) -> Result<SessionOutputs, ServiceError> {
        let FoundSession { sessions, id, .. } = self.find(text).await?;
        let snapshot = self.context().past_snapshots.snapshot(&sessions, &id).await?;
        let run = snapshot.state().run().ok_or_else(|| ServiceError::SessionGone(id.clone()))?;
        let errors: BTreeMap<&str, &str> = run.errors().collect();
        let step_result = |(step, seen): (&PlanStep, &StepRun)| StepResult {
            step: step.name.clone(),
            status: seen.status().to_owned(),
            variable: step.output.clone(),
            stdout: seen
                .stdout()
                .filter(|text| seen.output().as_str() != Some(text))
                .map(str::to_owned),
            stderr: seen.stderr().map(str::to_owned),
            output: seen.output().as_ref().clone(),
            omitted: seen.omitted(),
            lost: seen.lost(),
            error: errors.get(step.name.as_str()).map(|error| (*error).to_owned()),
        };
        // The tasks of a stage have names of their own, and the stage has no output.
        let results = |(step, seen): (&PlanStep, &StepRun)| match &step.action {
            StepAction::Stage { tasks } => {
                let tasks = tasks.iter().map(|task| stage_result(&task.id, seen));
                tasks.collect::<Vec<_>>()
            }
            _ => vec![step_result((step, seen))],
        };
        let steps = run.identity.plan.steps.iter().zip(run.steps.iter());
        Ok(SessionOutputs {
            name: run.identity.name.clone(),
            status: snapshot.status(),
            steps: steps.flat_map(results).collect(),
            id,
        })
    }
}

/// What a task of a stage gave.
fn stage_result(id: &TaskId, seen: &StepRun) -> StepResult {
    let task = seen.tasks.iter().find(|task| task.id == *id);
    let (status, output) = match task.map(|task| &task.phase) {
        None => ("pending", Value::Null),
        Some(TaskPhase::Done { value, .. }) => ("completed", value.as_ref().clone()),
        Some(TaskPhase::Failed { .. }) => ("failed", Value::Null),
        Some(TaskPhase::Cancelled) => ("skipped", Value::Null),
        Some(TaskPhase::Live(_) | TaskPhase::Ready { .. } | TaskPhase::Delayed { .. }) => {
            ("running", Value::Null)
        }
    };
    let error = task.and_then(|task| task.error.clone()).filter(|_| status == "failed");
    StepResult {
        step: id.to_string(),
        status: status.to_owned(),
        variable: None,
        output,
        stdout: None,
        stderr: None,
        omitted: 0,
        lost: 0,
        error,
    }
}

/// The same of a session that was found.
pub(crate) async fn shown(
    context: &ServiceContext,
    sessions: &Sessions,
    id: &SessionId,
) -> Result<WorkflowDetails, ServiceError> {
    let gone = || ServiceError::SessionGone(id.clone());
    let entry = sessions.entry(id).ok_or_else(gone)?;
    // Looked at before what it is about to answer: a run may end at any moment.
    let live = sessions.controller(id).is_some_and(|controller| controller.is_under_way());
    let snapshot = context.past_snapshots.snapshot(sessions, id).await?;
    let (Some(view), Some(plan)) = (snapshot.view(), snapshot.plan()) else { return Err(gone()) };
    let mut item = list::item(&entry, 0);
    item.status = view.status;
    item.state = view.status.into();
    item.goal.clone_from(&view.goal);
    // It could be read now, whatever was so before.
    item.problem = None;
    if !item.foreign {
        item.running = snapshot.running_tasks() as u32;
        item.queued = snapshot.queued_tasks() as u32;
        item.kept = !view.kept.is_empty();
        item.waits_for_disk = list::waits_for_disk(sessions, id);
        item.doing = list::doing(&snapshot);
        item.sharing = shared_folders(sessions).remove(id);
    }
    // A foreign session does not run here, so it asks nothing.
    let interventions = if item.foreign { Vec::new() } else { view.interventions.clone() };
    item.waiting = interventions.len() as u32;
    let left_by_auto = match sessions {
        Sessions::Open(orchestrator) => {
            auto_answer::left_to_person(orchestrator, &snapshot, &interventions).await
        }
        Sessions::Closed(_) => Vec::new(),
    };
    Ok(WorkflowDetails {
        item,
        live,
        last_seq: snapshot.last_seq(),
        tasks: tasks(&snapshot, plan),
        session: view.clone(),
        plan: plan.clone(),
        interventions,
        auto: snapshot.auto(),
        left_by_auto,
    })
}

/// The tasks of a session, in the order of its plan.
fn tasks(snapshot: &SessionSnapshot, plan: &PlanView) -> Vec<TaskItem> {
    let mut items = Vec::new();
    for row in &plan.rows {
        for lane in &row.lanes {
            let Ok(id) = TaskId::new(lane.task.clone()) else { continue };
            let task = snapshot.task(&id).ok();
            let verdict = task.as_ref().and_then(TaskSnapshot::verdict);
            let turn_open = snapshot.has_open_turn(&id);
            items.push(TaskItem {
                tree: tree_of(snapshot, &id).as_ref().map(tree_name),
                id,
                name: lane.name.clone(),
                step: row.step.clone(),
                status: lane.status,
                attempt: lane.attempt,
                adapter: lane.adapter.clone(),
                mode: lane.mode,
                turn_open,
                live: task.as_ref().is_some_and(TaskSnapshot::is_live),
                queued: task.as_ref().is_some_and(|task| task.queued),
                doing: task.as_ref().and_then(|task| task.doing.clone()),
                since: verdict.as_ref().map(|(_, since)| *since),
                verdict: verdict.map(|(verdict, _)| verdict),
                started_at: lane.started_at,
                ended_at: lane.ended_at,
                note: lane.note.clone(),
                lost: lane.lost,
            });
        }
    }
    items
}

/// The tree that a task works in, once it was asked for.
fn tree_of(snapshot: &SessionSnapshot, task: &TaskId) -> Option<TreeId> {
    let run = snapshot.state().run()?;
    let tree = run.tree_of_task(task)?;
    run.tree(&tree).is_some().then_some(tree)
}
