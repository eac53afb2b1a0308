//! Sessions in lists, over all base directories.

use std::collections::BTreeSet;
use std::path::Path;

use coven_api::event::EventSnapshot;
use coven_api::intervention::InterventionState;
use coven_api::workflow::{ListQuery, WorkflowItem, WorkflowPage};
use coven_api::{Code, Problem};
use coven_model::{SessionId, TaskStatus, WorkflowStatus};
use coven_store::Entry;

use super::{House, Sessions};

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
            None => self.sessions().await.into_iter().map(|(_, sessions)| sessions).collect(),
        };
        let wanted = |entry: &Entry| {
            statuses.as_ref().is_none_or(|statuses| statuses.wants(entry))
                && search.as_ref().is_none_or(|search| matches(entry, search))
        };
        let mut all: Vec<(Entry, usize)> = Vec::new();
        for (place, sessions) in bases.iter().enumerate() {
            let entries = sessions.list().into_iter().filter(&wanted);
            all.extend(entries.map(|entry| (entry, place)));
        }
        without_copies(&mut all);
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

    /// The sessions of a folder that somebody asks about. It is not opened for that.
    async fn one_base(&self, path: &Path) -> Result<Vec<Sessions>, Problem> {
        let path = self.owned(path)?;
        let known = self.bases_lock().get(&path).cloned();
        let sessions = match known {
            Some(base) => base.sessions(self).await?,
            None => super::base::archive(self, &path).await?,
        };
        Ok(sessions.into_iter().collect())
    }

    /// How everything looks now.
    pub(crate) async fn snapshot(&self) -> EventSnapshot {
        // The position comes first: what happens while we look is told again, and never left out.
        let pos = self.feed().last();
        let bases: Vec<Sessions> =
            self.sessions().await.into_iter().map(|(_, sessions)| sessions).collect();
        let mut all: Vec<(Entry, usize)> = Vec::new();
        for (place, sessions) in bases.iter().enumerate() {
            all.extend(sessions.list().into_iter().map(|entry| (entry, place)));
        }
        without_copies(&mut all);
        all.sort_unstable_by(|(a, _), (b, _)| b.id.cmp(&a.id));
        let mut count = 0;
        all.retain(|(entry, _)| {
            count += 1;
            count <= NEWEST || (!entry.foreign && (!entry.status.is_final() || entry.kept))
        });
        let workflows = self.items(&bases, all).await;
        let interventions =
            self.interventions(InterventionState::Open, None).await.unwrap_or_default();
        EventSnapshot { pos, workflows, interventions }
    }

    async fn items(&self, bases: &[Sessions], entries: Vec<(Entry, usize)>) -> Vec<WorkflowItem> {
        let open: BTreeSet<usize> = entries
            .iter()
            .filter(|(entry, _)| !entry.foreign && !entry.status.is_final())
            .map(|(_, place)| *place)
            .collect();
        let mut waiting = std::collections::BTreeMap::new();
        for place in open {
            waiting.extend(self.counts(&bases[place]).await);
        }
        let mut items = Vec::with_capacity(entries.len());
        for (entry, place) in entries {
            let mut item = item(&entry, waiting.get(&entry.id).copied().unwrap_or(0));
            if !item.foreign && !item.status.is_final() {
                item.running = running(&bases[place], &entry.id).await;
            }
            items.push(item);
        }
        items
    }
}

/// Leaves out foreign sessions with the id of one of the user's own: whoever tells sessions apart by
/// their ids must not take a copy for the original. A list of the copy's folder alone has them.
fn without_copies(entries: &mut Vec<(Entry, usize)>) {
    let own: BTreeSet<SessionId> = entries
        .iter()
        .filter(|(entry, _)| !entry.foreign)
        .map(|(entry, _)| entry.id.clone())
        .collect();
    entries.retain(|(entry, _)| !entry.foreign || !own.contains(&entry.id));
}

/// How many jobs of a session run now.
async fn running(sessions: &Sessions, id: &SessionId) -> u32 {
    // One that is not in memory has no jobs that anybody follows.
    let Some(controller) = sessions.controller(id).await else { return 0 };
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
        kept: entry.kept && !entry.foreign,
        foreign: entry.foreign,
    }
}

fn matches(entry: &Entry, search: &str) -> bool {
    entry.name.to_lowercase().contains(search)
        || entry.id.as_str().contains(search)
        || entry.goal.as_ref().is_some_and(|goal| goal.to_lowercase().contains(search))
}

/// Which sessions a list is to have, by where they stand.
struct Statuses {
    of_own: BTreeSet<WorkflowStatus>,
    foreign: bool,
}

impl Statuses {
    /// What the files of a foreign session say about it is no status here.
    fn wants(&self, entry: &Entry) -> bool {
        if entry.foreign { self.foreign } else { self.of_own.contains(&entry.status) }
    }
}

fn statuses(text: Option<&str>) -> Result<Option<Statuses>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let mut statuses = Statuses { of_own: BTreeSet::new(), foreign: false };
    for name in text.split(',').map(str::trim) {
        if name == "foreign" {
            statuses.foreign = true;
            continue;
        }
        let status = serde_json::from_value(serde_json::Value::from(name)).map_err(|_| {
            let name = super::short(name);
            Problem::new(Code::BadRequest, format!("`{name}` is not a status")).with_hint(
                "there are pending, running, blocked, completed, failed, cancelled and foreign",
            )
        })?;
        statuses.of_own.insert(status);
    }
    Ok(Some(statuses))
}
