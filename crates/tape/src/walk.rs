//! Going through a segment from its beginning: each entry must go on where the last one ended.

use crate::entry::{Body, Entry, Place};
use crate::error::{Damage, Error};
use crate::segment::Segment;
use crate::window::Window;

/// How far a segment was followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    pub(crate) entries: u64,
    /// The logical offset after the last one.
    pub(crate) offset: u64,
    pub(crate) time: u64,
    /// How many bytes of output they speak of.
    pub(crate) output: u64,
    /// How many bytes beside the output.
    pub(crate) side: u64,
}

impl Walk {
    /// At the beginning of a segment, at a time that its entries must not be before.
    pub(crate) fn new(base: u64, time: u64) -> Self {
        Self { entries: 0, offset: base, time, output: 0, side: 0 }
    }

    /// Goes on to the next entry, if that holds and goes on where the last one ended. Otherwise
    /// stays where it is.
    pub(crate) fn step(&mut self, segment: &Segment, window: &mut Window) -> Result<Entry, Error> {
        let number = self.entries;
        let raw = window.raw(segment, number)?;
        let entry = segment.decode(number, raw)?;
        if !self.continues(&entry) {
            return Err(segment.problem(number, Damage::Order));
        }
        segment.check_bytes(number, raw, &entry)?;
        self.pass(&entry);
        Ok(entry)
    }

    /// Goes past an entry that does not hold, so that the next one can be looked at.
    pub(crate) fn skip(&mut self) {
        self.entries += 1;
    }

    /// Takes an entry as the last one.
    pub(crate) fn pass(&mut self, entry: &Entry) {
        self.entries += 1;
        self.offset = entry.end();
        self.time = entry.time;
        if let Body::Payload { kind, at, len } = entry.body {
            let end = u64::from(at) + u64::from(len);
            match kind.place() {
                Place::Output => self.output = end,
                Place::Side => self.side = end,
            }
        }
    }

    fn continues(&self, entry: &Entry) -> bool {
        let in_place = match entry.body {
            Body::Payload { kind, at, .. } => match kind.place() {
                Place::Output => u64::from(at) == self.output,
                Place::Side => u64::from(at) == self.side,
            },
            Body::Resize { .. } | Body::Gap(_) => true,
        };
        in_place && entry.offset == self.offset && entry.time >= self.time
    }
}
