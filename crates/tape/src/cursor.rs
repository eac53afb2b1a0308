//! Going through a segment from its beginning: each entry must go on where the last one ended.

use crate::entry::{EntryBody, IndexEntry, PayloadFile};
use crate::error::{Error, TapeDamage};
use crate::segment::TapeSegment;
use crate::window::IndexWindow;

/// How far a segment was followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentCursor {
    pub(crate) entries: u64,
    /// The logical offset after the last one.
    pub(crate) offset: u64,
    pub(crate) time: u64,
    /// How many bytes of output they speak of.
    pub(crate) output: u64,
    /// How many bytes beside the output.
    pub(crate) side: u64,
}

impl SegmentCursor {
    /// At the beginning of a segment, at a time that its entries must not be before.
    pub(crate) fn new(base: u64, time: u64) -> Self {
        Self { entries: 0, offset: base, time, output: 0, side: 0 }
    }

    /// Goes on to the next entry, if that holds and goes on where the last one ended. Otherwise
    /// stays where it is.
    pub(crate) fn step(
        &mut self,
        segment: &TapeSegment,
        window: &mut IndexWindow,
    ) -> Result<IndexEntry, Error> {
        let number = self.entries;
        let raw = window.raw(segment, number)?;
        let entry = segment.decode(number, raw)?;
        if !self.continues(&entry) {
            return Err(segment.problem(number, TapeDamage::Order));
        }
        segment.check_bytes(number, raw, &entry)?;
        self.advance_past(&entry);
        Ok(entry)
    }

    /// Goes past an entry that does not hold, so that the next one can be looked at.
    pub(crate) fn skip(&mut self) {
        self.entries += 1;
    }

    /// Takes an entry as the last one.
    pub(crate) fn advance_past(&mut self, entry: &IndexEntry) {
        self.entries += 1;
        self.offset = entry.end();
        self.time = entry.time;
        if let EntryBody::Payload { kind, at, len } = entry.body {
            let end = u64::from(at) + u64::from(len);
            match kind.place() {
                PayloadFile::Output => self.output = end,
                PayloadFile::Side => self.side = end,
            }
        }
    }

    fn continues(&self, entry: &IndexEntry) -> bool {
        let in_place = match entry.body {
            EntryBody::Payload { kind, at, .. } => match kind.place() {
                PayloadFile::Output => u64::from(at) == self.output,
                PayloadFile::Side => u64::from(at) == self.side,
            },
            EntryBody::Resize { .. } | EntryBody::Gap(_) => true,
        };
        in_place && entry.offset == self.offset && entry.time >= self.time
    }
}
