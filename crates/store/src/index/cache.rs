//! The file of the index: framed lines, none of which has to be believed.

use std::collections::BTreeMap;
use std::path::Path;

use coven_model::{SessionId, Timestamp, WorkflowStatus};
use serde::{Deserialize, Serialize};

use super::{Entry, FILE, Known};
use crate::folder::FileError;
use crate::journal::{encode_line, read_line};
use crate::layout::BaseDir;

/// The version of the file.
const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    coven: String,
    v: u32,
}

/// Every other line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    id: SessionId,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    goal: Option<String>,
    status: WorkflowStatus,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// How long the journal was.
    journal: u64,
}

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct Cached {
    pub(super) known: BTreeMap<SessionId, Known>,
    /// How many lines it has; none if it cannot be added to.
    pub(super) lines: Option<usize>,
    pub(super) newer: bool,
}

pub(super) fn read(base: &BaseDir) -> Result<Cached, FileError> {
    let Some(bytes) = base.sessions().read(FILE)? else { return Ok(Cached::default()) };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let header: Option<Header> = lines.next().and_then(json);
    match header {
        Some(Header { coven, v: VERSION }) if coven == "index" => {}
        Some(Header { v, .. }) => return Ok(Cached { newer: v > VERSION, ..Cached::default() }),
        None => return Ok(Cached::default()),
    }
    let mut cached = Cached { lines: Some(0), ..Cached::default() };
    let mut whole = true;
    for line in lines {
        match json::<Line>(line) {
            Some(line) => {
                let known = known(line, base.path());
                cached.known.insert(known.entry.id.clone(), known);
            }
            // Whatever it was about is looked at again; and a file that does not end with a whole
            // line must not be added to.
            None => whole = false,
        }
        cached.lines = cached.lines.map(|lines| lines + 1);
    }
    cached.lines = cached.lines.filter(|_| whole);
    Ok(cached)
}

fn json<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    serde_json::from_slice(read_line(line).ok()?).ok()
}

fn known(line: Line, base: &Path) -> Known {
    let Line { id, name, goal, status, created_at, updated_at, journal } = line;
    let base_dir = base.to_path_buf();
    let entry = Entry { id, name, goal, status, created_at, updated_at, base_dir, fresh: true };
    Known { entry, journal }
}

/// The line of a session; none for what is not known for sure.
pub(super) fn line(known: &Known) -> Vec<u8> {
    let mut line = Vec::new();
    if !known.entry.fresh {
        return line;
    }
    let Entry { id, name, goal, status, created_at, updated_at, .. } = known.entry.clone();
    let journal = known.journal;
    let told = Line { id, name, goal, status, created_at, updated_at, journal };
    // Nothing in it can fail to become JSON; and if it did, the session is looked at again.
    if let Ok(json) = serde_json::to_vec(&told) {
        encode_line(&json, &mut line);
    }
    line
}

/// The whole file.
pub(super) fn all<'a>(sessions: impl Iterator<Item = &'a Known>) -> Vec<u8> {
    let mut text = Vec::new();
    let header = format!(r#"{{"coven":"index","v":{VERSION}}}"#);
    encode_line(header.as_bytes(), &mut text);
    sessions.for_each(|known| text.extend_from_slice(&line(known)));
    text
}
