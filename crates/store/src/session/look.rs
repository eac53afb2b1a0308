//! A session that is only looked at: by another process than its writer's, or because a newer
//! program wrote it.

use std::path::Path;

use coven_folder::{FileError, OpenFolder};
use coven_model::{AttemptId, SessionId};

use crate::attempt::Attempt;
use crate::journal::{self, JournalReader, OpenError};
use crate::layout::{self, BaseDir};
use crate::values::Values;
use crate::view::{self, ViewHead};

/// A session that is only read. It takes no lock and changes nothing.
#[derive(Debug)]
pub struct ReadOnlySession {
    id: SessionId,
    folder: OpenFolder,
}

impl ReadOnlySession {
    /// Opens a session for reading.
    pub fn open(base: &BaseDir, id: &SessionId) -> Result<Self, OpenError> {
        let path = base.session_path(id).join(journal::FILE);
        let folder = layout::session(base, id)?.ok_or(OpenError::Missing { path })?;
        Ok(Self { id: id.clone(), folder })
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A reader of its facts, complete with the values that lie aside.
    pub fn reader(&self) -> Result<JournalReader, OpenError> {
        Ok(JournalReader::open(&self.folder, &self.id)?.with_values(Values::new(&self.folder)))
    }

    /// The number of its last fact, from the end of the journal alone; an error while that is
    /// being written.
    pub fn last(&self) -> Result<u64, OpenError> {
        journal::last_seq(&self.folder, &self.id)
    }

    /// The readable view as it is on the disk, if there is one.
    pub fn view(&self) -> Result<Option<Vec<u8>>, FileError> {
        self.folder.read(view::FILE)
    }

    /// What the view says about itself, if there is one.
    pub fn view_head(&self) -> Result<Option<ViewHead>, FileError> {
        ViewHead::read(&self.folder)
    }

    /// The folder of an attempt, if it is there.
    pub fn attempt(&self, attempt: &AttemptId) -> Result<Option<Attempt>, FileError> {
        Ok(layout::attempt(&self.folder, attempt, false)?.map(Attempt::new))
    }

    /// The attempts that have a folder, in order.
    pub fn attempts(&self) -> Result<Vec<AttemptId>, FileError> {
        layout::attempts(&self.folder)
    }
}
