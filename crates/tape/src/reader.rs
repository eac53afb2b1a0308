//! Reading a tape, by offset and by time, while it is written.

mod read;
mod records;
mod verify;

use std::ops::{Deref, Range};
use std::path::Path;

pub use self::records::TapeRecords;
pub use self::verify::{VerifyReport, verify, verify_telling};
use crate::error::{Error, TapeDamage};
use crate::folder::{SegmentFile, TapeFolder};
use crate::record::{TapeEvent, TapeRecord};
use crate::segment::{SegmentLookup, TapeSegment};

/// A reader of a tape.
///
/// It sees the tape as it was when it was opened or last [refreshed](Self::refresh), except that
/// what is dropped meanwhile becomes a gap. It never waits, never writes and needs no lock.
#[derive(Debug)]
pub struct TapeReader {
    folder: TapeFolder,
    /// Where the segments begin, oldest first; never empty, and the last is that of `newest`.
    bases: Vec<u64>,
    newest: TapeSegment,
    /// How many entries of the newest segment count: those up to the last that holds.
    count: u64,
    /// The logical offset after them.
    end: u64,
    /// The older segment that was read last.
    cursor: Option<TapeSegment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAt {
    /// The first so many bytes of the buffer are output.
    Data {
        /// How many; 0 only for a buffer without room.
        len: usize,
    },
    /// There is nothing at this offset: it was lost or dropped.
    Gap {
        /// Where to go on.
        to: u64,
    },
    /// The tape does not go further, or not yet.
    End,
}

/// A segment to read from.
#[derive(Debug)]
enum SegmentHandle<'a> {
    Newest(&'a TapeSegment),
    Older(TapeSegment),
}

impl Deref for SegmentHandle<'_> {
    type Target = TapeSegment;

    fn deref(&self) -> &TapeSegment {
        match self {
            Self::Newest(segment) => segment,
            Self::Older(segment) => segment,
        }
    }
}

impl TapeReader {
    /// Opens the tape in a folder, by an absolute path without links.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Self::of(TapeFolder::open(dir)?)
    }

    /// Opens the tape in a folder that is open.
    pub fn open_in(folder: &coven_folder::OpenFolder) -> Result<Self, Error> {
        Self::of(TapeFolder::new(folder))
    }

    fn of(folder: TapeFolder) -> Result<Self, Error> {
        let (bases, newest) = load(&folder)?;
        let end = newest.base;
        let mut reader = Self { folder, bases, newest, count: 0, end, cursor: None };
        reader.refresh()?;
        Ok(reader)
    }

    /// The offsets from the first byte that is kept to the end. Bytes in between may be lost.
    pub fn range(&self) -> Range<u64> {
        self.start()..self.end
    }

    /// Looks for what was written, and what was dropped, since the last time.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.read_appended()?;
        // Segments are dropped from the front. If the first is still there, so are all.
        if self.folder.has(self.start(), SegmentFile::Index) {
            return Ok(());
        }
        let (bases, newest) = load(&self.folder)?;
        self.bases = bases;
        if newest.base != self.newest.base {
            (self.count, self.end) = (0, newest.base);
            self.newest = newest;
        }
        self.read_appended()
    }

    /// The offset of the first byte that was written at this time or later, in microseconds since
    /// the start. For a time after the last record this is the end, for one before all that is kept
    /// the beginning of that.
    pub fn find_time(&self, time: u64) -> Result<u64, Error> {
        let (mut low, mut high) = (0, self.bases.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.begins_before(middle, time)? { low = middle + 1 } else { high = middle }
        }
        // The last segment that begins before this time is the one to look in.
        let Some(place) = low.checked_sub(1) else { return Ok(self.start()) };
        let after = self.bases.get(low).copied().unwrap_or(self.end);
        let Some((segment, count)) = self.segment(place)? else { return Ok(after) };
        let number = segment.search(count, |raw| raw.time() < time)?;
        // The search has seen both sides of its result, but has not checked what it saw.
        number.checked_sub(1).map(|before| segment.check(before)).transpose()?;
        let found = (number < count).then(|| segment.check(number)).transpose()?;
        Ok(found.map_or(after, |entry| entry.offset))
    }

    /// Everything from an offset on, beginning with the record that holds it, up to where the tape
    /// ended at the last refresh. An offset beyond that is the end.
    pub fn records(&self, from: u64) -> TapeRecords<'_> {
        TapeRecords::new(self, from)
    }

    /// What the program was sent before an offset, with the offset of each piece. The output is not
    /// read, so it takes time in the number of records and not in their length.
    pub fn inputs(
        &self,
        until: u64,
    ) -> impl Iterator<Item = Result<(u64, Vec<u8>), Error>> + use<'_> {
        let records = TapeRecords::new(self, self.start()).without_output();
        let before = move |record: &Result<TapeRecord, Error>| {
            record.as_ref().map_or(true, |record| record.offset < until)
        };
        records.take_while(before).filter_map(|record| match record {
            Ok(TapeRecord { offset, event: TapeEvent::Input(bytes), .. }) => {
                Some(Ok((offset, bytes)))
            }
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// Checks every byte of the tape; the same as [`verify()`].
    pub fn verify(&self) -> Result<VerifyReport, Error> {
        verify::verify_folder(&self.folder, &mut |_| {})
    }

    fn start(&self) -> u64 {
        self.bases.first().copied().unwrap_or(self.newest.base)
    }

    /// Reads what was appended, through all segments that were begun meanwhile.
    fn read_appended(&mut self) -> Result<(), Error> {
        loop {
            self.find_last_entry()?;
            if self.end == self.newest.base {
                return Ok(());
            }
            match TapeSegment::open(&self.folder, self.end)? {
                SegmentLookup::Segment(next) => {
                    self.bases.push(next.base);
                    self.count = 0;
                    self.newest = next;
                }
                SegmentLookup::Unfinished | SegmentLookup::Absent => return Ok(()),
            }
        }
    }

    /// Finds the last entry that holds. The ones before it are checked when they are read.
    fn find_last_entry(&mut self) -> Result<(), Error> {
        let count = self.newest.count()?;
        if count < self.count {
            // A writer that came after has cut the tail off.
            (self.count, self.end) = (0, self.newest.base);
        }
        for number in (self.count..count).rev() {
            match self.newest.check(number) {
                Ok(entry) if entry.offset >= self.newest.base => {
                    (self.count, self.end) = (number + 1, entry.end());
                    return Ok(());
                }
                Ok(_) | Err(Error::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A segment by its place in the list, and how many of its entries count; none if it has been
    /// dropped.
    fn segment(&self, place: usize) -> Result<Option<(SegmentHandle<'_>, u64)>, Error> {
        if place + 1 == self.bases.len() {
            return Ok(Some((SegmentHandle::Newest(&self.newest), self.count)));
        }
        let Some(segment) = open_older(&self.folder, self.bases[place])? else { return Ok(None) };
        let count = segment.count()?;
        Ok(Some((SegmentHandle::Older(segment), count)))
    }

    /// Whether the first record of a segment, or a segment that is gone, was before a time.
    fn begins_before(&self, place: usize, time: u64) -> Result<bool, Error> {
        Ok(match self.segment(place)? {
            Some((_, 0)) => false,
            Some((segment, _)) => segment.check(0)?.time < time,
            None => true,
        })
    }
}

/// Opens a segment that others came after; none if it has been dropped.
fn open_older(folder: &TapeFolder, base: u64) -> Result<Option<TapeSegment>, Error> {
    match TapeSegment::open(folder, base)? {
        SegmentLookup::Segment(segment) => Ok(Some(segment)),
        SegmentLookup::Absent => Ok(None),
        SegmentLookup::Unfinished => Err(folder.problem(base, 0, TapeDamage::Unfinished)),
    }
}

/// The segments that are there now, and the newest of them that can be read.
fn load(folder: &TapeFolder) -> Result<(Vec<u64>, TapeSegment), Error> {
    let mut bases = folder.bases()?;
    while let Some(base) = bases.last() {
        match TapeSegment::open(folder, *base)? {
            SegmentLookup::Segment(newest) => return Ok((bases, newest)),
            SegmentLookup::Unfinished => _ = bases.pop(),
            // Dropped since it was listed, so there are others now.
            SegmentLookup::Absent => bases = folder.bases()?,
        }
    }
    Err(Error::NoTape { dir: folder.dir().to_path_buf() })
}
