//! Everything on a tape, one record after the other.

use super::{SegmentHandle, TapeReader};
use crate::entry::{EntryBody, IndexEntry, PayloadKind};
use crate::error::{Error, TapeDamage};
use crate::record::{GapReason, TapeEvent, TapeGap, TapeRecord};
use crate::window::IndexWindow;

/// The records of a tape from an offset on; made by [`TapeReader::records`].
///
/// A record that does not hold is an error and ends the iteration, as does output that is missing
/// without a reason. Output that was dropped is a [`TapeGap`] at the time of the record before it,
/// or at 0 if there is none.
///
/// Inputs, marks and sizes do not move the offset. A caller that goes on at the offset where it
/// stopped gets those again that happened there.
#[derive(Debug)]
pub struct TapeRecords<'a> {
    reader: &'a TapeReader,
    /// The place of the segment to read in the reader's list.
    place: usize,
    open: Option<OpenSegment<'a>>,
    /// Where the next record begins.
    offset: u64,
    /// The time of the last one.
    time: u64,
    /// Whether the bytes of output are left out, and not checked.
    skips_output: bool,
    /// Whether `offset` is somewhere in the segment and must be looked for.
    seeks: bool,
    ended: bool,
}

/// A segment that is being read.
#[derive(Debug)]
struct OpenSegment<'a> {
    segment: SegmentHandle<'a>,
    /// Boxed, because it is a page.
    window: Box<IndexWindow>,
    number: u64,
}

impl<'a> TapeRecords<'a> {
    pub(super) fn new(reader: &'a TapeReader, from: u64) -> Self {
        let offset = from.min(reader.end);
        // Not the segment that begins here, if one does: the one before may end with records that
        // happened here.
        let place = reader.bases.partition_point(|base| *base < offset).saturating_sub(1);
        let seeks = offset > reader.start();
        Self {
            reader,
            place,
            open: None,
            offset,
            time: 0,
            skips_output: false,
            seeks,
            ended: false,
        }
    }

    pub(super) fn without_output(self) -> Self {
        Self { skips_output: true, ..self }
    }

    fn read(&mut self) -> Result<Option<TapeRecord>, Error> {
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
            let (entry, event) = open.next(self.skips_output)?;
            let next = self.reader.bases.get(self.place + 1).copied().unwrap_or(self.reader.end);
            if entry.offset != self.offset || entry.end() > next {
                return Err(open.segment.problem(open.number - 1, TapeDamage::Order));
            }
            (self.offset, self.time) = (entry.end(), entry.time);
            return Ok(Some(TapeRecord { time: entry.time, offset: entry.offset, event }));
        }
    }

    /// Opens the next segment. If there is nothing at the offset any more, says so, once.
    fn enter(&mut self) -> Result<Option<TapeRecord>, Error> {
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
            return Err(segment.problem(0, TapeDamage::Missing { from: self.offset, to: base }));
        };
        self.seeks = false;
        self.open =
            Some(OpenSegment { segment, window: Box::new(IndexWindow::new(count)), number });
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

    fn dropped(&mut self, to: u64) -> TapeRecord {
        let gap = TapeGap { len: to - self.offset, events: 0, reason: GapReason::Dropped };
        let record =
            TapeRecord { time: self.time, offset: self.offset, event: TapeEvent::Gap(gap) };
        self.offset = to;
        record
    }
}

impl Iterator for TapeRecords<'_> {
    type Item = Result<TapeRecord, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let record = self.read().transpose();
        self.ended = !matches!(record, Some(Ok(_)));
        record
    }
}

impl OpenSegment<'_> {
    /// The next entry with its bytes, both checked; or output without bytes, not checked.
    fn next(&mut self, skips_output: bool) -> Result<(IndexEntry, TapeEvent), Error> {
        let number = self.number;
        let raw = self.window.raw(&self.segment, number)?;
        let entry = self.segment.decode(number, raw)?;
        let mut bytes = Vec::new();
        if skips_output
            && let EntryBody::Payload { kind: kind @ PayloadKind::Output(_), .. } = entry.body
        {
            self.number += 1;
            return Ok((entry, event(EntryBody::Payload { kind, at: 0, len: 0 }, bytes)));
        }
        if let EntryBody::Payload { kind, at, len } = entry.body {
            bytes.resize(len as usize, 0);
            self.segment.read_bytes(number, kind.place(), u64::from(at), &mut bytes)?;
        }
        self.segment.check_against(number, raw, &bytes)?;
        self.number += 1;
        Ok((entry, event(entry.body, bytes)))
    }
}

fn event(body: EntryBody, bytes: Vec<u8>) -> TapeEvent {
    match body {
        EntryBody::Payload { kind: PayloadKind::Output(stream), .. } => {
            TapeEvent::Output { stream, bytes }
        }
        EntryBody::Payload { kind: PayloadKind::Input, .. } => TapeEvent::Input(bytes),
        // A writer takes text only, so nothing is lost.
        EntryBody::Payload { kind: PayloadKind::Mark, .. } => {
            TapeEvent::Mark(String::from_utf8_lossy(&bytes).into_owned())
        }
        EntryBody::Resize { cols, rows } => TapeEvent::Resize { cols, rows },
        EntryBody::Gap(gap) => TapeEvent::Gap(gap),
    }
}

/// The first entry at or after an offset, or the one that covers it, to whose beginning the offset
/// then moves.
fn seek(segment: &SegmentHandle<'_>, count: u64, offset: &mut u64) -> Result<u64, Error> {
    let number = segment.search(count, |raw| raw.offset() < *offset)?;
    let Some(before) = number.checked_sub(1) else {
        return Err(segment.problem(0, TapeDamage::Order));
    };
    // The search believed what it saw, but this entry is checked: it must reach up to the offset.
    let entry = segment.check(before)?;
    if entry.offset >= *offset || entry.end() < *offset {
        return Err(segment.problem(before, TapeDamage::Order));
    }
    if entry.end() == *offset {
        return Ok(number);
    }
    *offset = entry.offset;
    Ok(before)
}
