//! Reading one segment: its entries, their bytes, and whether both are what was written.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use crate::entry::{Body, Entry, Place, Raw};
use crate::error::{Damage, Error};
use crate::folder::{Folder, Part};
use crate::header::{Header, Unreadable, VERSION};

/// How much of a payload is in memory while it is only checked.
const SCRATCH: usize = 8 * 1024;

/// A segment that is there. Its files stay readable when they are deleted.
#[derive(Debug)]
pub(crate) struct Segment {
    folder: Folder,
    pub(crate) base: u64,
    /// What the header says of the bytes before the tape.
    pub(crate) kept: u64,
    index: File,
    output: File,
    side: File,
}

/// What there is under the name of a segment.
pub(crate) enum Opened {
    Segment(Segment),
    /// The beginning of one: its writer is at it, or did not get further.
    Unfinished,
    /// Nothing: it has been dropped, or has not begun.
    Absent,
}

impl Segment {
    pub(crate) fn open(folder: &Folder, base: u64) -> Result<Opened, Error> {
        let Some(index) = folder.file(base, Part::Index)? else { return Ok(Opened::Absent) };
        let Some(Header { kept, .. }) = header(folder, base, &index)? else {
            return Ok(Opened::Unfinished);
        };
        let others = (folder.file(base, Part::Output)?, folder.file(base, Part::Side)?);
        if let (Some(output), Some(side)) = others {
            let folder = folder.clone();
            return Ok(Opened::Segment(Self { folder, base, kept, index, output, side }));
        }
        // The index is the last to come and the first to go.
        match folder.file(base, Part::Index)? {
            None => Ok(Opened::Absent),
            Some(_) => Err(folder.problem(base, 0, Damage::Incomplete)),
        }
    }

    /// How many whole entries there are now.
    pub(crate) fn count(&self) -> Result<u64, Error> {
        Ok(self.len(Part::Index)?.saturating_sub(Header::SIZE) / Entry::SIZE)
    }

    /// How long a file is now.
    pub(crate) fn len(&self, part: Part) -> Result<u64, Error> {
        let metadata = self.file(part).metadata();
        metadata.map(|metadata| metadata.len()).map_err(|source| self.io(part, source))
    }

    /// The bytes of an entry.
    pub(crate) fn raw(&self, number: u64) -> Result<Raw, Error> {
        let mut bytes = [0; 32];
        self.read_entries(number, &mut bytes)?;
        Ok(Raw(bytes))
    }

    /// Fills a buffer with the bytes of entries that are there.
    pub(crate) fn read_entries(&self, first: u64, bytes: &mut [u8]) -> Result<(), Error> {
        match self.index.read_exact_at(bytes, position(first)) {
            Ok(()) => Ok(()),
            // They were there a moment ago: the tail was cut by a writer that came after.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.problem(first, Damage::Short))
            }
            Err(source) => Err(self.io(Part::Index, source)),
        }
    }

    /// An entry, after its checksum and that of its bytes.
    pub(crate) fn check(&self, number: u64) -> Result<Entry, Error> {
        let raw = self.raw(number)?;
        let entry = self.decode(number, raw)?;
        self.check_bytes(number, raw, &entry)?;
        Ok(entry)
    }

    /// What an entry says, unless it cannot be one.
    pub(crate) fn decode(&self, number: u64, raw: Raw) -> Result<Entry, Error> {
        raw.decode().ok_or_else(|| self.problem(number, Damage::Entry))
    }

    /// Checks an entry and its bytes without keeping them.
    pub(crate) fn check_bytes(&self, number: u64, raw: Raw, entry: &Entry) -> Result<(), Error> {
        let mut hasher = raw.hasher();
        if let Body::Payload { kind, at, len } = entry.body {
            let mut scratch = [0; SCRATCH];
            let (mut at, end) = (u64::from(at), u64::from(at) + u64::from(len));
            while at < end {
                let part = &mut scratch[..SCRATCH.min((end - at) as usize)];
                self.read_bytes(number, kind.place(), at, part)?;
                hasher.update(part);
                at += part.len() as u64;
            }
        }
        self.compare(number, raw, hasher.finalize())
    }

    /// Checks an entry against bytes that were read.
    pub(crate) fn check_against(&self, number: u64, raw: Raw, bytes: &[u8]) -> Result<(), Error> {
        self.compare(number, raw, raw.checksum(bytes))
    }

    fn compare(&self, number: u64, raw: Raw, checksum: u32) -> Result<(), Error> {
        let holds = raw.written_checksum() == checksum;
        if holds { Ok(()) } else { Err(self.problem(number, Damage::Checksum)) }
    }

    /// Fills a buffer with bytes that an entry speaks of.
    pub(crate) fn read_bytes(
        &self,
        number: u64,
        place: Place,
        at: u64,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let read = self.read_some(place, at, bytes)?;
        if read == bytes.len() { Ok(()) } else { Err(self.problem(number, Damage::Short)) }
    }

    /// Fills a buffer as far as the file goes.
    pub(crate) fn read_some(
        &self,
        place: Place,
        at: u64,
        bytes: &mut [u8],
    ) -> Result<usize, Error> {
        let part = match place {
            Place::Output => Part::Output,
            Place::Side => Part::Side,
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
    pub(crate) fn search(&self, count: u64, before: impl Fn(Raw) -> bool) -> Result<u64, Error> {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(self.raw(middle)?) { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Says that something is wrong with an entry.
    pub(crate) fn problem(&self, number: u64, damage: Damage) -> Error {
        self.folder.problem(self.base, position(number), damage)
    }

    fn file(&self, part: Part) -> &File {
        match part {
            Part::Output => &self.output,
            Part::Side => &self.side,
            Part::Index => &self.index,
        }
    }

    fn io(&self, part: Part, source: io::Error) -> Error {
        Error::Io { path: self.folder.path(self.base, part), doing: "read it", source }
    }
}

/// Where an entry is in its index.
fn position(number: u64) -> u64 {
    Header::SIZE.saturating_add(number.saturating_mul(Entry::SIZE))
}

/// The header of an index, if it is there. One that does not hold, with nothing after it, is taken
/// for one that was being written when the machine stopped.
fn header(folder: &Folder, base: u64, index: &File) -> Result<Option<Header>, Error> {
    let path = || folder.path(base, Part::Index);
    let failed = |source| Error::Io { path: path(), doing: "read it", source };
    let mut bytes = [0; 32];
    match index.read_exact_at(&mut bytes, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    match Header::decode(&bytes) {
        Ok(header) if header.base == base && header.kept <= base => Ok(Some(header)),
        Err(Unreadable::Newer { version }) => {
            Err(Error::Newer { path: path(), version, known: VERSION })
        }
        Err(Unreadable::Damaged) if index.metadata().map_err(failed)?.len() == Header::SIZE => {
            Ok(None)
        }
        Ok(_) | Err(Unreadable::Damaged) => Err(folder.problem(base, 0, Damage::Header)),
    }
}
