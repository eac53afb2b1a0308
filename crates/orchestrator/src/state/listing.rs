//! What a list shows of a session, read from its journal. The view beside the journal can be written
//! by whoever works in the project, so nothing is taken from it.

use std::path::Path;

use coven_model::{SessionId, Timestamp};
use coven_store::{BaseDir, Index, SessionAuthority, SessionEntry};
use coven_workflow::State;

use super::PastSession;
use super::manager::look;
use crate::error::RequestError;

/// A session in a list; nothing if it has no run.
pub(crate) fn entry_of(
    state: &State,
    updated_at: Timestamp,
    base_dir: &Path,
) -> Option<SessionEntry> {
    let run = state.run()?;
    Some(SessionEntry {
        id: run.session().clone(),
        name: run.identity.name.clone(),
        grimoire: Some(run.identity.plan.name.clone()),
        cause: run.identity.cause.clone(),
        goal: run.identity.goal.as_deref().map(SessionEntry::short_goal),
        status: state.status(),
        created_at: run.identity.created_at,
        updated_at,
        kept: !run.kept.is_empty(),
        base_dir: base_dir.into(),
        foreign: false,
        fresh: true,
        problem: None,
    })
}

/// Reads the journals of the user's sessions that changed since the index was written. One whose
/// view is behind is still not fresh: it is to be opened once, which writes the view.
pub(crate) fn settle(index: &mut Index, base: &BaseDir, authority: &SessionAuthority) {
    let is_open = |entry: &&SessionEntry| !entry.foreign && !entry.fresh;
    let ids: Vec<SessionId> =
        index.entries().filter(is_open).map(|entry| entry.id.clone()).collect();
    for id in ids {
        let read = look(base, Some(authority), &id).map_err(RequestError::from);
        match read.and_then(PastSession::read) {
            Ok(past) => {
                if let Some(entry) = entry_of(past.state(), past.updated_at(), base.path()) {
                    index.settle(SessionEntry { fresh: past.has_current_view(), ..entry });
                }
            }
            Err(error) => index.set_problem(&id, Some(error.to_string())),
        }
    }
}
