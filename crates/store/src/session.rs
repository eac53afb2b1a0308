//! One session on disk: its journal, its values, its view and its attempts, with one writer.

mod look;
mod restore;

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use coven_folder::{FileError, OpenFolder, best_effort};
use coven_model::{AttemptId, SessionId, Timestamp};
use serde::Serialize;

pub use self::look::ReadOnlySession;
pub use self::restore::RestoredSession;
use crate::attempt::{Attempt, check_room};
use crate::authority::SessionAuthority;
use crate::checkpoint::{Checkpoint, CheckpointFile};
use crate::journal::{
    self, AppendError, CreateError, CutTail, Journal, JournalReader, LineSeal, OpenError,
    WrittenFacts,
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
    /// The folder of its jobs.
    jobs: OpenFolder,
    authority: SessionAuthority,
    checkpoint: CheckpointFile,
    /// When its journal was last signed.
    signed: Option<Instant>,
}

/// What is known for certain once facts are recorded, beyond the facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Milestone {
    None,
    /// A job has ended. The journal is signed unless it was just before.
    Job,
    /// The run has ended. The journal is signed, whatever the time.
    Run,
}

/// A journal is signed at most this often while its run goes on: a signature costs as much as
/// thirty facts, and the next one covers everything before it.
const SIGNATURE_INTERVAL: Duration = Duration::from_millis(100);

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
    pub fn create(
        base: &BaseDir,
        authority: &SessionAuthority,
        id: &SessionId,
    ) -> Result<Self, CreateError> {
        base.check_in_place()?;
        let sessions = base.sessions();
        let exists = || CreateError::Exists { path: base.session_path(id) };
        if sessions.stat(id.as_str())?.is_some() {
            return Err(exists());
        }
        // What an earlier creation left, which was cut short, was never a job of this session.
        authority.remove_jobs(id)?;
        let jobs = authority.make_session(id)?;
        let draft = format!("{DRAFT}{id}");
        let made = layout::make_private(sessions, &draft)?;
        // Left from a creation that was cut short: it never was a session.
        made.remove(journal::FILE)?;
        let mut journal = Journal::create(&made, id, authority.key())?;
        sessions.rename(&draft, sessions, id.as_str()).map_err(|error| {
            match error.source.kind() {
                std::io::ErrorKind::DirectoryNotEmpty => exists(),
                _ => error.into(),
            }
        })?;
        sessions.sync()?;
        let folder = sessions.enter(id.as_str())?;
        journal.renamed(&folder);
        Ok(Self::new(base, authority, id, (folder, jobs), journal)?)
    }

    /// Opens a session to go on with it. A torn end of its journal is cut off, see
    /// [`cut`](Self::cut). Its journal must be sealed, and reach its checkpoint.
    pub fn open(
        base: &BaseDir,
        authority: &SessionAuthority,
        id: &SessionId,
    ) -> Result<Self, OpenError> {
        let path = base.session_path(id).join(journal::FILE);
        let folder = layout::session(base, id)?.ok_or(OpenError::Missing { path })?;
        if let Some(ViewHead { version, .. }) = ViewHead::read(&folder)?
            && version > view::VERSION
        {
            return Err(OpenError::Newer { path: folder.path().join(view::FILE), version });
        }
        let jobs = authority.make_session(id)?;
        let journal = Journal::open_from(&folder, id, authority.key(), Checkpoint::read(&jobs)?)?;
        Ok(Self::new(base, authority, id, (folder, jobs), journal)?)
    }

    fn new(
        base: &BaseDir,
        authority: &SessionAuthority,
        id: &SessionId,
        (folder, jobs): (OpenFolder, OpenFolder),
        journal: Journal,
    ) -> Result<Self, FileError> {
        let (values, view) = (Values::new(&folder), View::new(&folder)?);
        let (base, id, authority) = (base.clone(), id.clone(), authority.clone());
        Ok(Self {
            base,
            id,
            folder,
            journal,
            values,
            view,
            jobs,
            authority,
            checkpoint: CheckpointFile::default(),
            signed: None,
        })
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

    /// The folder of its jobs, in the state folder.
    pub fn jobs_path(&self) -> &Path {
        self.jobs.path()
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
        let written = self.write(time, facts, Milestone::None)?;
        self.sync(written)
    }

    /// The first half of [`append`](Self::append), for a writer that has several sessions to
    /// write before it syncs each of them.
    pub fn write<T: Serialize>(
        &mut self,
        time: Timestamp,
        facts: &[T],
        milestone: Milestone,
    ) -> Result<WrittenBatch, AppendError> {
        let restored = self.put_back()?;
        let next = self.last() + 1;
        let mut encoded = Vec::with_capacity(facts.len());
        for (fact, seq) in facts.iter().zip(next..) {
            let fact = spill::take_out(journal::encode(fact, seq)?, &self.values)
                .map_err(|source| AppendError::Value { seq, source })?;
            encoded.push(fact);
        }
        let seal =
            if self.is_to_be_signed(milestone) { LineSeal::Signed } else { LineSeal::Tagged };
        let facts = self.journal.write_encoded(time, &encoded, seal)?;
        Ok(WrittenBatch { facts, restored })
    }

    fn is_to_be_signed(&mut self, milestone: Milestone) -> bool {
        let now = Instant::now();
        let is_due = match milestone {
            Milestone::None => false,
            Milestone::Job => self.signed.is_none_or(|signed| now - signed >= SIGNATURE_INTERVAL),
            Milestone::Run => true,
        };
        if is_due {
            self.signed = Some(now);
        }
        is_due
    }

    /// The second half of [`append`](Self::append): the facts are recorded when this succeeds, and
    /// none of them is when it fails.
    pub fn sync(&mut self, written: WrittenBatch) -> Result<Appended, AppendError> {
        let WrittenBatch { facts, restored } = written;
        let seqs = self.journal.sync_written(facts)?;
        let (seq, tag) = self.journal.last_tag();
        // Without it an older checkpoint counts, which is true as well.
        let written = self.checkpoint.write(&self.jobs, Checkpoint { seq, tag });
        best_effort("write a checkpoint", written);
        Ok(Appended { seqs, restored })
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

    /// The folder of an attempt, made if it is not there.
    pub fn make_attempt(&self, attempt: &AttemptId) -> Result<Attempt, FileError> {
        self.base.check_in_place()?;
        if let Ok(Some(made)) = layout::attempt(&self.jobs, attempt, true) {
            return Ok(Attempt::new(made));
        }
        // The folder of its jobs was deleted since it was opened.
        let jobs = self.authority.make_session(&self.id)?;
        let made = layout::attempt(&jobs, attempt, true)?;
        let path = || self.authority.attempt_path(&self.id, attempt);
        made.map(Attempt::new).ok_or_else(|| missing(&path()))
    }

    /// Makes sure that there is room in the folder of the session for what a job is given to read
    /// there. That may be another disk than the one of the job's own folder.
    pub fn check_room(&self) -> Result<(), FileError> {
        check_room(&self.folder)
    }

    /// The folder of an attempt, if it is there.
    pub fn attempt(&self, attempt: &AttemptId) -> Result<Option<Attempt>, FileError> {
        Ok(layout::attempt(&self.jobs, attempt, false)?.map(Attempt::new))
    }

    /// The attempts that have a folder, in order.
    pub fn attempts(&self) -> Result<Vec<AttemptId>, FileError> {
        layout::attempts(&self.jobs)
    }
}

fn missing(path: &Path) -> FileError {
    FileError::new("create", path, std::io::ErrorKind::NotFound.into())
}
