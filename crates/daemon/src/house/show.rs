//! One session with everything about it, and what waits for a person.

use std::collections::BTreeMap;

use coven_api::intervention::InterventionItem;
use coven_api::workflow::{TaskItem, Workflow};
use coven_api::{Code, Problem};
use coven_model::{Choice, Decision, Intervention, PlanView, SessionId, TaskId};
use coven_orchestrator::{SessionSnapshot, TaskSnapshot};
use coven_store::Entry;

use super::{House, Sessions, list};
use crate::problems;

impl House {
    /// Everything about a session.
    pub(crate) async fn workflow(&self, text: &str) -> Result<Workflow, Problem> {
        let found = self.find(text).await?;
        self.shown(&found.sessions, &found.id).await
    }

    /// The same of a session that was found.
    pub(crate) async fn shown(
        &self,
        sessions: &Sessions,
        id: &SessionId,
    ) -> Result<Workflow, Problem> {
        let gone = || Problem::new(Code::WorkflowNotFound, format!("the session {id} is gone"));
        let entry = sessions.entry(id).ok_or_else(gone)?;
        let snapshot = sessions.snapshot(id).await.map_err(|error| problems::request(&error))?;
        let (Some(view), Some(plan)) = (snapshot.view(), snapshot.plan()) else {
            return Err(gone());
        };
        let mut item = list::item(&entry, 0);
        item.status = view.status;
        item.state = view.status.into();
        item.goal.clone_from(&view.goal);
        if !item.foreign {
            item.running = snapshot.running_tasks() as u32;
            item.kept = !view.kept.is_empty();
        }
        // A session that is not run here asks nobody.
        let interventions = if item.foreign { Vec::new() } else { view.interventions.clone() };
        item.waiting = interventions.len() as u32;
        Ok(Workflow {
            item,
            live: sessions.controller(id).is_some() && !view.status.is_final(),
            last_seq: snapshot.last_seq(),
            tasks: tasks(&snapshot, plan),
            session: view.clone(),
            plan: plan.clone(),
            interventions,
        })
    }

    /// What waits for a person in a base directory, or in one session of it.
    pub(super) async fn waiting(
        &self,
        sessions: &Sessions,
        only: Option<&SessionId>,
    ) -> Vec<InterventionItem> {
        let mut entries: BTreeMap<SessionId, Entry> = BTreeMap::new();
        let mut items = Vec::new();
        let open = sessions.interventions().into_iter();
        for asked in open.filter(|asked| only.is_none_or(|only| asked.workflow_id == *only)) {
            if entries.is_empty() {
                let all = sessions.list().into_iter();
                entries.extend(all.map(|entry| (entry.id.clone(), entry)));
            }
            let Some(entry) = entries.get(&asked.workflow_id) else { continue };
            items.push(self.intervention(sessions, entry, asked, None).await);
        }
        items
    }

    /// What was decided in a session.
    pub(super) async fn decided(
        &self,
        sessions: &Sessions,
        id: &SessionId,
    ) -> Result<Vec<InterventionItem>, Problem> {
        let Some(entry) = sessions.entry(id) else {
            return Err(Problem::new(Code::WorkflowNotFound, format!("the session {id} is gone")));
        };
        let mut items = Vec::new();
        for (asked, decision) in sessions.decided(id).await {
            items.push(self.intervention(sessions, &entry, asked, decision).await);
        }
        Ok(items)
    }

    async fn intervention(
        &self,
        sessions: &Sessions,
        entry: &Entry,
        asked: Intervention,
        decision: Option<Decision>,
    ) -> InterventionItem {
        let access = match &asked.task {
            Some(task) => sessions.task(&asked.workflow_id, task).await.ok(),
            None => None,
        };
        let adapter = access.map(|access| access.adapter).filter(|adapter| adapter != "shell");
        let always = asked.options.contains(&Choice::ApproveAlways).then(|| {
            let agent = adapter.as_deref().unwrap_or("the agent");
            format!("{agent} is told yes, and asked by its own means not to ask this again")
        });
        InterventionItem {
            intervention: asked,
            workflow_name: entry.name.clone(),
            goal: entry.goal.clone(),
            base_dir: entry.base_dir.display().to_string(),
            adapter,
            always,
            decision,
        }
    }
}

/// The tasks of a session, in the order of its plan.
fn tasks(snapshot: &SessionSnapshot, plan: &PlanView) -> Vec<TaskItem> {
    let mut items = Vec::new();
    for row in &plan.rows {
        for lane in &row.lanes {
            let Ok(id) = TaskId::new(lane.task.clone()) else { continue };
            let task = snapshot.task(&id).ok();
            let verdict = task.as_ref().and_then(TaskSnapshot::verdict);
            items.push(TaskItem {
                id,
                name: lane.name.clone(),
                step: row.step.clone(),
                status: lane.status,
                attempt: lane.attempt,
                adapter: lane.adapter.clone(),
                mode: lane.mode,
                live: task.as_ref().is_some_and(TaskSnapshot::is_live),
                since: verdict.as_ref().map(|(_, since)| *since),
                verdict: verdict.map(|(verdict, _)| verdict),
                started_at: lane.started_at,
                ended_at: lane.ended_at,
                note: lane.note.clone(),
            });
        }
    }
    items
}
