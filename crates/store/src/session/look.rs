//! A session that is only looked at: by another process than its writer's, or because a newer
//! program wrote it.

use std::path::{Path, PathBuf};

use coven_folder::{FileError, OpenFolder};
use coven_model::event::AttemptPlace;
use coven_model::{AttemptId, SessionId};

use crate::attempt::Attempt;
use crate::authority::SessionAuthority;
use crate::checkpoint::Checkpoint;
use crate::journal::{self, JournalReader, OpenError, ReadError, SignedExtent, verify_signatures};
use crate::layout::{self, BaseDir};
use crate::seal::PublicKey;
use crate::values::Values;
use crate::view::{self, ViewHead};

/// The folder of all attempts in that of their session, where they lay before they had a place in
/// the state folder.
const TASKS: &str = "tasks";

/// A session that is only read. It takes no lock and changes nothing.
#[derive(Debug)]
pub struct ReadOnlySession {
    id: SessionId,
    folder: OpenFolder,
    /// None if it is foreign.
    authority: Option<SessionAuthority>,
}

impl ReadOnlySession {
    /// Opens a session of the user for reading: its journal must be sealed.
    pub fn open(
        base: &BaseDir,
        authority: &SessionAuthority,
        id: &SessionId,
    ) -> Result<Self, OpenError> {
        Ok(Self { authority: Some(authority.clone()), ..Self::open_foreign(base, id)? })
    }

    /// Opens a session for reading that may be anyone's. Nothing of it is believed.
    pub fn open_foreign(base: &BaseDir, id: &SessionId) -> Result<Self, OpenError> {
        let path = base.session_path(id).join(journal::FILE);
        let folder = layout::session(base, id)?.ok_or(OpenError::Missing { path })?;
        Ok(Self { id: id.clone(), folder, authority: None })
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A reader of its facts, complete with the values that lie aside.
    pub fn reader(&self) -> Result<JournalReader, OpenError> {
        // Before the journal is looked at, which may grow meanwhile.
        let jobs = self.authority.as_ref().map(|authority| authority.find_session(&self.id));
        let jobs = jobs.transpose()?.flatten();
        let checkpoint = jobs.map(|jobs| Checkpoint::read(&jobs)).transpose()?.flatten();
        let reader = JournalReader::open(&self.folder, &self.id)?;
        let reader = reader.with_values(Values::new(&self.folder));
        Ok(match &self.authority {
            Some(authority) => reader.sealed_by(authority.key()).reaching(checkpoint),
            None => reader,
        })
    }

    /// Checks the signatures of its journal with a public key alone.
    pub fn verify(&self, public: &PublicKey) -> Result<SignedExtent, ReadError> {
        verify_signatures(&self.folder, &self.id, public)
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

    /// Where an attempt lies, or would lie. The jobs of a foreign session lie nowhere that we know.
    pub fn attempt_path(&self, place: AttemptPlace, attempt: &AttemptId) -> Option<PathBuf> {
        match (place, &self.authority) {
            (AttemptPlace::Session, _) => {
                let task = self.path().join(TASKS).join(attempt.task.as_str());
                Some(task.join(attempt.attempt.to_string()))
            }
            (AttemptPlace::Jobs, Some(authority)) => {
                Some(authority.attempt_path(&self.id, attempt))
            }
            (AttemptPlace::Jobs, None) => None,
        }
    }

    /// The folder of an attempt, if it is there.
    pub fn attempt(
        &self,
        place: AttemptPlace,
        attempt: &AttemptId,
    ) -> Result<Option<Attempt>, FileError> {
        let Some(tasks) = self.tasks(place)? else { return Ok(None) };
        Ok(layout::attempt(&tasks, attempt, false)?.map(Attempt::new))
    }

    /// The attempts that have a folder in a place, in order.
    pub fn attempts(&self, place: AttemptPlace) -> Result<Vec<AttemptId>, FileError> {
        self.tasks(place)?.map_or(Ok(Vec::new()), |tasks| layout::attempts(&tasks))
    }

    fn tasks(&self, place: AttemptPlace) -> Result<Option<OpenFolder>, FileError> {
        match (place, &self.authority) {
            (AttemptPlace::Session, _) => self.folder.find(TASKS),
            (AttemptPlace::Jobs, Some(authority)) => authority.find_session(&self.id),
            (AttemptPlace::Jobs, None) => Ok(None),
        }
    }
}
