//! Reading the entries of a segment one after the other, many at a time.

use crate::entry::{IndexEntry, RawEntry};
use crate::error::Error;
use crate::segment::TapeSegment;

/// How many entries are read at once: a page of them.
const WINDOW_ENTRIES: usize = 128;

const ENTRY_BYTES: usize = IndexEntry::SIZE as usize;

/// A piece of an index.
#[derive(Debug)]
pub(crate) struct IndexWindow {
    first: u64,
    loaded: usize,
    /// How many entries of the segment may be read.
    count: u64,
    bytes: [u8; WINDOW_ENTRIES * ENTRY_BYTES],
}

impl IndexWindow {
    /// Nothing yet of the first `count` entries of a segment.
    pub(crate) fn new(count: u64) -> Self {
        Self { first: 0, loaded: 0, count, bytes: [0; WINDOW_ENTRIES * ENTRY_BYTES] }
    }

    /// How many entries of the segment may be read.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether an entry has been read.
    pub(crate) fn holds(&self, number: u64) -> bool {
        (self.first..self.first + self.loaded as u64).contains(&number)
    }

    /// The bytes of an entry below the count. What is not in the window is read, with as many of
    /// those after it as there are.
    pub(crate) fn raw(&mut self, segment: &TapeSegment, number: u64) -> Result<RawEntry, Error> {
        if !self.holds(number) {
            let ahead = self.count.saturating_sub(number).clamp(1, WINDOW_ENTRIES as u64) as usize;
            self.loaded = 0;
            segment.read_entries(number, &mut self.bytes[..ahead * ENTRY_BYTES])?;
            (self.first, self.loaded) = (number, ahead);
        }
        let at = (number - self.first) as usize * ENTRY_BYTES;
        let mut raw = RawEntry([0; ENTRY_BYTES]);
        raw.0.copy_from_slice(&self.bytes[at..at + ENTRY_BYTES]);
        Ok(raw)
    }
}
