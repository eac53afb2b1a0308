//! What a list shows of a session, and reading it from the session itself.

use std::path::Path;
use std::sync::Arc;

use coven_folder::{FileError, OpenFolder};
use coven_model::event::SessionCause;
use coven_model::{SessionId, Timestamp, WorkflowStatus};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::journal;
use crate::layout::BaseDir;
use crate::names;
use crate::view;

/// How much of a goal a list shows, in characters.
const MAX_GOAL_CHARS: usize = 300;

/// The largest view that a list reads, in bytes.
const MAX_VIEW_BYTES: u64 = 64 * 1024 * 1024;

/// The longest name that a session can have.
const MAX_NAME_BYTES: usize = 100;

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEntry {
    pub id: SessionId,
    pub name: String,
    /// The name of the workflow that it runs, if it is known.
    pub grimoire: Option<String>,
    /// The event that started it, if its grimoire's trigger did.
    pub cause: Option<SessionCause>,
    /// What it is for; the beginning, if that is long.
    pub goal: Option<String>,
    pub status: WorkflowStatus,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Whether agents of it were left alive on purpose.
    pub kept: bool,
    /// The base directory it was found below.
    pub base_dir: Arc<Path>,
    /// Whether it is not registered as made by this user in this directory: it can be read, and is
    /// never opened for writing.
    pub foreign: bool,
    /// Whether its journal has nothing that this does not show. If not, it is what was known last,
    /// and opening the session tells how it stands.
    pub fresh: bool,
    /// Why it cannot be opened, if that was tried and failed.
    pub problem: Option<String>,
}

impl SessionEntry {
    /// The beginning of a goal, as a list shows it.
    pub fn short_goal(goal: &str) -> String {
        match goal.char_indices().nth(MAX_GOAL_CHARS) {
            Some((end, _)) => format!("{}…", &goal[..end]),
            None => goal.to_owned(),
        }
    }
}

/// The part of a view that a list needs. What else is in it is skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ViewSummary {
    up_to: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    workflow: Option<String>,
    #[serde(default)]
    goal: Option<String>,
    #[serde(default)]
    status: WorkflowStatus,
    #[serde(default)]
    created_at: Timestamp,
    #[serde(default)]
    updated_at: Timestamp,
    #[serde(default)]
    kept: Vec<IgnoredAny>,
}

/// A session of the user of which nothing is known but its id.
pub(super) fn unknown(id: &SessionId, base_dir: Arc<Path>) -> SessionEntry {
    SessionEntry {
        id: id.clone(),
        name: names::name(id, |_| false),
        grimoire: None,
        cause: None,
        goal: None,
        status: WorkflowStatus::default(),
        created_at: made_at(id),
        updated_at: made_at(id),
        kept: false,
        base_dir,
        foreign: false,
        fresh: false,
        problem: None,
    }
}

/// Reads what a list needs from the folder of a foreign session. What cannot be read does not keep
/// it from being listed.
pub(super) fn look(base: &BaseDir, id: &SessionId, base_dir: Arc<Path>) -> SessionEntry {
    let folder = base.sessions().enter(id.as_str());
    let (seen, last) = match &folder {
        Ok(folder) => (seen(folder).ok().flatten(), last(folder, id)),
        Err(_) => (None, None),
    };
    let fresh = seen.as_ref().is_some_and(|seen| Some(seen.up_to) == last);
    // Without a readable view the entry has the values of a session that has just begun; the id
    // says when it was made.
    let unknown = SessionEntry { foreign: true, ..unknown(id, base_dir) };
    let Some(seen) = seen else { return unknown };
    SessionEntry {
        name: checked_name(seen.name, id),
        grimoire: seen.workflow.filter(|name| is_name(name)),
        goal: seen.goal.as_deref().map(SessionEntry::short_goal),
        status: seen.status,
        created_at: seen.created_at,
        updated_at: seen.updated_at,
        kept: !seen.kept.is_empty(),
        fresh,
        ..unknown
    }
}

/// When an id was made: a UUID of version 7 begins with the milliseconds since 1970.
fn made_at(id: &SessionId) -> Timestamp {
    let digits: String = id.as_str().chars().filter(char::is_ascii_hexdigit).take(12).collect();
    u64::from_str_radix(&digits, 16).map(Timestamp::from_millis).unwrap_or_default()
}

/// The name that a file gives a session, if it can be one. The files of a foreign session can say
/// anything, and a name is printed and typed.
pub(super) fn checked_name(name: String, id: &SessionId) -> String {
    if is_name(&name) { name } else { names::name(id, |_| false) }
}

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(fits)
}

fn seen(folder: &OpenFolder) -> Result<Option<ViewSummary>, FileError> {
    // A view that is larger than this was not written by us, and is not read into memory.
    if folder.stat(view::FILE)?.is_some_and(|stat| stat.st_size as u64 > MAX_VIEW_BYTES) {
        return Ok(None);
    }
    let text = folder.read(view::FILE)?;
    Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
}

/// The number of the last fact of a session.
fn last(folder: &OpenFolder, id: &SessionId) -> Option<u64> {
    journal::last_seq(folder, id).ok()
}
