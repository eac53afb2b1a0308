//! The segment that is written.

use std::io;

use super::disk::Disk;
use crate::entry::{Body, Entry, Kind, Place, Raw};
use crate::folder::{Folder, Part};
use crate::header::Header;

/// The three files of the newest segment.
#[derive(Debug)]
pub(super) struct Newest {
    pub(super) base: u64,
    output: Disk,
    side: Disk,
    index: Disk,
}

/// How much of each file counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    pub(super) output: u64,
    pub(super) side: u64,
    pub(super) index: u64,
}

impl Newest {
    /// Begins a segment. Where that fails, nothing of it stays.
    pub(super) fn create(folder: &Folder, base: u64, kept: u64) -> io::Result<Self> {
        Self::try_create(folder, base, kept).inspect_err(|_| {
            // A segment without a whole header is read as none, so this may fail.
            let _ = folder.remove(base);
        })
    }

    fn try_create(folder: &Folder, base: u64, kept: u64) -> io::Result<Self> {
        let create = |part| folder.create(base, part).map(Disk::new);
        let (output, side) = (create(Part::Output)?, create(Part::Side)?);
        let mut index = create(Part::Index)?;
        index.append(&Header { base, kept }.encode())?;
        Ok(Self { base, output, side, index })
    }

    /// Goes on with a segment, cut to these lengths: the index first, because it must never speak
    /// of bytes that are not there.
    pub(super) fn open(folder: &Folder, base: u64, lengths: Lengths) -> io::Result<Self> {
        let open = |part, len| Disk::cut_to(folder.file_to_write(base, part)?, len);
        let index = open(Part::Index, lengths.index)?;
        let side = open(Part::Side, lengths.side)?;
        let output = open(Part::Output, lengths.output)?;
        Ok(Self { base, output, side, index })
    }

    /// The size of the files together.
    pub(super) fn size(&self) -> u64 {
        self.output.len() + self.side.len() + self.index.len()
    }

    /// The body of an entry for so many bytes. Their place must be one that can be written down; a
    /// segment that cannot be left, because it has no output, ends there.
    pub(super) fn place(&self, kind: Kind, bytes: usize) -> io::Result<Body> {
        let at = match kind.place() {
            Place::Output => self.output.len(),
            Place::Side => self.side.len(),
        };
        match (u32::try_from(at), u32::try_from(bytes)) {
            (Ok(at), Ok(len)) if at.checked_add(len).is_some() => {
                Ok(Body::Payload { kind, at, len })
            }
            _ => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }

    /// Writes a record, and the gap before it in the same write, or nothing.
    pub(super) fn append(
        &mut self,
        gap: Option<&Entry>,
        entry: &Entry,
        bytes: &[u8],
    ) -> io::Result<()> {
        let (output, side) = (self.output.len(), self.side.len());
        match entry.place() {
            Some(Place::Output) => self.output.append(bytes)?,
            Some(Place::Side) => self.side.append(bytes)?,
            None => {}
        }
        let Raw(last) = entry.encode(bytes);
        let written = match gap {
            None => self.index.append(&last),
            Some(gap) => {
                let Raw(first) = gap.encode(&[]);
                let mut both = [0; 64];
                both[..32].copy_from_slice(&first);
                both[32..].copy_from_slice(&last);
                self.index.append(&both)
            }
        };
        written.inspect_err(|_| match entry.place() {
            Some(Place::Output) => self.output.cut(output),
            Some(Place::Side) => self.side.cut(side),
            None => {}
        })
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.output.sync()?;
        self.side.sync()?;
        self.index.sync()
    }
}
