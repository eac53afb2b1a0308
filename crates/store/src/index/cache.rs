//! The file of the index: framed lines, none of which has to be believed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use coven_model::event::SessionCause;
use coven_model::{SessionId, Timestamp, WorkflowStatus};
use serde::{Deserialize, Serialize};

use super::{KnownSession, SessionEntry};
use crate::journal::{encode_line, read_line};

/// The version of the file.
const INDEX_VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct CacheHeader {
    coven: String,
    v: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CacheLine<'a> {
    id: &'a str,
    #[serde(borrow)]
    name: Cow<'a, str>,
    /// Lines of earlier versions have none, and their sessions are looked at again.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub(super) grimoire: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Cow<'a, SessionCause>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    goal: Option<Cow<'a, str>>,
    status: WorkflowStatus,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    kept: bool,
    /// How long the journal was.
    pub(super) journal: u64,
}

impl CacheLine<'_> {
    /// What it says of a session that is there, below this base directory.
    pub(super) fn entry(self, id: SessionId, base_dir: Arc<Path>) -> SessionEntry {
        let Self { name, grimoire, cause, goal, status, created_at, updated_at, kept, .. } = self;
        let (name, goal) = (name.into_owned(), goal.map(Cow::into_owned));
        let (grimoire, cause) = (grimoire.map(Cow::into_owned), cause.map(Cow::into_owned));
        let name = super::entry::checked_name(name, &id);
        let (foreign, fresh, problem) = (false, true, None);
        SessionEntry {
            id,
            name,
            grimoire,
            cause,
            goal,
            status,
            created_at,
            updated_at,
            kept,
            base_dir,
            foreign,
            fresh,
            problem,
        }
    }
}

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct CachedIndex<'a> {
    /// The last line of each session, by its id.
    pub(super) known: HashMap<&'a str, CacheLine<'a>>,
    /// How many lines it has; none if it cannot be added to.
    pub(super) lines: Option<usize>,
    pub(super) newer: bool,
}

pub(super) fn read(bytes: &[u8]) -> CachedIndex<'_> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let header: Option<CacheHeader> = lines.next().and_then(json);
    match header {
        Some(CacheHeader { coven, v: INDEX_VERSION }) if coven == "index" => {}
        Some(CacheHeader { v, .. }) => {
            return CachedIndex { newer: v > INDEX_VERSION, ..CachedIndex::default() };
        }
        None => return CachedIndex::default(),
    }
    let (mut known, mut count, mut whole) = (HashMap::new(), 0, true);
    for line in lines {
        match json::<CacheLine<'_>>(line) {
            Some(line) => _ = known.insert(line.id, line),
            // Whatever it was about is looked at again; and a file that does not end with a whole
            // line must not be added to.
            None => whole = false,
        }
        count += 1;
    }
    CachedIndex { known, lines: whole.then_some(count), newer: false }
}

fn json<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    serde_json::from_slice(read_line(line).ok()?).ok()
}

/// The line of a session of the user; none for what is not known for sure.
pub(super) fn line(known: &KnownSession) -> Vec<u8> {
    let mut line = Vec::new();
    if !known.entry.fresh || known.entry.foreign {
        return line;
    }
    let SessionEntry { id, name, grimoire, cause, goal, status, .. } = &known.entry;
    let SessionEntry { created_at, updated_at, kept, .. } = &known.entry;
    let told = CacheLine {
        id: id.as_str(),
        name: Cow::Borrowed(name),
        grimoire: grimoire.as_deref().map(Cow::Borrowed),
        cause: cause.as_ref().map(Cow::Borrowed),
        goal: goal.as_deref().map(Cow::Borrowed),
        status: *status,
        created_at: *created_at,
        updated_at: *updated_at,
        kept: *kept,
        journal: known.journal,
    };
    // Nothing in it can fail to become JSON; and if it did, the session is looked at again.
    if let Ok(json) = serde_json::to_vec(&told) {
        encode_line(&json, &mut line);
    }
    line
}

pub(super) fn all<'a>(sessions: impl Iterator<Item = &'a KnownSession>) -> Vec<u8> {
    let mut text = Vec::new();
    let header = format!(r#"{{"coven":"index","v":{INDEX_VERSION}}}"#);
    encode_line(header.as_bytes(), &mut text);
    sessions.for_each(|known| text.extend_from_slice(&line(known)));
    text
}
