//! One session: its journal, the fold of it, and the readable view.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use coven_model::event::Event;
use coven_model::{AttemptId, SessionId, SessionView, Timestamp, WorkflowStatus};
use coven_store::journal::{AppendError, CreateError};
use coven_store::{Attempt, BaseDir, FileError, Reader, Session};
use coven_workflow::view::SessionViewBuilder;
use coven_workflow::{Command, Input, State, decide, fold};

use crate::error::RequestError;

/// One session. Whoever has it is its only writer.
#[derive(Debug)]
pub struct WorkflowSession {
    store: Session<SessionView>,
    state: State,
    viewer: SessionViewBuilder,
    /// Something happened since the view was made.
    behind: bool,
}

/// Facts that were written down.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Their numbers.
    pub(crate) seqs: Range<u64>,
    /// The folder had been deleted and was restored.
    pub(crate) restored: bool,
}

impl WorkflowSession {
    /// A new session with nothing in it.
    pub fn create(base: &BaseDir, id: &SessionId) -> Result<Self, CreateError> {
        let store = Session::create(base, id)?;
        Ok(Self::empty(store))
    }

    /// A session as its journal tells it.
    pub fn open(base: &BaseDir, id: &SessionId) -> Result<Self, RequestError> {
        let store = Session::open(base, id)?;
        let mut session = Self::empty(store);
        let mut reader = session.store.reader();
        for record in reader.read_from::<Event>(1)? {
            let fact = record?.fact;
            session.take(&fact);
        }
        if session.store.view_needs_rebuild() {
            session.refresh_view();
        }
        Ok(session)
    }

    fn empty(store: Session<SessionView>) -> Self {
        Self {
            store,
            state: State::default(),
            viewer: SessionViewBuilder::default(),
            behind: false,
        }
    }

    fn take(&mut self, fact: &Event) {
        self.state = fold(std::mem::take(&mut self.state), fact);
        self.viewer.record(fact);
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        self.store.id()
    }

    /// What it is, folded.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What it is for.
    pub fn goal(&self) -> Option<&str> {
        self.state.run()?.identity.goal.as_deref()
    }

    /// Where it stands.
    pub fn status(&self) -> WorkflowStatus {
        self.state.status()
    }

    /// The readable view: goal, definition, statuses, history, variables, errors.
    pub fn view(&mut self) -> Option<SessionView> {
        self.viewer.session(&self.state)
    }

    /// A reader of its facts that may be used elsewhere.
    pub fn reader(&self) -> Reader {
        self.store.reader()
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &Path {
        self.store.path()
    }

    /// The folder of an attempt, made if it is not there.
    pub(crate) fn make_attempt(&self, attempt: &AttemptId) -> Result<Attempt, FileError> {
        self.store.make_attempt(attempt)
    }

    /// The number of its last fact.
    pub(crate) fn last(&self) -> u64 {
        self.store.last()
    }

    /// Makes the folder of an attempt, and makes sure that something can be written there. One
    /// that begins now has a new folder, whatever lay in its place.
    pub(crate) fn make_room(&self, attempt: &AttemptId, begins: bool) -> Result<(), FileError> {
        if begins {
            return self.store.make_attempt_anew(attempt)?.make_room();
        }
        self.store.make_attempt(attempt)?.make_room()
    }

    /// Its number of bytes on disk so far, for the index.
    pub(crate) fn journal_bytes(&self) -> u64 {
        self.store.journal_bytes()
    }

    /// What follows from an input: facts to write down, and what is to be done then.
    pub(crate) fn decide(&self, input: Input, now: Timestamp) -> (Vec<Event>, Vec<Command>) {
        decide(&self.state, input, now)
    }

    /// Writes facts down. If that fails nothing has changed.
    pub(crate) fn record(
        &mut self,
        facts: &[Event],
        now: Timestamp,
    ) -> Result<Recorded, AppendError> {
        if facts.is_empty() {
            let next = self.store.last() + 1;
            return Ok(Recorded { seqs: next..next, restored: false });
        }
        let appended = match self.store.append(now, facts) {
            // A doubt about the journal is settled by reading it again, once the disk works.
            Err(AppendError::Poisoned { .. }) if self.store.mend().is_ok() => {
                self.store.append(now, facts)?
            }
            appended => appended?,
        };
        for fact in facts {
            self.take(fact);
        }
        // A deleted session that is cut off before its folder is gone is known by a view that is
        // behind its journal.
        if !matches!(facts.last(), Some(Event::SessionDeleted { .. })) {
            self.view_changed();
        }
        Ok(Recorded { seqs: appended.seqs, restored: appended.restored.is_some() })
    }

    /// The view is behind. It is made anew at once if it may be written at once, and otherwise
    /// when that is due: making it takes longer than recording a fact.
    fn view_changed(&mut self) {
        self.behind = true;
        if self.store.view_due().is_none_or(|due| due <= Instant::now()) {
            self.refresh_view();
        }
    }

    fn refresh_view(&mut self) {
        self.behind = false;
        if let Some(view) = self.viewer.session(&self.state) {
            for large in self.viewer.large() {
                // The journal has the value; the copy aside is for readers of the view.
                let _ = self.store.values().put(large.value.to_string().as_bytes());
            }
            // A view that could not be written is written again after the next change, and the
            // journal is the truth.
            let _ = self.store.change_view(view, Instant::now());
        }
    }

    pub(crate) fn view_due(&self) -> Option<Instant> {
        self.store.view_due()
    }

    /// Whether it is over and its folder was deleted since: then it stays so.
    fn is_deleted(&self) -> bool {
        self.status().is_final() && !self.store.is_in_place()
    }

    pub(crate) fn flush_view(&mut self) {
        if self.is_deleted() {
            self.store.drop_view();
            return;
        }
        if self.behind {
            self.refresh_view();
        }
        let _ = self.store.flush_view(Instant::now());
    }

    pub(crate) fn finish_view(&mut self) {
        if self.is_deleted() {
            return;
        }
        if self.behind {
            self.refresh_view();
        }
        let _ = self.store.finish_view();
    }
}
