//! Reading one segment: its entries, their bytes, and whether both are what was written.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use crate::entry::{EntryBody, IndexEntry, PayloadFile, RawEntry};
use crate::error::{Error, TapeDamage};
use crate::folder::{SegmentFile, TapeFolder};
use crate::header::{HeaderError, IndexHeader, TAPE_VERSION};

/// How much of a payload is in memory while it is only checked.
const CHECK_BUFFER_BYTES: usize = 8 * 1024;

/// A segment that is there. Its files stay readable when they are deleted.
#[derive(Debug)]
pub(crate) struct TapeSegment {
    folder: TapeFolder,
    pub(crate) base: u64,
    /// What the header says of the bytes before the tape.
    pub(crate) kept: u64,
    index: File,
    output: File,
    side: File,
}

/// What there is under the name of a segment.
pub(crate) enum SegmentLookup {
    Segment(TapeSegment),
    /// The beginning of one: its writer is at it, or did not get further.
    Unfinished,
    /// Nothing: it has been dropped, or has not begun.
    Absent,
}

impl TapeSegment {
    pub(crate) fn open(folder: &TapeFolder, base: u64) -> Result<SegmentLookup, Error> {
        let Some(index) = folder.file(base, SegmentFile::Index)? else {
            return Ok(SegmentLookup::Absent);
        };
        let Some(IndexHeader { kept, .. }) = header(folder, base, &index)? else {
            return Ok(SegmentLookup::Unfinished);
        };
        let others =
            (folder.file(base, SegmentFile::Output)?, folder.file(base, SegmentFile::Side)?);
        if let (Some(output), Some(side)) = others {
            let folder = folder.clone();
            return Ok(SegmentLookup::Segment(Self { folder, base, kept, index, output, side }));
        }
        // The index is the last to come and the first to go.
        match folder.file(base, SegmentFile::Index)? {
            None => Ok(SegmentLookup::Absent),
            Some(_) => Err(folder.problem(base, 0, TapeDamage::Incomplete)),
        }
    }

    /// How many whole entries there are now.
    pub(crate) fn count(&self) -> Result<u64, Error> {
        Ok(self.len(SegmentFile::Index)?.saturating_sub(IndexHeader::SIZE) / IndexEntry::SIZE)
    }

    /// How long a file is now.
    pub(crate) fn len(&self, part: SegmentFile) -> Result<u64, Error> {
        let metadata = self.file(part).metadata();
        metadata.map(|metadata| metadata.len()).map_err(|source| self.io(part, source))
    }

    /// The bytes of an entry.
    pub(crate) fn raw(&self, number: u64) -> Result<RawEntry, Error> {
        let mut bytes = [0; 32];
        self.read_entries(number, &mut bytes)?;
        Ok(RawEntry(bytes))
    }

    /// Fills a buffer with the bytes of entries that are there.
    pub(crate) fn read_entries(&self, first: u64, bytes: &mut [u8]) -> Result<(), Error> {
        match self.index.read_exact_at(bytes, position(first)) {
            Ok(()) => Ok(()),
            // They were there a moment ago: the tail was cut by a writer that came after.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.problem(first, TapeDamage::Short))
            }
            Err(source) => Err(self.io(SegmentFile::Index, source)),
        }
    }

    /// An entry, after its checksum and that of its bytes.
    pub(crate) fn check(&self, number: u64) -> Result<IndexEntry, Error> {
        let raw = self.raw(number)?;
        let entry = self.decode(number, raw)?;
        self.check_bytes(number, raw, &entry)?;
        Ok(entry)
    }

    /// What an entry says, unless it cannot be one.
    pub(crate) fn decode(&self, number: u64, raw: RawEntry) -> Result<IndexEntry, Error> {
        raw.decode().ok_or_else(|| self.problem(number, TapeDamage::Entry))
    }

    /// Checks an entry and its bytes without keeping them.
    pub(crate) fn check_bytes(
        &self,
        number: u64,
        raw: RawEntry,
        entry: &IndexEntry,
    ) -> Result<(), Error> {
        let mut hasher = raw.hasher();
        if let EntryBody::Payload { kind, at, len } = entry.body {
            let mut scratch = [0; CHECK_BUFFER_BYTES];
            let (mut at, end) = (u64::from(at), u64::from(at) + u64::from(len));
            while at < end {
                let part = &mut scratch[..CHECK_BUFFER_BYTES.min((end - at) as usize)];
                self.read_bytes(number, kind.place(), at, part)?;
                hasher.update(part);
                at += part.len() as u64;
            }
        }
        self.compare(number, raw, hasher.finalize())
    }

    /// Checks an entry against bytes that were read.
    pub(crate) fn check_against(
        &self,
        number: u64,
        raw: RawEntry,
        bytes: &[u8],
    ) -> Result<(), Error> {
        self.compare(number, raw, raw.checksum(bytes))
    }

    fn compare(&self, number: u64, raw: RawEntry, checksum: u32) -> Result<(), Error> {
        let holds = raw.written_checksum() == checksum;
        if holds { Ok(()) } else { Err(self.problem(number, TapeDamage::Checksum)) }
    }

    /// Fills a buffer with bytes that an entry speaks of.
    pub(crate) fn read_bytes(
        &self,
        number: u64,
        place: PayloadFile,
        at: u64,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let read = self.read_some(place, at, bytes)?;
        if read == bytes.len() { Ok(()) } else { Err(self.problem(number, TapeDamage::Short)) }
    }

    /// Fills a buffer as far as the file goes.
    pub(crate) fn read_some(
        &self,
        place: PayloadFile,
        at: u64,
        bytes: &mut [u8],
    ) -> Result<usize, Error> {
        let part = match place {
            PayloadFile::Output => SegmentFile::Output,
            PayloadFile::Side => SegmentFile::Side,
        };
        let mut done = 0;
        while done < bytes.len() {
            match self.file(part).read_at(&mut bytes[done..], at + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(self.io(part, source)),
            }
        }
        Ok(done)
    }

    /// How many of the first `count` entries the condition holds for, which must be true for some
    /// and then false for the rest.
    pub(crate) fn search(
        &self,
        count: u64,
        before: impl Fn(RawEntry) -> bool,
    ) -> Result<u64, Error> {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(self.raw(middle)?) { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Says that something is wrong with an entry.
    pub(crate) fn problem(&self, number: u64, damage: TapeDamage) -> Error {
        self.folder.problem(self.base, position(number), damage)
    }

    fn file(&self, part: SegmentFile) -> &File {
        match part {
            SegmentFile::Output => &self.output,
            SegmentFile::Side => &self.side,
            SegmentFile::Index => &self.index,
        }
    }

    fn io(&self, part: SegmentFile, source: io::Error) -> Error {
        Error::Io { path: self.folder.path(self.base, part), doing: "read it", source }
    }
}

/// Where an entry is in its index.
fn position(number: u64) -> u64 {
    IndexHeader::SIZE.saturating_add(number.saturating_mul(IndexEntry::SIZE))
}

/// The header of an index, if it is there. One that does not hold, with nothing after it, is taken
/// for one that was being written when the machine stopped.
fn header(folder: &TapeFolder, base: u64, index: &File) -> Result<Option<IndexHeader>, Error> {
    let path = || folder.path(base, SegmentFile::Index);
    let failed = |source| Error::Io { path: path(), doing: "read it", source };
    let mut bytes = [0; 32];
    match index.read_exact_at(&mut bytes, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    match IndexHeader::decode(&bytes) {
        Ok(header) if header.base == base && header.kept <= base => Ok(Some(header)),
        Err(HeaderError::Newer { version }) => {
            Err(Error::Newer { path: path(), version, known: TAPE_VERSION })
        }
        Err(HeaderError::Damaged)
            if index.metadata().map_err(failed)?.len() == IndexHeader::SIZE =>
        {
            Ok(None)
        }
        Ok(_) | Err(HeaderError::Damaged) => Err(folder.problem(base, 0, TapeDamage::Header)),
    }
}
