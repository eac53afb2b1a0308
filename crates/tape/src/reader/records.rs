//! Everything on a tape, one record after the other.

use super::{Held, Reader};
use crate::entry::{Body, Entry, Kind};
use crate::error::{Damage, Error};
use crate::record::{Event, Gap, Reason, Record};
use crate::window::Window;

/// The records of a tape from an offset on; made by [`Reader::records`].
///
/// A record that does not hold is an error and ends the iteration, as does output that is missing
/// without a reason. Output that was dropped is a [`Gap`] at the time of the record before it, or at
/// 0 if there is none.
///
/// Inputs, marks and sizes do not move the offset. A caller that goes on at the offset where it
/// stopped gets those again that happened there.
#[derive(Debug)]
pub struct Records<'a> {
    reader: &'a Reader,
    /// The place of the segment to read in the reader's list.
    place: usize,
    open: Option<Open<'a>>,
    /// Where the next record begins.
    offset: u64,
    /// The time of the last one.
    time: u64,
    /// Whether `offset` is somewhere in the segment and must be looked for.
    seeks: bool,
    ended: bool,
}

/// A segment that is being read.
#[derive(Debug)]
struct Open<'a> {
    segment: Held<'a>,
    /// Boxed, because it is a page.
    window: Box<Window>,
    number: u64,
}

impl<'a> Records<'a> {
    pub(super) fn new(reader: &'a Reader, from: u64) -> Self {
        let offset = from.min(reader.end);
        // Not the segment that begins here, if one does: the one before may end with records that
        // happened here.
        let place = reader.bases.partition_point(|base| *base < offset).saturating_sub(1);
        let seeks = offset > reader.start();
        Self { reader, place, open: None, offset, time: 0, seeks, ended: false }
    }

    fn read(&mut self) -> Result<Option<Record>, Error> {
        loop {
            let Some(open) = &mut self.open else {
                if self.place == self.reader.bases.len() {
                    return Ok(None);
                }
                if let Some(gap) = self.enter()? {
                    return Ok(Some(gap));
                }
                continue;
            };
            if open.number == open.window.count() {
                (self.open, self.place) = (None, self.place + 1);
                continue;
            }
            let (entry, event) = open.next()?;
            let next = self.reader.bases.get(self.place + 1).copied().unwrap_or(self.reader.end);
            if entry.offset != self.offset || entry.end() > next {
                return Err(open.segment.problem(open.number - 1, Damage::Order));
            }
            (self.offset, self.time) = (entry.end(), entry.time);
            return Ok(Some(Record { time: entry.time, offset: entry.offset, event }));
        }
    }

    /// Opens the next segment. If there is nothing at the offset any more, says so, once.
    fn enter(&mut self) -> Result<Option<Record>, Error> {
        let base = self.reader.bases[self.place];
        if self.place == 0 && self.offset < base {
            return Ok(Some(self.dropped(base)));
        }
        let Some((segment, count)) = self.reader.segment(self.place)? else {
            let next = self.skip_dropped()?;
            return Ok((next > self.offset).then(|| self.dropped(next)));
        };
        let number = if self.seeks {
            seek(&segment, count, &mut self.offset)?
        } else if base == self.offset {
            0
        } else {
            return Err(segment.problem(0, Damage::Missing { from: self.offset, to: base }));
        };
        self.seeks = false;
        self.open = Some(Open { segment, window: Box::new(Window::new(count)), number });
        Ok(None)
    }

    /// Goes to the next segment that is still there; where that begins.
    fn skip_dropped(&mut self) -> Result<u64, Error> {
        self.seeks = false;
        loop {
            self.place += 1;
            let Some(base) = self.reader.bases.get(self.place) else { return Ok(self.reader.end) };
            if self.reader.segment(self.place)?.is_some() {
                return Ok(*base);
            }
        }
    }

    fn dropped(&mut self, to: u64) -> Record {
        let gap = Gap { len: to - self.offset, events: 0, reason: Reason::Dropped };
        let record = Record { time: self.time, offset: self.offset, event: Event::Gap(gap) };
        self.offset = to;
        record
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let record = self.read().transpose();
        self.ended = !matches!(record, Some(Ok(_)));
        record
    }
}

impl Open<'_> {
    /// The next entry with its bytes, both checked.
    fn next(&mut self) -> Result<(Entry, Event), Error> {
        let number = self.number;
        let raw = self.window.raw(&self.segment, number)?;
        let entry = self.segment.decode(number, raw)?;
        let mut bytes = Vec::new();
        if let Body::Payload { kind, at, len } = entry.body {
            bytes.resize(len as usize, 0);
            self.segment.read_bytes(number, kind.place(), u64::from(at), &mut bytes)?;
        }
        self.segment.check_against(number, raw, &bytes)?;
        self.number += 1;
        Ok((entry, event(entry.body, bytes)))
    }
}

fn event(body: Body, bytes: Vec<u8>) -> Event {
    match body {
        Body::Payload { kind: Kind::Output(stream), .. } => Event::Output { stream, bytes },
        Body::Payload { kind: Kind::Input, .. } => Event::Input(bytes),
        // A writer takes text only, so nothing is lost.
        Body::Payload { kind: Kind::Mark, .. } => {
            Event::Mark(String::from_utf8_lossy(&bytes).into_owned())
        }
        Body::Resize { cols, rows } => Event::Resize { cols, rows },
        Body::Gap(gap) => Event::Gap(gap),
    }
}

/// The first entry at or after an offset, or the one that covers it, to whose beginning the offset
/// then moves.
fn seek(segment: &Held<'_>, count: u64, offset: &mut u64) -> Result<u64, Error> {
    let number = segment.search(count, |raw| raw.offset() < *offset)?;
    let Some(before) = number.checked_sub(1) else {
        return Err(segment.problem(0, Damage::Order));
    };
    // The search believed what it saw, but this entry is checked: it must reach up to the offset.
    let entry = segment.check(before)?;
    if entry.offset >= *offset || entry.end() < *offset {
        return Err(segment.problem(before, Damage::Order));
    }
    if entry.end() == *offset {
        return Ok(number);
    }
    *offset = entry.offset;
    Ok(before)
}
