//! The raw output by offset.

use std::ops::Range;

use super::{ReadAt, TapeReader, open_older};
use crate::entry::{EntryBody, IndexEntry, PayloadFile, PayloadKind};
use crate::error::{Error, TapeDamage};
use crate::segment::TapeSegment;
use crate::window::IndexWindow;

impl TapeReader {
    /// Reads output from an offset on into a buffer. What it hands out has been checked.
    ///
    /// It may stop before the buffer is full although there is more. A buffer of [`MAX_PAYLOAD`]
    /// or more is best: a record that does not fit is checked again for each part of it.
    ///
    /// [`MAX_PAYLOAD`]: crate::MAX_PAYLOAD
    pub fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<ReadAt, Error> {
        let start = self.start();
        if offset >= self.end {
            return Ok(ReadAt::End);
        }
        if offset < start {
            return Ok(ReadAt::Gap { to: start });
        }
        if buffer.is_empty() {
            return Ok(ReadAt::Data { len: 0 });
        }
        let next = self.bases.partition_point(|base| *base <= offset);
        let limit = self.bases.get(next).copied().unwrap_or(self.end);
        let newest = next == self.bases.len();
        if !newest && !self.move_cursor(self.bases[next - 1])? {
            return Ok(ReadAt::Gap { to: limit });
        }
        let older = self.cursor.as_ref().filter(|_| !newest);
        let segment = older.unwrap_or(&self.newest);
        let count = if newest { self.count } else { segment.count()? };
        let (number, entry) = covering(segment, count, offset, limit)?;
        let room = buffer.len().min((limit - offset) as usize);
        let buffer = &mut buffer[..room];
        match entry.body {
            EntryBody::Payload { kind: PayloadKind::Output(_), .. } => {
                let len = if offset == entry.offset && entry.covers() <= buffer.len() as u64 {
                    read_whole(segment, number, count, buffer)?
                } else {
                    read_part(segment, number, offset, buffer)?
                };
                Ok(ReadAt::Data { len })
            }
            _ => segment.check(number).map(|gap| ReadAt::Gap { to: gap.end() }),
        }
    }

    /// Opens an older segment, unless it is open; false if it has been dropped.
    fn move_cursor(&mut self, base: u64) -> Result<bool, Error> {
        if self.cursor.as_ref().is_none_or(|segment| segment.base != base) {
            self.cursor = open_older(&self.folder, base)?;
        }
        Ok(self.cursor.is_some())
    }
}

/// The entry that says what became of the byte at an offset in a segment with this end. It is
/// found by what others say, so it is not to be believed before it is checked.
fn covering(
    segment: &TapeSegment,
    count: u64,
    offset: u64,
    end: u64,
) -> Result<(u64, IndexEntry), Error> {
    // All records at this offset that cover nothing come before the one that covers it.
    let after = segment.search(count, |raw| raw.offset() <= offset)?;
    let number = after.saturating_sub(1);
    let entry = segment.decode(number, segment.raw(number)?)?;
    if (entry.offset..entry.end()).contains(&offset) && entry.end() <= end {
        Ok((number, entry))
    } else {
        Err(segment.problem(number, TapeDamage::Order))
    }
}

/// Reads the bytes of an entry and of as many after it as fit as a whole, in one go.
fn read_whole(
    segment: &TapeSegment,
    first: u64,
    count: u64,
    buffer: &mut [u8],
) -> Result<usize, Error> {
    let mut window = IndexWindow::new(count);
    let mut raw = window.raw(segment, first)?;
    let (mut run, mut next) = (None, first);
    loop {
        match raw.decode().map(|entry| (entry.offset, entry.body)) {
            Some((offset, EntryBody::Payload { kind: PayloadKind::Output(_), at, len })) => {
                let run = run.get_or_insert(PayloadRun { offset, at: u64::from(at), len: 0 });
                if !run.extend(offset, at, len, buffer.len()) {
                    break;
                }
            }
            Some((_, EntryBody::Payload { .. } | EntryBody::Resize { .. })) => {}
            Some((_, EntryBody::Gap(_))) | None => break,
        }
        next += 1;
        if next >= count || !window.holds(next) {
            break;
        }
        raw = window.raw(segment, next)?;
    }
    let Some(run) = run else { return Err(segment.problem(first, TapeDamage::Order)) };
    let read = segment.read_some(PayloadFile::Output, run.at, &mut buffer[..run.len])?;
    check_run(segment, first..next, &mut window, &buffer[..read])
}

/// Bytes of several entries that lie one after the other.
struct PayloadRun {
    offset: u64,
    at: u64,
    len: usize,
}

impl PayloadRun {
    /// Takes the bytes of the next entry, if they come next and there is room for them.
    fn extend(&mut self, offset: u64, at: u32, len: u32, room: usize) -> bool {
        let so_far = self.len as u64;
        let continues = offset == self.offset + so_far && u64::from(at) == self.at + so_far;
        let fits = self.len + len as usize <= room;
        if continues && fits {
            self.len += len as usize;
        }
        continues && fits
    }
}

/// How many bytes of a run of entries hold: all of them, or those before the first that does not.
/// It is an error only if that is the first.
fn check_run(
    segment: &TapeSegment,
    numbers: Range<u64>,
    window: &mut IndexWindow,
    bytes: &[u8],
) -> Result<usize, Error> {
    let mut done = 0;
    for number in numbers {
        let raw = window.raw(segment, number)?;
        let EntryBody::Payload { kind: PayloadKind::Output(_), len, .. } =
            segment.decode(number, raw)?.body
        else {
            continue;
        };
        let checked = match bytes.get(done..done + len as usize) {
            Some(bytes) => segment.check_against(number, raw, bytes),
            None => Err(segment.problem(number, TapeDamage::Short)),
        };
        match checked {
            Ok(()) => done += len as usize,
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// Reads a part of the bytes of an entry, after checking them all.
fn read_part(
    segment: &TapeSegment,
    number: u64,
    offset: u64,
    buffer: &mut [u8],
) -> Result<usize, Error> {
    let entry = segment.check(number)?;
    match entry.body {
        EntryBody::Payload { at, .. } if (entry.offset..entry.end()).contains(&offset) => {
            let len = buffer.len().min((entry.end() - offset) as usize);
            let at = u64::from(at) + (offset - entry.offset);
            segment.read_bytes(number, PayloadFile::Output, at, &mut buffer[..len])?;
            Ok(len)
        }
        _ => Err(segment.problem(number, TapeDamage::Order)),
    }
}
