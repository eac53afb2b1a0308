//! Sessions in lists, over all base directories.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use coven_api::event::Snapshot;
use coven_api::intervention::InterventionState;
use coven_api::workflow::{ListQuery, WorkflowItem, WorkflowPage};
use coven_api::{Code, Problem};
use coven_model::{SessionId, TaskStatus, WorkflowStatus};
use coven_orchestrator::Orchestrator;
use coven_store::Entry;

use super::{Base, House};

/// A page has so many sessions unless said.
const PAGE: u32 = 100;
/// And so many at most.
const LARGEST_PAGE: u32 = 1000;
/// A snapshot has so many of the newest sessions.
const NEWEST: usize = 200;

impl House {
    /// A page of sessions, the newest first.
    pub(crate) async fn list(&self, query: &ListQuery) -> Result<WorkflowPage, Problem> {
        let limit = query.limit.unwrap_or(PAGE);
        if !(1..=LARGEST_PAGE).contains(&limit) {
            let detail = format!("`limit` is 1 to {LARGEST_PAGE}");
            return Err(Problem::new(Code::BadRequest, detail));
        }
        let statuses = statuses(query.status.as_deref())?;
        let after = match &query.after {
            Some(text) => Some(SessionId::new(text.clone()).map_err(|_| {
                Problem::new(Code::BadInput, "`after` is the `next` of the page before")
            })?),
            None => None,
        };
        let search = query.search.as_deref().map(str::to_lowercase);
        let bases = match &query.base_dir {
            Some(text) => self.one_base(Path::new(text)).await?,
            None => self.orchestrators().await,
        };
        let wanted = |entry: &Entry| {
            statuses.as_ref().is_none_or(|statuses| statuses.contains(&entry.status))
                && search.as_ref().is_none_or(|search| matches(entry, search))
        };
        let mut all: Vec<(Entry, usize)> = Vec::new();
        for (place, (_, orchestrator)) in bases.iter().enumerate() {
            let entries = orchestrator.list().into_iter().filter(&wanted);
            all.extend(entries.map(|entry| (entry, place)));
        }
        // Ids are made of the time, so the newest have the greatest.
        all.sort_unstable_by(|(a, _), (b, _)| b.id.cmp(&a.id));
        let total = all.len() as u64;
        if let Some(after) = after {
            all.retain(|(entry, _)| entry.id < after);
        }
        let more = all.len() > limit as usize;
        all.truncate(limit as usize);
        let workflows = self.items(&bases, all).await;
        let next = workflows.last().filter(|_| more).map(|last| last.id.to_string());
        Ok(WorkflowPage { workflows, total, next })
    }

    /// A folder that somebody asks about. One without sessions is not opened for that.
    async fn one_base(&self, path: &Path) -> Result<Vec<(Arc<Base>, Orchestrator)>, Problem> {
        let path = super::usable(path)?;
        let known = self.known().contains(&path);
        if !known && !path.join(".coven/sessions").is_dir() {
            return Ok(Vec::new());
        }
        let base = self.base(&path)?;
        let orchestrator = base.orchestrator(self).await?;
        Ok(vec![(base, orchestrator)])
    }

    /// How everything looks now.
    pub(crate) async fn snapshot(&self) -> Snapshot {
        // The position comes first: what happens while we look is told again, and never left out.
        let pos = self.feed().last();
        let bases = self.orchestrators().await;
        let mut all: Vec<(Entry, usize)> = Vec::new();
        for (place, (_, orchestrator)) in bases.iter().enumerate() {
            all.extend(orchestrator.list().into_iter().map(|entry| (entry, place)));
        }
        all.sort_unstable_by(|(a, _), (b, _)| b.id.cmp(&a.id));
        let mut count = 0;
        all.retain(|(entry, _)| {
            count += 1;
            count <= NEWEST || !entry.status.is_final() || entry.kept
        });
        let workflows = self.items(&bases, all).await;
        let interventions =
            self.interventions(InterventionState::Open, None).await.unwrap_or_default();
        Snapshot { pos, workflows, interventions }
    }

    async fn items(
        &self,
        bases: &[(Arc<Base>, Orchestrator)],
        entries: Vec<(Entry, usize)>,
    ) -> Vec<WorkflowItem> {
        let open: BTreeSet<usize> = entries
            .iter()
            .filter(|(entry, _)| !entry.status.is_final())
            .map(|(_, place)| *place)
            .collect();
        let mut waiting = std::collections::BTreeMap::new();
        for place in open {
            waiting.extend(self.counts(&bases[place].1).await);
        }
        let mut items = Vec::with_capacity(entries.len());
        for (entry, place) in entries {
            let mut item = item(&entry, waiting.get(&entry.id).copied().unwrap_or(0));
            if !item.status.is_final() {
                item.running = running(&bases[place].1, &entry.id).await;
            }
            items.push(item);
        }
        items
    }
}

/// How many jobs of a session run now.
async fn running(orchestrator: &Orchestrator, id: &SessionId) -> u32 {
    // One that is not in memory has no jobs that anybody follows.
    let Some(controller) = orchestrator.controller(id).await else { return 0 };
    let view = controller.view().await;
    let statuses = view.map(|view| view.task_status).unwrap_or_default();
    let live =
        |status: &&TaskStatus| matches!(status, TaskStatus::Running | TaskStatus::WaitingForUser);
    statuses.values().filter(live).count() as u32
}

pub(super) fn item(entry: &Entry, waiting: u32) -> WorkflowItem {
    WorkflowItem {
        id: entry.id.clone(),
        name: entry.name.clone(),
        goal: entry.goal.clone(),
        status: entry.status,
        state: entry.status.into(),
        base_dir: entry.base_dir.display().to_string(),
        created_at: entry.created_at,
        updated_at: entry.updated_at,
        waiting,
        running: 0,
        kept: entry.kept,
    }
}

fn matches(entry: &Entry, search: &str) -> bool {
    entry.name.to_lowercase().contains(search)
        || entry.id.as_str().contains(search)
        || entry.goal.as_ref().is_some_and(|goal| goal.to_lowercase().contains(search))
}

fn statuses(text: Option<&str>) -> Result<Option<BTreeSet<WorkflowStatus>>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let one = |name: &str| {
        serde_json::from_value(serde_json::Value::from(name.trim())).map_err(|_| {
            let name = super::short(name);
            Problem::new(Code::BadRequest, format!("`{name}` is not a status"))
                .with_hint("there are pending, running, blocked, completed, failed and cancelled")
        })
    };
    text.split(',').map(one).collect::<Result<_, _>>().map(Some)
}
