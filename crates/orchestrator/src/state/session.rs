//! One session: its journal, the fold of it, and the readable view.

use std::ops::Range;
use std::time::Instant;

use coven_model::event::Event;
use coven_model::{AttemptId, SessionId, SessionView, Timestamp, WorkflowStatus};
use coven_store::journal::{AppendError, CreateError};
use coven_store::{Attempt, BaseDir, FileError, Reader, Session};
use coven_workflow::view::Viewer;
use coven_workflow::{Command, Input, State, decide, fold};

use crate::error::RequestError;

/// One session. Whoever has it is its only writer.
#[derive(Debug)]
pub struct WorkflowSession {
    store: Session<SessionView>,
    state: State,
    viewer: Viewer,
}

/// What followed from an input.
#[derive(Debug)]
pub(crate) struct Decided {
    /// The facts, which are on the disk, and their numbers.
    pub(crate) facts: Vec<Event>,
    pub(crate) seqs: Range<u64>,
    /// What is to be done now.
    pub(crate) commands: Vec<Command>,
    /// The folder had been deleted and was restored.
    pub(crate) restored: bool,
}

impl WorkflowSession {
    /// A new session with nothing in it.
    pub fn create(base: &BaseDir, id: &SessionId) -> Result<Self, CreateError> {
        let store = Session::create(base, id)?;
        Ok(Self { store, state: State::default(), viewer: Viewer::default() })
    }

    /// A session as its journal tells it.
    pub fn open(base: &BaseDir, id: &SessionId) -> Result<Self, RequestError> {
        let store = Session::open(base, id)?;
        let mut session = Self { store, state: State::default(), viewer: Viewer::default() };
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

    /// The folder of an attempt, made if it is not there.
    pub(crate) fn make_attempt(&self, attempt: &AttemptId) -> Result<Attempt, FileError> {
        self.store.make_attempt(attempt)
    }

    /// Its number of bytes on disk so far, for the index.
    pub(crate) fn journal_bytes(&self) -> u64 {
        self.store.journal_bytes()
    }

    /// Decides what follows from an input and writes it down. If that fails nothing has changed.
    pub(crate) fn decide(&mut self, input: Input, now: Timestamp) -> Result<Decided, AppendError> {
        let (facts, commands) = decide(&self.state, input, now);
        if facts.is_empty() {
            let last = self.store.last();
            return Ok(Decided { facts, seqs: last + 1..last + 1, commands, restored: false });
        }
        let appended = self.store.append(now, &facts)?;
        for fact in &facts {
            self.take(fact);
        }
        self.refresh_view();
        let restored = appended.restored.is_some();
        Ok(Decided { facts, seqs: appended.seqs, commands, restored })
    }

    fn refresh_view(&mut self) {
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

    pub(crate) fn flush_view(&mut self) {
        let _ = self.store.flush_view(Instant::now());
    }

    pub(crate) fn finish_view(&mut self) {
        let _ = self.store.finish_view();
    }
}
