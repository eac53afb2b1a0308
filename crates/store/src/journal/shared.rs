//! What the writer of a journal and its readers in the same process share: the file, and how much
//! of it is durable. Readers see nothing beyond that.

use std::fs::File;
use std::sync::Arc;

use coven_model::Timestamp;
use parking_lot::{Mutex, MutexGuard};

use super::scan::{RecordMark, RecordMarks};
use crate::seal::{SealChain, SealKey};

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
    /// The chain with the last fact.
    pub(super) chain: SealChain,
    /// The key that seals it.
    pub(super) key: Arc<SealKey>,
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
    pub(super) fn before(&self, seq: u64) -> (Arc<File>, u64, RecordMark) {
        let durable = self.lock();
        // Without facts there is no place to begin, and nothing to read either.
        let none = RecordMark { seq: 1, offset: durable.end, chain: durable.chain };
        (Arc::clone(&durable.file), durable.end, durable.marks.before(seq).unwrap_or(none))
    }

    pub(super) fn key(&self) -> Arc<SealKey> {
        Arc::clone(&self.lock().key)
    }
}
