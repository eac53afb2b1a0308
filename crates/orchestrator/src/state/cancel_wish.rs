//! A cancel that could not be recorded yet, kept in the state folder beside what else is kept of the
//! session, so that the next process knows of it if this one ends before its disk takes it.

use std::io;
use std::path::Path;

use coven_folder::{OpenFolder, best_effort};
use coven_workflow::SessionInput;
use serde::{Deserialize, Serialize};

const CANCEL_FILE: &str = "cancel.json";
const CANCEL_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct WrittenCancel {
    version: u32,
    by: String,
    why: String,
}

/// Keeps the wish. Nothing else is kept like this, because nothing else is acknowledged before it is
/// recorded.
pub(crate) fn keep(folder: &Path, wish: &SessionInput) -> io::Result<()> {
    let SessionInput::Cancel { by, why } = wish else { return Ok(()) };
    let written = WrittenCancel { version: CANCEL_VERSION, by: by.clone(), why: why.clone() };
    let folder = OpenFolder::open_without_links(folder)?;
    Ok(folder.put_durably(CANCEL_FILE, &serde_json::to_vec(&written)?)?)
}

/// The wish that is kept, if there is one.
pub(crate) fn kept(folder: &Path) -> Option<SessionInput> {
    let text = OpenFolder::open_without_links(folder).ok()?.read(CANCEL_FILE).ok()??;
    let written: WrittenCancel = serde_json::from_slice(&text).ok()?;
    let WrittenCancel { by, why, .. } =
        Some(written).filter(|written| written.version <= CANCEL_VERSION)?;
    Some(SessionInput::Cancel { by, why })
}

pub(crate) fn forget(folder: &Path) {
    let removed =
        OpenFolder::open_without_links(folder).and_then(|folder| folder.remove(CANCEL_FILE));
    best_effort("forget a cancel that is recorded", removed);
}
