//! Sessions in lists, over all base directories.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use coven_api::event::EventSnapshot;
use coven_api::workflow::{ListQuery, WorkflowItem, WorkflowPage};
use coven_model::{SessionId, WorkflowStatus};
use coven_orchestrator::SessionSnapshot;
use coven_store::SessionEntry;

use crate::base_dir;
use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::sharing::shared_folders;
use crate::text::{excerpt, printable};

/// How many sessions a page has unless the request says.
const DEFAULT_PAGE_SESSIONS: u32 = 100;
/// How many sessions a page has at most.
const MAX_PAGE_SESSIONS: u32 = 1000;
/// How many of the newest sessions a snapshot has.
const MAX_SNAPSHOT_SESSIONS: usize = 200;

impl Service {
    /// A page of sessions, the newest first.
    pub async fn list(&self, query: &ListQuery) -> Result<WorkflowPage, ServiceError> {
        let limit = query.limit.unwrap_or(DEFAULT_PAGE_SESSIONS);
        if !(1..=MAX_PAGE_SESSIONS).contains(&limit) {
            return Err(ServiceError::BadRequest(format!("`limit` is 1 to {MAX_PAGE_SESSIONS}")));
        }
        let statuses = statuses(query.status.as_deref())?;
        let after = match &query.after {
            Some(text) => Some(SessionId::new(text.clone()).map_err(|_| {
                ServiceError::BadInput("`after` is the `next` of the page before".to_owned())
            })?),
            None => None,
        };
        let search = query.search.as_deref().map(str::to_lowercase);
        let bases = match &query.base_dir {
            Some(text) => self.sessions_of(PathBuf::from(text)).await?,
            None => self.sessions().await,
        };
        let wanted = |entry: &SessionEntry| {
            statuses.as_ref().is_none_or(|statuses| statuses.wants(entry))
                && search.as_ref().is_none_or(|search| matches(entry, search))
        };
        let mut all: Vec<(SessionEntry, usize)> = Vec::new();
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
        let workflows = Self::items(&bases, all);
        let next = workflows.last().filter(|_| more).map(|last| last.id.to_string());
        Ok(WorkflowPage { workflows, total, next })
    }

    /// The sessions of one folder. It is not opened for that.
    async fn sessions_of(&self, path: PathBuf) -> Result<Vec<Sessions>, ServiceError> {
        let path = self.owned(path).await?;
        let sessions = match self.known_base_dir(&path) {
            Some(base) => base.sessions(self.context()).await?,
            None => base_dir::archive(self.context(), &path).await?,
        };
        Ok(sessions.into_iter().collect())
    }

    /// How everything looks now.
    pub async fn snapshot(&self) -> EventSnapshot {
        // The position is read first: what happens meanwhile is sent again, and never left out.
        let pos = self.context().feed.last();
        let bases = self.sessions().await;
        let mut all: Vec<(SessionEntry, usize)> = Vec::new();
        for (place, sessions) in bases.iter().enumerate() {
            all.extend(sessions.list().into_iter().map(|entry| (entry, place)));
        }
        without_copies(&mut all);
        all.sort_unstable_by(|(a, _), (b, _)| b.id.cmp(&a.id));
        let mut count = 0;
        all.retain(|(entry, _)| {
            count += 1;
            count <= MAX_SNAPSHOT_SESSIONS
                || (!entry.foreign && (!entry.status.is_final() || entry.kept))
        });
        let workflows = Self::items(&bases, all);
        let interventions = self.open_interventions().await;
        EventSnapshot { pos, workflows, interventions }
    }

    fn items(bases: &[Sessions], entries: Vec<(SessionEntry, usize)>) -> Vec<WorkflowItem> {
        let open: BTreeSet<usize> = entries
            .iter()
            // Agents that were left alive ask when their run is over.
            .filter(|(entry, _)| !entry.foreign && (!entry.status.is_final() || entry.kept))
            .map(|(_, place)| *place)
            .collect();
        let mut waiting: BTreeMap<SessionId, u32> = BTreeMap::new();
        let mut sharing = BTreeMap::new();
        for place in open {
            sharing.extend(shared_folders(&bases[place]));
            for intervention in bases[place].interventions() {
                *waiting.entry(intervention.workflow_id).or_default() += 1;
            }
        }
        let mut items = Vec::with_capacity(entries.len());
        for (entry, place) in entries {
            let mut item = item(&entry, waiting.get(&entry.id).copied().unwrap_or(0));
            if !item.foreign && !item.status.is_final() {
                if let Some(controller) = bases[place].controller(&entry.id) {
                    let snapshot = controller.snapshot();
                    item.running = snapshot.running_tasks() as u32;
                    item.queued = snapshot.queued_tasks() as u32;
                    item.doing = doing(&snapshot);
                }
                item.retrying = retrying(&bases[place], &entry.id);
                item.waits_for_disk = waits_for_disk(&bases[place], &entry.id);
                item.sharing = sharing.remove(&entry.id);
                if let Some(status) = status_without_disk(&bases[place], &item) {
                    item.status = status;
                    item.state = status.into();
                }
            }
            items.push(item);
        }
        items
    }
}

/// Leaves out foreign sessions with the id of one of the user's own: a client that tells sessions
/// apart by their ids must not take a copy for the original. A list of the copy's folder alone has
/// them.
fn without_copies(entries: &mut Vec<(SessionEntry, usize)>) {
    let own: BTreeSet<SessionId> = entries
        .iter()
        .filter(|(entry, _)| !entry.foreign)
        .map(|(entry, _)| entry.id.clone())
        .collect();
    entries.retain(|(entry, _)| !entry.foreign || !own.contains(&entry.id));
}

/// What is done for the first job of a session that something is done for before or after its
/// process, and for how many others.
pub(crate) fn doing(snapshot: &SessionSnapshot) -> Option<String> {
    let all = snapshot.doing();
    let (job, words) = all.first()?;
    Some(format!("{}: {words}{}", job.task, others(all.len())))
}

fn others(all: usize) -> String {
    if all > 1 { format!(" (and {} others)", all - 1) } else { String::new() }
}

/// The first agent of a session that tries to reach its model again, and how many others do.
pub(crate) fn retrying(sessions: &Sessions, id: &SessionId) -> Option<String> {
    let retries = sessions.controller(id)?.snapshot().retries();
    let (job, retry) = retries.first()?;
    let others = others(retries.len());
    Some(printable(&format!("{}: {retry}{others}", job.task)))
}

pub(crate) fn item(entry: &SessionEntry, waiting: u32) -> WorkflowItem {
    WorkflowItem {
        id: entry.id.clone(),
        name: entry.name.clone(),
        grimoire: entry.grimoire.as_deref().map(printable),
        cause: entry.cause.clone(),
        goal: entry.goal.clone(),
        status: entry.status,
        state: entry.status.into(),
        base_dir: entry.base_dir.display().to_string(),
        created_at: entry.created_at,
        updated_at: entry.updated_at,
        waiting,
        running: 0,
        queued: 0,
        kept: entry.kept && !entry.foreign,
        foreign: entry.foreign,
        problem: entry.problem.as_deref().map(printable),
        retrying: None,
        waits_for_disk: None,
        doing: None,
        sharing: None,
    }
}

/// The status of a session that waits for its disk, and cannot tell the index about it either.
fn status_without_disk(sessions: &Sessions, item: &WorkflowItem) -> Option<WorkflowStatus> {
    item.waits_for_disk.as_ref()?;
    Some(sessions.controller(&item.id)?.status())
}

/// Why nothing of a session can be recorded at the moment; nothing if it can.
pub(crate) fn waits_for_disk(sessions: &Sessions, id: &SessionId) -> Option<String> {
    let problem = sessions.controller(id)?.storage_problem()?;
    Some(printable(&problem))
}

fn matches(entry: &SessionEntry, search: &str) -> bool {
    entry.name.to_lowercase().contains(search)
        || entry.id.as_str().contains(search)
        || entry.goal.as_ref().is_some_and(|goal| goal.to_lowercase().contains(search))
}

/// Which sessions a list is to have, by where they stand.
struct StatusFilter {
    of_own: BTreeSet<WorkflowStatus>,
    foreign: bool,
}

impl StatusFilter {
    /// What the files of a foreign session say about it is no status here.
    fn wants(&self, entry: &SessionEntry) -> bool {
        if entry.foreign { self.foreign } else { self.of_own.contains(&entry.status) }
    }
}

fn statuses(text: Option<&str>) -> Result<Option<StatusFilter>, ServiceError> {
    let Some(text) = text else { return Ok(None) };
    let mut statuses = StatusFilter { of_own: BTreeSet::new(), foreign: false };
    for name in text.split(',').map(str::trim) {
        if name == "foreign" {
            statuses.foreign = true;
            continue;
        }
        let status = serde_json::from_value(serde_json::Value::from(name))
            .map_err(|_| ServiceError::UnknownStatus(excerpt(name, 80)))?;
        statuses.of_own.insert(status);
    }
    Ok(Some(statuses))
}
