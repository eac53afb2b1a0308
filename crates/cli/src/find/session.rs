//! Which session a text means: `@`, an id or its beginning, a name or its beginning. Sessions of the
//! current folder come first, because the same name can be given in two folders.

use std::collections::BTreeSet;
use std::path::Path;

use coven_api::workflow::{ListQuery, WorkflowItem};
use coven_api::{ApiClient, ProblemCode};
use coven_model::SessionId;

use crate::failure::{CommandFailure, Result};
use crate::{folders, output};

/// The newest session of the current folder.
pub(crate) const NEWEST: &str = "@";

/// How many sessions are looked through; the daemon gives no larger page.
const MAX_COMPARED_SESSIONS: u32 = 1000;

/// How many sessions a message names that could all be meant.
const MAX_NAMED_CANDIDATES: usize = 5;

/// How much of an id is enough to name a session, as people copy it.
const SHORT_ID_CHARS: usize = 13;

/// By what requests name the session that is meant; nothing if there is none.
pub(super) async fn address(client: &ApiClient, text: &str) -> Result<Option<String>> {
    if text == NEWEST {
        return newest(client).await.map(Some);
    }
    // A whole id means the same session everywhere: that of this user.
    if SessionId::new(text).is_ok() {
        return Ok(Some(text.to_owned()));
    }
    let query = |base_dir: Option<String>| ListQuery {
        search: Some(text.to_owned()),
        limit: Some(MAX_COMPARED_SESSIONS),
        base_dir,
        ..ListQuery::default()
    };
    let here = folders::base_dir(None).ok();
    let mut items = client.workflows(&query(None)).await?.workflows;
    if let Some(here) = &here {
        // A list of all folders leaves out copies of sessions. A folder that cannot be listed has
        // none that could be meant.
        let listed = client.workflows(&query(Some(here.display().to_string()))).await;
        let listed = listed.map(|page| page.workflows).unwrap_or_default();
        let known: BTreeSet<String> = items.iter().map(WorkflowItem::address).collect();
        items.extend(listed.into_iter().filter(|item| !known.contains(&item.address())));
    }
    let found = meant(&items, text, here.as_deref());
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.address())),
        several => Err(ambiguous(text, several)),
    }
}

/// The newest session of the current folder; one of the user's own, if there is one.
async fn newest(client: &ApiClient) -> Result<String> {
    let base_dir = Some(folders::base_dir(None)?.display().to_string());
    let query = ListQuery { base_dir, limit: Some(MAX_COMPARED_SESSIONS), ..ListQuery::default() };
    let page = client.workflows(&query).await?;
    let own = page.workflows.iter().find(|item| !item.foreign);
    let newest = own.or_else(|| page.workflows.first());
    newest.map(WorkflowItem::address).ok_or_else(|| {
        CommandFailure::not_found(
            ProblemCode::WorkflowNotFound,
            "this folder has no sessions, so there is no newest one",
        )
        .hint(
            "name a session (`coven ls` lists those of all folders), or start one: coven run demo",
        )
    })
}

/// The sessions that a text can mean, of the first kind of which there is one. A session that is not
/// this user's own never takes the place of one that is; but what a copy of a folder brings along
/// means the copy there, and not the session that it was copied from.
fn meant<'a>(items: &'a [WorkflowItem], text: &str, here: Option<&Path>) -> Vec<&'a WorkflowItem> {
    // Ids are in lower case; people need not care.
    let id = text.to_ascii_lowercase();
    let is_named = |item: &WorkflowItem| item.name == text;
    let begins =
        |item: &WorkflowItem| item.name.starts_with(text) || item.id.as_str().starts_with(&id);
    let is_here = |item: &WorkflowItem| here.is_some_and(|here| Path::new(&item.base_dir) == here);
    let own: BTreeSet<&SessionId> =
        items.iter().filter(|item| !item.foreign).map(|item| &item.id).collect();
    let is_copy = |item: &WorkflowItem| item.foreign && is_here(item) && own.contains(&item.id);
    for foreign in [false, true] {
        let of = |fits: &dyn Fn(&WorkflowItem) -> bool| -> Vec<&'a WorkflowItem> {
            let counts = |item: &WorkflowItem| item.foreign == foreign || is_copy(item);
            items.iter().filter(|item| counts(item) && fits(item)).collect()
        };
        let kinds = [
            of(&|item| is_named(item) && is_here(item)),
            of(&is_named),
            of(&|item| begins(item) && is_here(item)),
            of(&begins),
        ];
        if let Some(found) = kinds.into_iter().find(|found| !found.is_empty()) {
            return found;
        }
    }
    Vec::new()
}

fn ambiguous(text: &str, several: &[&WorkflowItem]) -> CommandFailure {
    let one = |item: &&WorkflowItem| {
        let id: String = item.id.as_str().chars().take(SHORT_ID_CHARS).collect();
        format!("{} ({id}, in {})", item.name, output::one_line(&item.base_dir))
    };
    let named: Vec<String> = several.iter().take(MAX_NAMED_CANDIDATES).map(one).collect();
    let more = several.len().saturating_sub(MAX_NAMED_CANDIDATES);
    let more = if more > 0 { format!(" or {more} more") } else { String::new() };
    CommandFailure::usage(format!("`{text}` could be {}{more}", named.join(", ")))
        .hint("give more of the name or the id; a name counts first in the folder you are in")
}

#[cfg(test)]
mod tests {
    use coven_model::{OrchestratorState, Timestamp, WorkflowStatus};

    use super::*;

    fn item(id: u32, name: &str, folder: &str, foreign: bool) -> WorkflowItem {
        WorkflowItem {
            id: SessionId::new(format!("0190{id:04}-0000-7000-8000-000000000000")).unwrap(),
            name: name.to_owned(),
            grimoire: None,
            cause: None,
            goal: None,
            status: WorkflowStatus::Completed,
            state: OrchestratorState::from(WorkflowStatus::Completed),
            base_dir: folder.to_owned(),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            waiting: 0,
            running: 0,
            queued: 0,
            kept: false,
            foreign,
            waits_for_disk: None,
            doing: None,
            sharing: None,
            problem: None,
            retrying: None,
        }
    }

    #[test]
    fn names_count_first_where_they_are_asked_for() {
        let all = [
            item(1, "brisk-otter", "/a", false),
            item(2, "brisk-otter", "/b", false),
            item(3, "brisk-ant", "/b", false),
            item(4, "calm-owl", "/c", false),
            item(5, "calm-owl", "/a", true),
            item(3, "brisk-ant", "/copy", true),
        ];
        let found = |text: &str, here: &str| -> Vec<String> {
            let found = meant(&all, text, Some(Path::new(here)));
            found.iter().map(|item| item.id.as_str()[4..8].to_owned()).collect()
        };
        let folder =
            |text: &str, here: &str| meant(&all, text, Some(Path::new(here)))[0].base_dir.clone();
        assert_eq!(folder("brisk-ant", "/copy"), "/copy", "not what it was copied from");
        assert_eq!(folder("brisk-a", "/copy"), "/copy");
        assert_eq!(folder("brisk-ant", "/a"), "/b");
        assert_eq!(found("brisk-otter", "/a"), ["0001"]);
        assert_eq!(found("brisk-otter", "/b"), ["0002"]);
        assert_eq!(found("brisk-otter", "/c"), ["0001", "0002"]);
        assert_eq!(found("brisk", "/a"), ["0001"]);
        assert_eq!(found("brisk", "/b"), ["0002", "0003"]);
        assert_eq!(found("brisk-a", "/a"), ["0003"]);
        assert_eq!(found("calm-owl", "/a"), ["0004"], "a foreign session takes no place");
        assert_eq!(found("01900003", "/a"), ["0003"]);
        assert!(found("otter", "/a").is_empty());
    }
}
