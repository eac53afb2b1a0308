//! One session on disk: its journal, its values, its view and its attempts, with one writer.

mod look;
mod restore;

use std::ops::Range;
use std::path::Path;

use coven_folder::{FileError, OpenFolder};
use coven_model::{AttemptId, SessionId, Timestamp};
use serde::Serialize;

pub use self::look::ReadOnlySession;
pub use self::restore::RestoredSession;
use crate::attempt::Attempt;
use crate::journal::{
    self, AppendError, CreateError, CutTail, Journal, JournalReader, OpenError, WrittenFacts,
};
use crate::layout::{self, BaseDir};
use crate::spill;
use crate::values::Values;
use crate::view::{self, View, ViewError, ViewHead};

/// What the folder of a new session is called until it is complete.
pub(crate) const DRAFT: &str = ".new-";

/// A session that this process writes to. `V` is what its view shows.
///
/// If the folder is deleted while the session runs, the next append puts it back.
#[derive(Debug)]
pub struct Session {
    base: BaseDir,
    id: SessionId,
    folder: OpenFolder,
    journal: Journal,
    values: Values,
    view: View,
}

/// Facts that were recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    pub seqs: Range<u64>,
    /// Files that had been deleted from outside and were put back before the facts were written.
    pub restored: Option<RestoredSession>,
}

/// Facts that were written and are recorded once [`Session::sync`] has put them on the disk.
#[derive(Debug)]
#[must_use = "facts that are not synced are not recorded"]
pub struct WrittenBatch {
    facts: WrittenFacts,
    restored: Option<RestoredSession>,
}

impl Session {
    /// Makes a new session below a base directory. It has a folder once this has succeeded, and
    /// otherwise has none.
    pub fn create(base: &BaseDir, id: &SessionId) -> Result<Self, CreateError> {
        base.check_in_place()?;
        let sessions = base.sessions();
        let exists = || CreateError::Exists { path: base.session_path(id) };
        if sessions.stat(id.as_str())?.is_some() {
            return Err(exists());
        }
        let draft = format!("{DRAFT}{id}");
        let made = layout::make_private(sessions, &draft)?;
        // Left from a creation that was cut short: it never was a session.
        made.remove(journal::FILE)?;
        let mut journal = Journal::create(&made, id)?;
        sessions.rename(&draft, sessions, id.as_str()).map_err(|error| {
            match error.source.kind() {
                std::io::ErrorKind::DirectoryNotEmpty => exists(),
                _ => error.into(),
            }
        })?;
        sessions.sync()?;
        let folder = sessions.enter(id.as_str())?;
        journal.renamed(&folder);
        Ok(Self::new(base, id, folder, journal)?)
    }

    /// Opens a session to go on with it. A torn end of its journal is cut off, see
    /// [`cut`](Self::cut).
    pub fn open(base: &BaseDir, id: &SessionId) -> Result<Self, OpenError> {
        let path = base.session_path(id).join(journal::FILE);
        let folder = layout::session(base, id)?.ok_or(OpenError::Missing { path })?;
        if let Some(ViewHead { version, .. }) = ViewHead::read(&folder)?
            && version > view::VERSION
        {
            return Err(OpenError::Newer { path: folder.path().join(view::FILE), version });
        }
        let journal = Journal::open(&folder, id)?;
        Ok(Self::new(base, id, folder, journal)?)
    }

    fn new(
        base: &BaseDir,
        id: &SessionId,
        folder: OpenFolder,
        journal: Journal,
    ) -> Result<Self, FileError> {
        let (values, view) = (Values::new(&folder), View::new(&folder)?);
        Ok(Self { base: base.clone(), id: id.clone(), folder, journal, values, view })
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The base directory it lives below.
    pub fn base_dir(&self) -> &Path {
        self.base.path()
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The number of the last fact; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.journal.last()
    }

    /// How long its journal is, which is what [`Index::set`](crate::Index::set) asks for.
    pub fn journal_bytes(&self) -> u64 {
        self.journal.bytes()
    }

    /// What was cut off its journal when it was opened.
    pub fn cut(&self) -> Option<CutTail> {
        self.journal.cut()
    }

    /// Records facts: on the disk when this returns, and none of them when it fails. Values over
    /// [`LIMIT`](crate::values::LIMIT) are put aside first.
    pub fn append<T: Serialize>(
        &mut self,
        time: Timestamp,
        facts: &[T],
    ) -> Result<Appended, AppendError> {
        let written = self.write(time, facts)?;
        self.sync(written)
    }

    /// The first half of [`append`](Self::append), for a writer that has several sessions to
    /// write before it syncs each of them.
    pub fn write<T: Serialize>(
        &mut self,
        time: Timestamp,
        facts: &[T],
    ) -> Result<WrittenBatch, AppendError> {
        let restored = self.put_back()?;
        let next = self.last() + 1;
        let mut encoded = Vec::with_capacity(facts.len());
        for (fact, seq) in facts.iter().zip(next..) {
            let fact = spill::take_out(journal::encode(fact, seq)?, &self.values)
                .map_err(|source| AppendError::Value { seq, source })?;
            encoded.push(fact);
        }
        let facts = self.journal.write_encoded(time, &encoded)?;
        Ok(WrittenBatch { facts, restored })
    }

    /// The second half of [`append`](Self::append): the facts are recorded when this succeeds, and
    /// none of them is when it fails.
    pub fn sync(&mut self, written: WrittenBatch) -> Result<Appended, AppendError> {
        let WrittenBatch { facts, restored } = written;
        Ok(Appended { seqs: self.journal.sync_written(facts)?, restored })
    }

    /// Makes sure of its journal again after an append failed with
    /// [`Poisoned`](AppendError::Poisoned), as opening it again would. Appends may go on if this
    /// succeeds.
    pub fn mend(&mut self) -> Result<(), OpenError> {
        self.journal.mend(&self.id)
    }

    /// A reader of its facts, complete with the values that lie aside. It sees what is appended
    /// later too, and may be used on another thread.
    pub fn reader(&self) -> JournalReader {
        self.journal.reader().with_values(self.values.clone())
    }

    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Whether its journal is where it was. What was deleted is put back by the next fact.
    pub fn is_in_place(&self) -> bool {
        matches!(self.journal.place(), Ok(journal::OpenedPath::Ours))
    }

    /// Whether the view must be made from the journal again.
    pub fn view_needs_rebuild(&self) -> bool {
        self.view.needs_rebuild(self.last())
    }

    /// Writes the view of everything up to the last fact. A session whose folder was deleted is
    /// not put back for this.
    pub fn write_view(&mut self, view: &impl Serialize) -> Result<(), ViewError> {
        let (last, time) = (self.last(), self.journal.last_time());
        self.view.write(view, last, time)
    }

    /// The folder of an attempt that begins now, new. What a process put in its place beforehand
    /// is removed.
    pub fn make_attempt_anew(&self, attempt: &AttemptId) -> Result<Attempt, FileError> {
        self.base.check_in_place()?;
        Ok(Attempt::new(layout::new_attempt(&self.folder, attempt)?))
    }

    /// The folder of an attempt, made if it is not there.
    pub fn make_attempt(&self, attempt: &AttemptId) -> Result<Attempt, FileError> {
        let made = layout::attempt(&self.folder, attempt, true)?;
        let path = || self.base.attempt_path(&self.id, attempt);
        made.map(Attempt::new).ok_or_else(|| missing(&path()))
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

fn missing(path: &Path) -> FileError {
    FileError::new("create", path, std::io::ErrorKind::NotFound.into())
}
