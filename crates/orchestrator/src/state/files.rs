//! The files of one session: its journal, its readable view, the folders of its attempts. What is
//! done here waits on a disk, so it happens on the journal writer's threads and in
//! [`blocking`](crate::state::blocking::blocking) work.

use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Weak};

use coven_model::event::SessionEvent;
use coven_model::{AttemptId, Timestamp};
use coven_store::journal::AppendError;
use coven_store::session::{Appended, Milestone, WrittenBatch};
use coven_store::{Attempt, FileError, Session, Values};
use coven_workflow::State;
use coven_workflow::view::{LargeValue, SessionViewBuilder};
use parking_lot::{Mutex, MutexGuard};

/// The files of one session, shared between its actor and the threads that work for it. They take
/// turns: the actor waits for each piece of work.
#[derive(Clone, Debug)]
pub(crate) struct SharedFiles {
    files: Arc<Mutex<SessionFiles>>,
    file_system: u64,
}

impl SharedFiles {
    /// The files of an open session. Waits on the disk.
    pub(crate) fn new(store: Session) -> Self {
        // One that cannot be asked shares the threads of all that cannot.
        let file_system = std::fs::metadata(store.path()).map_or(0, |found| found.dev());
        Self { files: Arc::new(Mutex::new(SessionFiles { store })), file_system }
    }

    /// The number of the file system they are on.
    pub(crate) fn file_system(&self) -> u64 {
        self.file_system
    }

    /// The same for somebody who does not keep the session open.
    pub(crate) fn downgrade(&self) -> WeakFiles {
        WeakFiles(Arc::downgrade(&self.files))
    }

    /// For work that may wait on a disk.
    pub(crate) fn lock(&self) -> MutexGuard<'_, SessionFiles> {
        // Work that panicked has left a journal that says itself whether it is in doubt.
        self.files.lock()
    }
}

/// The files of a session as long as it is open.
#[derive(Clone, Debug)]
pub(crate) struct WeakFiles(Weak<Mutex<SessionFiles>>);

impl WeakFiles {
    /// Puts the session back if its folder or its journal was deleted. An error says why it is not
    /// whole. Waits on the disk.
    pub(crate) fn put_back(&self) -> Result<(), AppendError> {
        match self.0.upgrade() {
            Some(files) => files.lock().store.put_back().map(drop),
            None => Ok(()),
        }
    }
}

/// What became of writing the readable view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewWrite {
    /// The view is up to date, or need not be.
    pub(crate) is_done: bool,
    /// The folder had been deleted and was put back.
    pub(crate) restored: bool,
}

#[derive(Debug)]
pub(crate) struct SessionFiles {
    store: Session,
}

impl SessionFiles {
    /// Writes facts; [`sync`](Self::sync) records them. A doubt about the journal, left by an
    /// earlier failure, is settled first by reading it again.
    pub(crate) fn write(
        &mut self,
        time: Timestamp,
        facts: &[SessionEvent],
    ) -> Result<WrittenBatch, AppendError> {
        let milestone = milestone(facts);
        match self.store.write(time, facts, milestone) {
            Err(AppendError::Poisoned { path, .. }) => match self.store.mend() {
                Ok(()) => self.store.write(time, facts, milestone),
                Err(error) => Err(AppendError::Poisoned { path, why: error.to_string() }),
            },
            written => written,
        }
    }

    pub(crate) fn sync(&mut self, written: WrittenBatch) -> Result<Appended, AppendError> {
        self.store.sync(written)
    }

    /// Its number of bytes on disk so far, for the index.
    pub(crate) fn journal_bytes(&self) -> u64 {
        self.store.journal_bytes()
    }

    pub(crate) fn last(&self) -> u64 {
        self.store.last()
    }

    pub(crate) fn view_needs_rebuild(&self) -> bool {
        self.store.view_needs_rebuild()
    }

    /// Writes the readable view. That of a session that is over and whose folder was deleted since
    /// is not: it stays deleted.
    pub(crate) fn write_view(&mut self, state: &State, viewer: &SessionViewBuilder) -> ViewWrite {
        if state.status().is_final() && !self.store.is_in_place() {
            return ViewWrite { is_done: true, restored: false };
        }
        // Before the view, so that what was deleted and is put back is noticed.
        let Ok(restored) = self.store.put_back() else {
            return ViewWrite { is_done: false, restored: false };
        };
        if restored.is_some() {
            viewer.keep_again();
        }
        ViewWrite { is_done: self.write_view_file(state, viewer), restored: restored.is_some() }
    }

    fn write_view_file(&mut self, state: &State, viewer: &SessionViewBuilder) -> bool {
        let Some(view) = viewer.session(state) else { return true };
        // The journal has the values; the copies beside it are for readers of the view.
        let put = |large: &LargeValue| {
            self.store.values().put(large.value.to_string().as_bytes()).is_ok()
        };
        let large = viewer.large();
        let (put, failed): (Vec<LargeValue>, Vec<LargeValue>) = large.into_iter().partition(put);
        viewer.kept(&put);
        failed.is_empty() && self.store.write_view(&view).is_ok()
    }

    /// Where its large values lie.
    pub(crate) fn values(&self) -> Values {
        self.store.values().clone()
    }

    /// The folder of an attempt, made if it is not there.
    pub(crate) fn make_attempt(&self, attempt: &AttemptId) -> Result<Attempt, FileError> {
        self.store.make_attempt(attempt)
    }

    /// The folder of an attempt, if it is there.
    pub(crate) fn attempt(&self, attempt: &AttemptId) -> Option<Attempt> {
        self.store.attempt(attempt).ok().flatten()
    }

    /// Makes the folder of an attempt, and makes sure that something can be written there. Says
    /// whether there was none before: then no process was ever started for this job.
    pub(crate) fn make_room(&self, attempt: &AttemptId) -> Result<(Attempt, bool), FileError> {
        let is_new = self.store.attempt(attempt)?.is_none();
        let made = self.store.make_attempt(attempt)?;
        made.make_room()?;
        self.store.check_room()?;
        Ok((made, is_new))
    }
}

/// What is certain once these facts are recorded.
fn milestone(facts: &[SessionEvent]) -> Milestone {
    let of = |fact: &SessionEvent| match fact {
        SessionEvent::WorkflowCompleted { .. }
        | SessionEvent::WorkflowFailed { .. }
        | SessionEvent::WorkflowCancelled { .. }
        // The last that is known of a session whose run is over.
        | SessionEvent::TaskReleased { .. } => Milestone::Run,
        SessionEvent::TaskEnded(_) => Milestone::Job,
        _ => Milestone::None,
    };
    facts.iter().map(of).max().unwrap_or(Milestone::None)
}
