//! Writing a tape: appending, declaring what was lost, beginning new segments, dropping old ones.

mod disk;
mod newest;
mod recover;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use self::newest::NewestSegment;
pub use self::recover::TruncatedTail;
use crate::MAX_PAYLOAD;
use crate::entry::{EntryBody, IndexEntry, PayloadKind};
use crate::error::{Error, RecordingLoss};
use crate::folder::TapeFolder;
use crate::record::{GapReason, TapeGap, TapeStream};

/// Places within a file are written as 32 bits, and a segment may grow past its size in the end.
const MAX_SEGMENT: u64 = 1 << 30;

/// How large a tape may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A segment ends before its files are larger than this together, or larger than 1 GiB. A
    /// single record may be, and input without output begins no new segment.
    pub segment_size: u64,
    /// The oldest segments are dropped before all files together are larger than this. The two
    /// newest always stay.
    pub keep: u64,
}

impl Default for Options {
    /// Segments of 16 MiB, 1 GiB in all.
    fn default() -> Self {
        Self { segment_size: 16 << 20, keep: 1 << 30 }
    }
}

/// The writer of a tape.
///
/// Nothing is buffered: when a call returns, the kernel has the record and every reader sees it,
/// even if this process is killed. To survive the machine it needs [`sync`](Self::sync).
///
/// A call that cannot write says so with [`RecordingLoss`], and that is all: the bytes count as
/// written, and the next call that succeeds first declares the gap. Whether the caller wants to
/// know is up to the caller.
///
/// Times are microseconds since the start; one before that of the last record becomes that one.
#[derive(Debug)]
pub struct TapeWriter {
    folder: TapeFolder,
    options: Options,
    /// Held as long as the tape is: the lock that keeps other writers away.
    lock: File,
    older: VecDeque<ClosedSegment>,
    newest: NewestSegment,
    /// The logical offset after the last byte, lost or not.
    end: u64,
    /// The time of the last record.
    time: u64,
    /// What was lost and is not declared yet.
    lost: Option<PendingGap>,
}

/// Something to be written.
#[derive(Clone, Copy)]
enum NewRecord<'a> {
    Payload(PayloadKind, &'a [u8]),
    Resize { cols: u16, rows: u16 },
}

impl<'a> NewRecord<'a> {
    fn bytes(self) -> &'a [u8] {
        match self {
            Self::Payload(_, bytes) => bytes,
            Self::Resize { .. } => &[],
        }
    }
}

/// A gap that is to be declared.
#[derive(Clone, Copy, Debug)]
struct PendingGap {
    time: u64,
    offset: u64,
    gap: TapeGap,
}

impl PendingGap {
    fn entry(self) -> IndexEntry {
        IndexEntry { time: self.time, offset: self.offset, body: EntryBody::Gap(self.gap) }
    }
}

/// A segment that is no longer written.
#[derive(Clone, Copy, Debug)]
struct ClosedSegment {
    base: u64,
    /// Of its three files together.
    size: u64,
}

impl TapeWriter {
    /// Begins a tape in a folder that exists and holds none. Its path is absolute and without
    /// links. The files are readable for their owner only: what people type is among them.
    pub fn create(dir: &Path, options: Options) -> Result<Self, Error> {
        let folder = TapeFolder::open(dir)?;
        let lock = lock(&folder)?;
        if !folder.bases()?.is_empty() {
            return Err(Error::Exists { dir: dir.to_path_buf() });
        }
        let newest = NewestSegment::create(&folder, 0, 0)
            .map_err(|source| folder.error("create a tape here", source))?;
        let older = VecDeque::new();
        Ok(Self { folder, options, lock, older, newest, end: 0, time: 0, lost: None })
    }

    /// Goes on with the tape in a folder. What an interrupted writer left half done is cut off, and
    /// told; a tape that is damaged elsewhere is an error and stays as it is.
    ///
    /// A loss that the interrupted writer had no room to declare is forgotten, offsets included.
    pub fn append_to(dir: &Path, options: Options) -> Result<(Self, TruncatedTail), Error> {
        let folder = TapeFolder::open(dir)?;
        let lock = lock(&folder)?;
        let recover::RecoveredTape { older, newest, end, time, cut } = recover::recover(&folder)?;
        Ok((Self { folder, options, lock, older, newest, end, time, lost: None }, cut))
    }

    /// Records what the program wrote.
    pub fn output(
        &mut self,
        time: u64,
        stream: TapeStream,
        bytes: &[u8],
    ) -> Result<(), RecordingLoss> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(rest.len().min(MAX_PAYLOAD));
            if let Err(source) =
                self.append(time, NewRecord::Payload(PayloadKind::Output(stream), chunk))
            {
                // Without another try for what is after, so that the loss is in one piece.
                return Err(self.note_loss(time, rest.len() as u64, source));
            }
            self.end += chunk.len() as u64;
            rest = after;
        }
        Ok(())
    }

    /// Records what the program was sent.
    pub fn input(&mut self, time: u64, bytes: &[u8]) -> Result<(), RecordingLoss> {
        for chunk in bytes.chunks(MAX_PAYLOAD) {
            if let Err(source) = self.append(time, NewRecord::Payload(PayloadKind::Input, chunk)) {
                return Err(self.note_loss(time, 0, source));
            }
        }
        Ok(())
    }

    /// Records that the terminal has a new size.
    pub fn resize(&mut self, time: u64, cols: u16, rows: u16) -> Result<(), RecordingLoss> {
        self.append(time, NewRecord::Resize { cols, rows })
            .map_err(|source| self.note_loss(time, 0, source))
    }

    /// Records a note, cut to [`MAX_PAYLOAD`] bytes.
    pub fn mark(&mut self, time: u64, label: &str) -> Result<(), RecordingLoss> {
        let label = &label[..label.floor_char_boundary(MAX_PAYLOAD)];
        self.append(time, NewRecord::Payload(PayloadKind::Mark, label.as_bytes()))
            .map_err(|source| self.note_loss(time, 0, source))
    }

    /// The logical offset after everything the program wrote, lost or not.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Waits until everything so far is on the disk itself, after declaring a loss that is still to
    /// be declared.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.declare()
            .and_then(|()| self.older.iter().try_for_each(|older| self.folder.sync(older.base)))
            .and_then(|()| self.newest.sync())
            // The names of the files are in the folder, which is a file of its own.
            .and_then(|()| self.lock.sync_all())
            .map_err(|source| self.folder.error("sync the tape", source))
    }

    /// Whether something was lost that the tape does not say yet.
    pub fn has_undeclared_loss(&self) -> bool {
        self.lost.is_some()
    }

    /// Declares a loss that is still to be declared, if the disk takes it by now.
    pub fn declare_loss(&mut self) -> Result<(), Error> {
        self.declare().map_err(|source| self.folder.error("declare a loss on the tape", source))
    }

    /// Writes a record, after the gap that is to be declared before it, if there is one.
    fn append(&mut self, time: u64, new: NewRecord<'_>) -> io::Result<()> {
        if self.is_full(new.bytes().len() as u64) {
            self.rotate()?;
        }
        let body = match new {
            NewRecord::Payload(kind, bytes) => self.newest.place(kind, bytes.len())?,
            NewRecord::Resize { cols, rows } => EntryBody::Resize { cols, rows },
        };
        let entry = IndexEntry { time: time.max(self.time), offset: self.end, body };
        let gap = self.lost.map(PendingGap::entry);
        self.newest.append(gap.as_ref(), &entry, new.bytes())?;
        self.lost = None;
        self.time = entry.time;
        Ok(())
    }

    fn declare(&mut self) -> io::Result<()> {
        if let Some(loss) = self.lost {
            self.newest.append(None, &loss.entry(), &[])?;
            self.lost = None;
        }
        Ok(())
    }

    /// Notes a loss of output, or of one record that is none.
    fn note_loss(&mut self, time: u64, bytes: u64, source: io::Error) -> RecordingLoss {
        let offset = self.end;
        self.time = self.time.max(time);
        let gap = TapeGap { len: 0, events: 0, reason: GapReason::of(&source) };
        let loss = self.lost.get_or_insert(PendingGap { time: self.time, offset, gap });
        loss.gap.len += bytes;
        loss.gap.events = loss.gap.events.saturating_add(u16::from(bytes == 0));
        self.end += bytes;
        RecordingLoss { offset, bytes, source }
    }

    /// Whether the newest segment should end before a record with this many bytes.
    fn is_full(&self, bytes: u64) -> bool {
        let size = self.newest.size() + IndexEntry::SIZE + bytes;
        size > self.options.segment_size.min(MAX_SEGMENT) && self.next_base() > self.newest.base
    }

    /// Where the next segment begins: with what is lost, if something is, so that the gap is its
    /// first record.
    fn next_base(&self) -> u64 {
        self.lost.map_or(self.end, |loss| loss.offset)
    }

    /// Begins a new segment and drops the oldest for it, if there are too many.
    fn rotate(&mut self) -> io::Result<()> {
        let base = self.next_base();
        let due = self.segments_to_drop();
        let kept = self.older.get(due).map_or(self.newest.base, |older| older.base);
        // The new segment declares what is dropped, so it comes first, unless there is no room.
        let next = match NewestSegment::create(&self.folder, base, kept) {
            Err(_) if due > 0 => {
                self.drop_oldest(due);
                NewestSegment::create(&self.folder, base, kept)?
            }
            created => {
                let created = created?;
                self.drop_oldest(due);
                created
            }
        };
        self.older.push_back(ClosedSegment { base: self.newest.base, size: self.newest.size() });
        self.newest = next;
        Ok(())
    }

    /// How many of the older segments must go before there may be another one.
    fn segments_to_drop(&self) -> usize {
        let older: u64 = self.older.iter().map(|older| older.size).sum();
        let mut size = older + self.newest.size() + self.options.segment_size;
        let too_many = self.older.iter().take_while(|older| {
            let too_large = size > self.options.keep;
            size -= older.size;
            too_large
        });
        too_many.count()
    }

    fn drop_oldest(&mut self, due: usize) {
        for _ in 0..due {
            // One that cannot be deleted stays first in line for the next time.
            let Some(oldest) = self.older.front() else { return };
            if self.folder.remove(oldest.base).is_err() {
                return;
            }
            self.older.pop_front();
        }
    }
}

/// Keeps other writers away until the file is closed, by whatever end of this process. Where the
/// file system has no locks the caller's care must do.
pub(crate) fn lock(folder: &TapeFolder) -> Result<File, Error> {
    let dir = folder.reopen()?;
    match dir.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::Locked { dir: folder.dir().to_path_buf() }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(dir),
    }
}
