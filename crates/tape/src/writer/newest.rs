//! The segment that is written.

use std::io;

use coven_folder::best_effort;

use super::disk::AppendFile;
use crate::entry::{EntryBody, IndexEntry, PayloadFile, PayloadKind, RawEntry};
use crate::folder::{SegmentFile, TapeFolder};
use crate::header::IndexHeader;

/// The three files of the newest segment.
#[derive(Debug)]
pub(super) struct NewestSegment {
    pub(super) base: u64,
    output: AppendFile,
    side: AppendFile,
    index: AppendFile,
}

/// How much of each file counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileLengths {
    pub(super) output: u64,
    pub(super) side: u64,
    pub(super) index: u64,
}

impl NewestSegment {
    /// Begins a segment. Where that fails, nothing of it stays.
    pub(super) fn create(folder: &TapeFolder, base: u64, kept: u64) -> io::Result<Self> {
        Self::try_create(folder, base, kept).inspect_err(|_| {
            // A segment without a whole header is read as none, so this may fail.
            best_effort("remove a segment that was not begun", folder.remove(base));
        })
    }

    fn try_create(folder: &TapeFolder, base: u64, kept: u64) -> io::Result<Self> {
        let create = |part| folder.create(base, part).map(AppendFile::new);
        let (output, side) = (create(SegmentFile::Output)?, create(SegmentFile::Side)?);
        let mut index = create(SegmentFile::Index)?;
        index.append(&IndexHeader { base, kept }.encode())?;
        Ok(Self { base, output, side, index })
    }

    /// Goes on with a segment, cut to these lengths: the index first, because it must never speak
    /// of bytes that are not there.
    pub(super) fn open(folder: &TapeFolder, base: u64, lengths: FileLengths) -> io::Result<Self> {
        let open = |part, len| AppendFile::cut_to(folder.file_to_write(base, part)?, len);
        let index = open(SegmentFile::Index, lengths.index)?;
        let side = open(SegmentFile::Side, lengths.side)?;
        let output = open(SegmentFile::Output, lengths.output)?;
        Ok(Self { base, output, side, index })
    }

    /// The size of the files together.
    pub(super) fn size(&self) -> u64 {
        self.output.len() + self.side.len() + self.index.len()
    }

    /// The body of an entry for so many bytes. Their place must be one that can be written down; a
    /// segment that cannot be left, because it has no output, ends there.
    pub(super) fn place(&self, kind: PayloadKind, bytes: usize) -> io::Result<EntryBody> {
        let at = match kind.place() {
            PayloadFile::Output => self.output.len(),
            PayloadFile::Side => self.side.len(),
        };
        match (u32::try_from(at), u32::try_from(bytes)) {
            (Ok(at), Ok(len)) if at.checked_add(len).is_some() => {
                Ok(EntryBody::Payload { kind, at, len })
            }
            _ => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }

    /// Writes a record, and the gap before it in the same write, or nothing.
    pub(super) fn append(
        &mut self,
        gap: Option<&IndexEntry>,
        entry: &IndexEntry,
        bytes: &[u8],
    ) -> io::Result<()> {
        let (output, side) = (self.output.len(), self.side.len());
        match entry.place() {
            Some(PayloadFile::Output) => self.output.append(bytes)?,
            Some(PayloadFile::Side) => self.side.append(bytes)?,
            None => {}
        }
        let RawEntry(last) = entry.encode(bytes);
        let written = match gap {
            None => self.index.append(&last),
            Some(gap) => {
                let RawEntry(first) = gap.encode(&[]);
                let mut both = [0; 64];
                both[..32].copy_from_slice(&first);
                both[32..].copy_from_slice(&last);
                self.index.append(&both)
            }
        };
        written.inspect_err(|_| match entry.place() {
            Some(PayloadFile::Output) => self.output.roll_back(output),
            Some(PayloadFile::Side) => self.side.roll_back(side),
            None => {}
        })
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.output.sync()?;
        self.side.sync()?;
        self.index.sync()
    }
}
