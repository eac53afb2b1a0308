//! One session with everything about it.

use std::collections::BTreeMap;

use coven_api::workflow::{TaskItem, Workflow};
use coven_model::{AttemptId, Mode, PlanView, SessionId, SessionView, TaskId, TaskStatus, Verdict};
use coven_runner::AgentRunner;
use coven_store::session::Look;
use coven_store::{BaseDir, Entry};

use crate::error::ServiceError;
use crate::list;
use crate::service::Service;
use crate::sessions::Sessions;

/// How often the end of a journal is read again while the session writes it.
const TRIES: usize = 5;

impl Service {
    /// Everything about a session.
    pub async fn show(&self, text: &str) -> Result<Workflow, ServiceError> {
        let found = self.find(text).await?;
        self.shown(&found.sessions, &found.id).await
    }

    /// The same of a session that was found.
    pub(crate) async fn shown(
        &self,
        sessions: &Sessions,
        id: &SessionId,
    ) -> Result<Workflow, ServiceError> {
        let gone = || ServiceError::SessionGone(id.clone());
        let entry = sessions.entry(id).ok_or_else(gone)?;
        // The number is read first: what happens meanwhile is sent again, and never left out.
        let last_seq = last_seq(&entry);
        let view = sessions.view(id).await?.ok_or_else(gone)?;
        let plan = sessions.plan_view(id).await.ok_or_else(gone)?;
        let live = sessions.controller(id).await.is_some() && !view.status.is_final();
        let verdicts: BTreeMap<TaskId, (AttemptId, Verdict)> = sessions
            .verdicts(id)
            .await
            .into_iter()
            .map(|(attempt, verdict)| (attempt.task.clone(), (attempt, verdict)))
            .collect();
        let mut item = list::item(&entry, 0);
        item.status = view.status;
        item.state = view.status.into();
        item.goal.clone_from(&view.goal);
        if !item.foreign {
            let status = |status| count(&view, status);
            item.running = status(TaskStatus::Running) + status(TaskStatus::WaitingForUser);
            item.kept = !view.kept.is_empty();
        }
        let tasks = self.tasks(sessions, id, &plan, &view, &verdicts).await;
        // A foreign session does not run here, so it asks nothing.
        let interventions = if item.foreign { Vec::new() } else { view.interventions.clone() };
        item.waiting = interventions.len() as u32;
        Ok(Workflow { item, live, last_seq, session: view, plan, tasks, interventions })
    }

    async fn tasks(
        &self,
        sessions: &Sessions,
        id: &SessionId,
        plan: &PlanView,
        view: &SessionView,
        verdicts: &BTreeMap<TaskId, (AttemptId, Verdict)>,
    ) -> Vec<TaskItem> {
        let mut items = Vec::new();
        for row in &plan.rows {
            for lane in &row.lanes {
                let Ok(task) = TaskId::new(lane.task.clone()) else { continue };
                let verdict = verdicts.get(&task);
                let known = verdict.is_some()
                    || (lane.attempt > 0 && !lane.status.is_final())
                    || view.kept.contains(&task);
                // What is over has no process, and looking it up in the journal takes long.
                let access = if known { sessions.task(id, &task).await.ok() } else { None };
                let agent = access.as_ref().and_then(|access| access.agent.as_ref());
                let live = access
                    .as_ref()
                    .is_some_and(|access| access.agent.is_some() || access.headless.is_some());
                let mode = match &access {
                    Some(access) => access.mode,
                    None if lane.adapter == "shell" || lane.adapter.is_empty() => Mode::Headless,
                    None => mode(view, &row.step, &lane.task),
                };
                items.push(TaskItem {
                    id: task,
                    name: lane.name.clone(),
                    step: row.step.clone(),
                    status: lane.status,
                    attempt: lane.attempt,
                    adapter: lane.adapter.clone(),
                    mode,
                    live,
                    verdict: verdict.map(|(_, verdict)| verdict.clone()),
                    since: agent.filter(|_| verdict.is_some()).map(AgentRunner::since),
                    started_at: lane.started_at,
                    ended_at: lane.ended_at,
                    note: lane.note.clone(),
                });
            }
        }
        items
    }
}

fn count(view: &SessionView, status: TaskStatus) -> u32 {
    view.task_status.values().filter(|task| **task == status).count() as u32
}

/// The number of a session's newest fact. One that is being written does not count yet.
fn last_seq(entry: &Entry) -> u64 {
    let look = BaseDir::find(&entry.base_dir).ok().flatten();
    let Some(look) = look.and_then(|base| Look::open(&base, &entry.id).ok()) else { return 0 };
    let known = (0..TRIES).find_map(|_| look.last().ok());
    known.unwrap_or_else(|| {
        // A journal with a torn end is read from its beginning.
        let read = |mut reader: coven_store::Reader| {
            reader.read_all::<serde_json::Value>(1).ok()?.last().map(|record| record.seq)
        };
        look.reader().ok().and_then(read).unwrap_or(0)
    })
}

/// How a task runs that is over or has not begun, as its definition says.
fn mode(view: &SessionView, step: &str, task: &str) -> Mode {
    fn find<'a>(value: &'a serde_json::Value, step: &str, task: &str) -> Option<&'a str> {
        let list = |name: &str| value.get(name).and_then(|list| list.as_array());
        if let Some(stages) = list("stages") {
            let mut tasks = stages.iter().filter_map(|stage| stage["tasks"].as_array()).flatten();
            return tasks.find(|found| found["id"] == task)?["executionMode"].as_str();
        }
        let mut steps = list("steps")?.iter();
        steps.find(|found| found["name"] == step)?["mode"].as_str()
    }
    match find(&view.workflow_definition, step, task) {
        Some("headless") => Mode::Headless,
        Some("interactive") => Mode::Interactive,
        // Steps of grimoires run without a terminal unless they say otherwise.
        _ if view.workflow_definition.get("stages").is_some() => Mode::Interactive,
        _ => Mode::Headless,
    }
}
