//! One session: the fold of its journal, and the files it is kept in.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_model::event::SessionEvent;
use coven_model::{SessionId, SessionView, Timestamp, WorkflowStatus};
use coven_store::journal::{AppendError, CreateError};
use coven_store::session::Appended;
use coven_store::{BaseDir, JournalReader, Session, SessionAuthority};
use coven_workflow::view::SessionViewBuilder;
use coven_workflow::{Command, SessionInput, State, decide, fold};

use super::files::SharedFiles;
use super::writer::{JournalWriter, WriterFailed};
use crate::error::RequestError;

/// One session. Its holder is the only writer.
#[derive(Debug)]
pub struct WorkflowSession {
    id: SessionId,
    files: SharedFiles,
    reader: JournalReader,
    jobs_path: PathBuf,
    state: State,
    viewer: SessionViewBuilder,
    last: u64,
    /// Something happened since the view was written.
    view_is_behind: bool,
}

/// Facts that were written down.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) seqs: Range<u64>,
    /// The folder had been deleted and was restored.
    pub(crate) restored: bool,
}

impl WorkflowSession {
    /// A new session with nothing in it. Waits on the disk.
    pub fn create(
        base: &BaseDir,
        authority: &SessionAuthority,
        id: &SessionId,
    ) -> Result<Self, CreateError> {
        Ok(Self::empty(id, Session::create(base, authority, id)?))
    }

    /// A session as its journal tells it. Waits on the disk.
    pub fn open(
        base: &BaseDir,
        authority: &SessionAuthority,
        id: &SessionId,
    ) -> Result<Self, RequestError> {
        let mut session = Self::empty(id, Session::open(base, authority, id)?);
        let mut reader = session.reader();
        for record in reader.read_from::<SessionEvent>(1)? {
            let record = record?;
            session.take(record.time, &record.fact);
        }
        session.last = session.files.lock().last();
        session.view_is_behind = session.files.lock().view_needs_rebuild();
        Ok(session)
    }

    fn empty(id: &SessionId, store: Session) -> Self {
        let (reader, jobs_path) = (store.reader(), store.jobs_path().to_owned());
        Self {
            id: id.clone(),
            files: SharedFiles::new(store),
            reader,
            jobs_path,
            state: State::default(),
            viewer: SessionViewBuilder::default(),
            last: 0,
            view_is_behind: false,
        }
    }

    fn take(&mut self, time: Timestamp, fact: &SessionEvent) {
        self.state = fold(std::mem::take(&mut self.state), fact);
        self.viewer.record(time, fact);
    }

    /// The id that names the session and its folder.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The fold of its facts.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What it is for.
    pub fn goal(&self) -> Option<&str> {
        self.state.run()?.identity.goal.as_deref()
    }

    /// The status of its run.
    pub fn status(&self) -> WorkflowStatus {
        self.state.status()
    }

    /// The readable view: goal, definition, statuses, history, variables, errors.
    pub fn view(&self) -> Option<SessionView> {
        self.viewer.session(&self.state)
    }

    /// What makes the readable view; cheap to copy.
    pub(crate) fn viewer(&self) -> &SessionViewBuilder {
        &self.viewer
    }

    /// A reader of its facts that may be used on another thread.
    pub fn reader(&self) -> JournalReader {
        self.reader.clone()
    }

    /// Its files, for work that waits on the disk.
    pub(crate) fn files(&self) -> SharedFiles {
        self.files.clone()
    }

    /// Where the files of its jobs lie.
    pub(crate) fn jobs_path(&self) -> &Path {
        &self.jobs_path
    }

    /// The number of its last fact.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// What follows from an input: facts to write down, and what is to be done then.
    pub(crate) fn decide(
        &self,
        input: SessionInput,
        now: Timestamp,
    ) -> (Vec<SessionEvent>, Vec<Command>) {
        decide(&self.state, input, now)
    }

    /// Records facts through the journal writer. If that fails nothing has changed.
    pub(crate) async fn record(
        &mut self,
        writer: &JournalWriter,
        facts: &Arc<Vec<SessionEvent>>,
        now: Timestamp,
    ) -> Result<Result<Recorded, AppendError>, WriterFailed> {
        if facts.is_empty() {
            let next = self.last + 1;
            return Ok(Ok(Recorded { seqs: next..next, restored: false }));
        }
        let appended = writer.append(&self.id, &self.files, now, facts.clone()).await?;
        Ok(appended.map(|appended| self.recorded(appended, facts, now)))
    }

    /// Records facts and writes the readable view on this thread, which waits on the disk.
    pub(crate) fn record_here(
        &mut self,
        facts: &[SessionEvent],
        now: Timestamp,
    ) -> Result<Recorded, AppendError> {
        let mut files = self.files.lock();
        let written = files.write(now, facts)?;
        let appended = files.sync(written)?;
        drop(files);
        let recorded = self.recorded(appended, facts, now);
        let view = self.files.lock().write_view(&self.state, &self.viewer);
        self.view_is_behind = !view.is_done;
        Ok(recorded)
    }

    fn recorded(&mut self, appended: Appended, facts: &[SessionEvent], now: Timestamp) -> Recorded {
        for fact in facts {
            self.take(now, fact);
        }
        self.last = appended.seqs.end - 1;
        // A deleted session that is cut off before its folder is gone is known by a view that is
        // behind its journal.
        let is_deleted = matches!(facts.last(), Some(SessionEvent::SessionDeleted { .. }));
        self.view_is_behind = !is_deleted;
        Recorded { seqs: appended.seqs, restored: appended.restored.is_some() }
    }

    /// Whether the readable view has to be written.
    pub(crate) fn view_is_behind(&self) -> bool {
        self.view_is_behind
    }

    /// Says whether the readable view was written.
    pub(crate) fn set_view_behind(&mut self, is_behind: bool) {
        self.view_is_behind = is_behind;
    }
}
