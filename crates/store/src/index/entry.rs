//! What a list shows of a session, and reading it from the session itself.

use std::path::Path;
use std::sync::Arc;

use coven_folder::{FileError, Folder};
use coven_model::{SessionId, Timestamp, WorkflowStatus};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::journal;
use crate::layout::BaseDir;
use crate::names;
use crate::view;

/// How much of a goal a list shows, in characters.
const GOAL: usize = 300;

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: SessionId,
    /// Its readable name.
    pub name: String,
    /// What it is for; the beginning, if that is long.
    pub goal: Option<String>,
    /// Where it stands.
    pub status: WorkflowStatus,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Whether agents of it were left alive on purpose.
    pub kept: bool,
    /// The base directory it was found below.
    pub base_dir: Arc<Path>,
    /// Whether its journal has nothing that this does not show. If not, it is what was known last,
    /// and opening the session tells how it stands.
    pub fresh: bool,
}

impl Entry {
    /// The beginning of a goal, as a list shows it.
    pub fn short_goal(goal: &str) -> String {
        match goal.char_indices().nth(GOAL) {
            Some((end, _)) => format!("{}…", &goal[..end]),
            None => goal.to_owned(),
        }
    }
}

/// The part of a view that a list needs. What else is in it is skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    up_to: u64,
    #[serde(default)]
    name: String,
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

/// Reads what a list needs from a session's folder. What cannot be read does not keep a session
/// from being listed.
pub(super) fn look(base: &BaseDir, id: &SessionId, base_dir: Arc<Path>) -> Entry {
    let folder = base.sessions().enter(id.as_str());
    let (seen, last) = match &folder {
        Ok(folder) => (seen(folder).ok().flatten(), last(folder, id)),
        Err(_) => (None, None),
    };
    let fresh = seen.as_ref().is_some_and(|seen| Some(seen.up_to) == last);
    // What nobody knows is told as it is at the beginning.
    let seen = seen.unwrap_or_default();
    Entry {
        id: id.clone(),
        name: if seen.name.is_empty() { names::name(id, |_| false) } else { seen.name },
        goal: seen.goal.as_deref().map(Entry::short_goal),
        status: seen.status,
        created_at: seen.created_at,
        updated_at: seen.updated_at,
        kept: !seen.kept.is_empty(),
        base_dir,
        fresh,
    }
}

fn seen(folder: &Folder) -> Result<Option<Seen>, FileError> {
    let text = folder.read(view::FILE)?;
    Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
}

/// The number of the last fact of a session.
fn last(folder: &Folder, id: &SessionId) -> Option<u64> {
    journal::last_seq(folder, id).ok()
}
