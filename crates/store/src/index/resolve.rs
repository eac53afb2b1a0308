//! Which session a request means by an id, the beginning of one, or a name.

use coven_model::SessionId;

use super::{Index, SessionEntry};

/// How many candidates a message names.
const MAX_NAMED_CANDIDATES: usize = 5;

/// It is not clear which session is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("no session has the id or name `{text}`; `coven ls` lists them")]
    Unknown {
        /// What was asked for.
        text: String,
    },
    /// Several ids begin like this.
    #[error("`{text}` could be {}; give more of the id, or the name", list(candidates))]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// All it could be, as id and name.
        candidates: Vec<(SessionId, String)>,
    },
}

fn list(candidates: &[(SessionId, String)]) -> String {
    let named =
        candidates.iter().take(MAX_NAMED_CANDIDATES).map(|(id, name)| format!("{id} ({name})"));
    let named = named.collect::<Vec<_>>().join(", ");
    match candidates.len().checked_sub(MAX_NAMED_CANDIDATES) {
        None | Some(0) => named,
        Some(more) => format!("{named} or {more} more"),
    }
}

/// An id first, then a name, then the beginning of an id. Sessions of this user come before
/// foreign ones in every case, so that none can be put in the place of another.
pub(super) fn resolve<'a>(index: &'a Index, text: &str) -> Result<&'a SessionEntry, ResolveError> {
    match one_of(index, text, false) {
        Err(ResolveError::Unknown { .. }) => one_of(index, text, true),
        found => found,
    }
}

fn one_of<'a>(
    index: &'a Index,
    text: &str,
    foreign: bool,
) -> Result<&'a SessionEntry, ResolveError> {
    let entries = || index.entries().filter(move |entry| entry.foreign == foreign);
    if let Some(entry) = SessionId::new(text).ok().and_then(|id| index.get(&id))
        && entry.foreign == foreign
    {
        return Ok(entry);
    }
    let named: Vec<&SessionEntry> = entries().filter(|entry| entry.name == text).collect();
    let found = if named.is_empty() { beginning_with(entries(), text) } else { named };
    match found.as_slice() {
        [] => Err(ResolveError::Unknown { text: text.chars().take(80).collect() }),
        [entry] => Ok(entry),
        several => {
            let candidates = several.iter().map(|entry| (entry.id.clone(), entry.name.clone()));
            let (text, candidates) = (text.to_owned(), candidates.collect());
            Err(ResolveError::Ambiguous { text, candidates })
        }
    }
}

fn beginning_with<'a>(
    entries: impl Iterator<Item = &'a SessionEntry>,
    text: &str,
) -> Vec<&'a SessionEntry> {
    if text.is_empty() {
        return Vec::new();
    }
    // Ids are in lower case; people need not care.
    let text = text.to_ascii_lowercase();
    entries.filter(|entry| entry.id.as_str().starts_with(&text)).collect()
}
