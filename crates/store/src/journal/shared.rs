//! What the writer of a journal and its readers in the same process share: the file, and how much
//! of it is durable. Readers see nothing beyond that.

use std::fs::File;
use std::sync::Arc;

use coven_model::Timestamp;
use parking_lot::{Mutex, MutexGuard};

use super::scan::{RecordMark, RecordMarks};

/// The durable part of a journal.
#[derive(Clone, Debug)]
pub(super) struct DurableJournal(Arc<Mutex<DurableEnd>>);

#[derive(Debug)]
pub(super) struct DurableEnd {
    pub(super) file: Arc<File>,
    /// Up to where everything is on the disk.
    pub(super) end: u64,
    /// The number of the last fact there.
    pub(super) last: u64,
    /// When it was recorded.
    pub(super) time: Timestamp,
    pub(super) marks: RecordMarks,
}

impl DurableJournal {
    pub(super) fn new(durable: DurableEnd) -> Self {
        Self(Arc::new(Mutex::new(durable)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, DurableEnd> {
        // Nothing that panics runs under this lock, and half a change would still be a state.
        self.0.lock()
    }

    /// The file, up to where to read, and the place to begin for a fact.
    pub(super) fn before(&self, seq: u64) -> (Arc<File>, u64, Option<RecordMark>) {
        let durable = self.lock();
        (Arc::clone(&durable.file), durable.end, durable.marks.before(seq))
    }
}
