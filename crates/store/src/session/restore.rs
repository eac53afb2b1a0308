//! Putting back a session whose folder was deleted under it, as `git clean -fdx` does.
//!
//! The journal's file is still open and keeps its content for us although it has no name any more;
//! so do the values that were kept last. Nothing has to be held in memory for this.

use std::collections::{BTreeMap, BTreeSet};

use coven_folder::{FileError, OpenFolder};
use coven_model::SessionId;
use rustix::fs::OFlags;
use serde::Deserialize;

use super::Session;
use crate::journal::{self, AppendError, OpenedPath};
use crate::layout::{self, BaseDir};

/// What was put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredSession {
    /// How many facts the journal has again.
    pub facts: u64,
    /// The digests of values that facts refer to and that could not be put back. Tapes and all else
    /// in the folders of attempts are gone as well.
    pub lost_values: Vec<String>,
}

/// The part of a record that names its values.
#[derive(Deserialize)]
struct AsideDigests {
    #[serde(default)]
    aside: BTreeMap<String, String>,
}

impl Session {
    /// Puts the session back if its journal is not where it was. An append does so by itself.
    pub fn put_back(&mut self) -> Result<Option<RestoredSession>, AppendError> {
        let path = self.journal.path().to_path_buf();
        let failed = |source| AppendError::NotRestored { path: path.clone(), source };
        match self.journal.place().map_err(failed)? {
            OpenedPath::Ours => return Ok(None),
            OpenedPath::Cut => return Err(AppendError::Cut { path }),
            OpenedPath::Gone => {}
            OpenedPath::Other if self.is_copy().map_err(failed)? => {}
            OpenedPath::Other => return Err(AppendError::Replaced { path }),
        }
        self.base.check_in_place().map_err(failed)?;
        let (base, folder) = remake(self.base.path(), &self.id).map_err(failed)?;
        // The journal comes last: as long as it is not there, all of this is tried again.
        self.values.move_to(&folder).map_err(failed)?;
        self.journal.move_to(&folder).map_err(failed)?;
        self.view.move_to(&folder);
        (self.base, self.folder) = (base, folder);
        Ok(Some(RestoredSession { facts: self.last(), lost_values: self.lost_values() }))
    }

    /// Whether what lies in our place is a copy of our journal, as a `git stash` and its return
    /// leave it. Ours may have become longer since.
    fn is_copy(&self) -> Result<bool, FileError> {
        let Some(folder) = layout::session(&self.base, &self.id)? else { return Ok(false) };
        let other = folder.file(journal::FILE, OFlags::RDONLY)?;
        let same = self.journal.begins_with(&other);
        same.map_err(|source| folder.error("read", journal::FILE, source))
    }

    fn lost_values(&self) -> Vec<String> {
        let mut reader = self.journal.reader();
        let Ok(records) = reader.read_from::<AsideDigests>(1) else { return Vec::new() };
        let named: BTreeSet<String> = records
            .filter_map(Result::ok)
            .flat_map(|record| record.fact.aside.into_values())
            .collect();
        named.into_iter().filter(|digest| self.values.get(digest).is_err()).collect()
    }
}

/// Makes the folder of a session, and everything above it up to the base directory.
fn remake(base: &std::path::Path, id: &SessionId) -> Result<(BaseDir, OpenFolder), FileError> {
    let base = BaseDir::create(base)?;
    let folder = layout::make_private(base.sessions(), id.as_str())?;
    Ok((base, folder))
}
