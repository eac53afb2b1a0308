//! Writing a journal: durable, whole or not at all, and never going on after a doubt.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_folder::{FileError, OpenFolder, OpenObstacle, best_effort, same_file};
use coven_model::{SessionId, Timestamp};
use rustix::fs::{FlockOperation, OFlags, Stat};
use rustix::io::Errno;
use serde::Serialize;

use super::error::{AppendError, CreateError, OpenError};
use super::frame::{self, EncodedRecord, FrameHeader, LinePlace, LineSeal};
use super::reader::JournalReader;
use super::scan::{CutTail, RecordMark, RecordMarks, ScannedJournal, scan};
use super::shared::{DurableEnd, DurableJournal};
use super::{FILE, MAX_LINE, disk};
use crate::checkpoint::Checkpoint;
use crate::seal::{SealChain, SealKey, SealTag};

/// The one writer of a journal. The file is locked as long as it lives.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    shared: DurableJournal,
    state: WriterState,
    cut: Option<CutTail>,
}

/// Facts that are in the file and not yet on the disk.
#[derive(Debug)]
#[must_use = "facts that are not synced are not recorded"]
pub(crate) struct WrittenFacts {
    seqs: Range<u64>,
    /// Where each of them begins.
    marks: Vec<RecordMark>,
    time: Timestamp,
    /// Where the file ends with them.
    end: u64,
    /// The chain with them.
    chain: SealChain,
}

/// Whether the journal may be written to.
#[derive(Debug)]
enum WriterState {
    Sound,
    /// A write or a sync failed in a way after which the file is not known.
    Poisoned(String),
}

/// What lies where the journal was opened.
#[derive(Debug)]
pub(crate) enum OpenedPath {
    Ours,
    /// Ours, and shorter than it was.
    Cut,
    Gone,
    Other,
}

impl Journal {
    /// Makes the journal of a new session in its folder.
    pub fn create(
        folder: &OpenFolder,
        session: &SessionId,
        key: &Arc<SealKey>,
    ) -> Result<Self, CreateError> {
        let path = folder.path().join(FILE);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let file = folder.file(FILE, flags).map_err(|error| match error.source.kind() {
            io::ErrorKind::AlreadyExists => CreateError::Exists { path: path.clone() },
            _ => CreateError::File(error),
        })?;
        let (header, chain) = FrameHeader::line(session, key);
        let written = || -> io::Result<()> {
            lock(&file)?;
            disk::write(&file, &header, 0)?;
            disk::sync(&file)
        };
        let synced = written().map_err(|source| folder.error("write", FILE, source));
        if let Err(error) = synced.and_then(|()| folder.sync()) {
            // A journal without its first line would be taken for a damaged one.
            best_effort("remove the journal that was not begun", folder.remove(FILE));
            return Err(error.into());
        }
        let (file, end, time) = (Arc::new(file), header.len() as u64, Timestamp::default());
        let (marks, key) = (RecordMarks::default(), Arc::clone(key));
        Ok(Self::new(path, DurableEnd { file, end, last: 0, time, marks, chain, key }, None))
    }

    /// Opens the journal of a session to go on with it. A torn tail is cut off, which
    /// [`cut`](Self::cut) tells; everything that is left is checked, sealed with this key, and on
    /// the disk.
    pub fn open(
        folder: &OpenFolder,
        session: &SessionId,
        key: &Arc<SealKey>,
    ) -> Result<Self, OpenError> {
        Self::open_from(folder, session, key, None)
    }

    /// The same, of a journal that must reach a checkpoint.
    pub(crate) fn open_from(
        folder: &OpenFolder,
        session: &SessionId,
        key: &Arc<SealKey>,
        checkpoint: Option<Checkpoint>,
    ) -> Result<Self, OpenError> {
        let path = folder.path().join(FILE);
        let file = folder.file(FILE, OFlags::RDWR).map_err(|error| match error.obstacle {
            OpenObstacle::Missing => OpenError::Missing { path: path.clone() },
            _ => OpenError::File(error),
        })?;
        match lock(&file) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(OpenError::InUse { path });
            }
            Err(source) => return Err(folder.error("lock", FILE, source).into()),
        }
        let scanned = scan(&file, &path, session.as_str(), key, checkpoint)?;
        let cut = scanned.cut();
        let failed = |source| folder.error("write", FILE, source);
        if let Some(CutTail { offset, .. }) = cut {
            disk::trim(&file, offset).map_err(failed)?;
        }
        // The last line may be there only because the system has not been switched off since it
        // was written. Nothing may follow from it before it is on the disk.
        disk::sync(&file).map_err(failed)?;
        let ScannedJournal { end, last, time, marks, chain, .. } = scanned;
        let (file, key) = (Arc::new(file), Arc::clone(key));
        Ok(Self::new(path, DurableEnd { file, end, last, time, marks, chain, key }, cut))
    }

    fn new(path: PathBuf, durable: DurableEnd, cut: Option<CutTail>) -> Self {
        Self { path, shared: DurableJournal::new(durable), state: WriterState::Sound, cut }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was cut off when it was opened.
    pub fn cut(&self) -> Option<CutTail> {
        self.cut
    }

    /// The number of the last fact; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.shared.lock().last
    }

    /// When the last fact was recorded; the beginning of time if there is none.
    pub fn last_time(&self) -> Timestamp {
        self.shared.lock().time
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.shared.lock().end
    }

    /// A reader of what is durable, which sees what is appended later too.
    pub fn reader(&self) -> JournalReader {
        JournalReader::shared(self.path.clone(), self.shared.clone())
    }

    /// Records facts, all with the same time, in one write and one sync. Returns their numbers.
    ///
    /// When this fails, none of them is recorded.
    pub fn append<T: Serialize>(
        &mut self,
        time: Timestamp,
        facts: &[T],
    ) -> Result<Range<u64>, AppendError> {
        let next = self.last() + 1;
        let encoded: Result<Vec<EncodedRecord>, AppendError> =
            facts.iter().zip(next..).map(|(fact, seq)| encode(fact, seq)).collect();
        self.append_encoded(time, &encoded?)
    }

    pub(crate) fn append_encoded(
        &mut self,
        time: Timestamp,
        facts: &[EncodedRecord],
    ) -> Result<Range<u64>, AppendError> {
        let written = self.write_encoded(time, facts, LineSeal::Tagged)?;
        self.sync_written(written)
    }

    /// Writes facts behind the last one. They are not recorded before
    /// [`sync_written`](Self::sync_written), and no reader sees them. If asked for, the last of
    /// them is signed.
    pub(crate) fn write_encoded(
        &mut self,
        time: Timestamp,
        facts: &[EncodedRecord],
        seal: LineSeal,
    ) -> Result<WrittenFacts, AppendError> {
        if let WriterState::Poisoned(why) = &self.state {
            let (path, why) = (self.path.clone(), why.clone());
            return Err(AppendError::Poisoned { path, why });
        }
        let (file, end) = self.durable();
        let last = self.last();
        let seqs = last + 1..last + 1 + facts.len() as u64;
        let (mut chain, key) = self.sealing();
        let mut bytes = Vec::new();
        let mut marks = Vec::with_capacity(facts.len());
        for (fact, seq) in facts.iter().zip(seqs.clone()) {
            let from = bytes.len();
            marks.push(RecordMark { seq, offset: end + from as u64, chain });
            let seal = if seq + 1 == seqs.end { seal } else { LineSeal::Tagged };
            let place = LinePlace { seq, time, chain, key: &key, seal };
            chain = frame::encode_record(&place, fact, &mut bytes)
                .map_err(|why| AppendError::Fact { seq, why })?;
            let len = bytes.len() - from;
            if len > MAX_LINE {
                return Err(AppendError::TooLong { seq, len });
            }
        }
        if let Err(source) = disk::write(&file, &bytes, end) {
            let source = FileError::new("write", &self.path, source);
            let Err(trim) = disk::trim(&file, end) else {
                return Err(AppendError::Write { seq: seqs.start, source });
            };
            let why = format!("{source}; and it could not be taken back: {trim}");
            self.state = WriterState::Poisoned(why);
            return Err(AppendError::Lost { seq: seqs.start, source });
        }
        Ok(WrittenFacts { seqs, marks, time, end: end + bytes.len() as u64, chain })
    }

    /// Puts written facts on the disk. They are recorded when this succeeds, and none of them is
    /// when it fails.
    pub(crate) fn sync_written(
        &mut self,
        written: WrittenFacts,
    ) -> Result<Range<u64>, AppendError> {
        let WrittenFacts { seqs, marks, time, end, chain } = written;
        if seqs.is_empty() {
            return Ok(seqs);
        }
        let (file, before) = self.durable();
        if let Err(source) = disk::sync(&file) {
            // The system may now believe that the pages are clean. They must not be read as facts
            // by the next process that opens the file, so they go; whether the disk follows is not
            // known.
            best_effort("cut off facts that were not synced", disk::trim(&file, before));
            let source = FileError::new("sync", &self.path, source);
            self.state = WriterState::Poisoned(source.to_string());
            return Err(AppendError::Lost { seq: seqs.start, source });
        }
        let mut durable = self.shared.lock();
        for mark in marks {
            durable.marks.add(mark);
        }
        (durable.end, durable.last, durable.time) = (end, seqs.end - 1, time);
        durable.chain = chain;
        Ok(seqs)
    }

    /// Makes sure again of what the file holds after a write or a sync failed in a way that left it
    /// in doubt: reads and checks it as opening it does, cuts off what was never recorded, and
    /// syncs it. Writing may go on if this succeeds.
    pub(crate) fn mend(&mut self, session: &SessionId) -> Result<(), OpenError> {
        if matches!(self.state, WriterState::Sound) {
            return Ok(());
        }
        let (file, end) = self.durable();
        let failed = |source| FileError::new("write", &self.path, source);
        // First, so that what was refused cannot be taken for a fact.
        disk::trim(&file, end).map_err(failed)?;
        disk::forget_cached(&file);
        let (chain, key) = self.sealing();
        let scanned = scan(&file, &self.path, session.as_str(), &key, None)?;
        if (scanned.end, scanned.last, scanned.chain) != (end, self.last(), chain) {
            let lost = io::Error::other("facts that were recorded are not there any more");
            return Err(failed(lost).into());
        }
        disk::sync(&file).map_err(failed)?;
        self.state = WriterState::Sound;
        Ok(())
    }

    /// Whether the file is still where it was opened.
    pub(crate) fn place(&self) -> Result<OpenedPath, FileError> {
        let failed = |errno: Errno| FileError::new("look at", &self.path, errno.into());
        let file = Arc::clone(&self.shared.lock().file);
        let ours: Stat = rustix::fs::fstat(&*file).map_err(failed)?;
        match rustix::fs::lstat(&self.path) {
            Ok(there) if same_file(&ours, &there) => Ok(match self.durable() {
                (_, end) if (ours.st_size as u64) < end => OpenedPath::Cut,
                _ => OpenedPath::Ours,
            }),
            Ok(_) => Ok(OpenedPath::Other),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(OpenedPath::Gone),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Writes all durable bytes to a new file in a folder, from the file that is still open though
    /// it may have no name any more, and goes on with that.
    pub(crate) fn move_to(&mut self, folder: &OpenFolder) -> Result<(), FileError> {
        let draft = format!("{FILE}.new");
        folder.remove(&draft)?;
        let copy = folder.file(&draft, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
        let (old, end) = self.durable();
        let copied = || -> io::Result<()> {
            lock(&copy)?;
            copy_bytes(&old, &copy, end)?;
            disk::sync(&copy)
        };
        copied().map_err(|source| folder.error("write", FILE, source))?;
        folder.rename(&draft, folder, FILE)?;
        folder.sync()?;
        self.shared.lock().file = Arc::new(copy);
        self.path = folder.path().join(FILE);
        Ok(())
    }

    /// Says that the folder of the journal has another name now.
    pub(crate) fn renamed(&mut self, folder: &OpenFolder) {
        self.path = folder.path().join(FILE);
    }

    /// The seal of the last fact, and the key that the next one is sealed with.
    fn sealing(&self) -> (SealChain, Arc<SealKey>) {
        let durable = self.shared.lock();
        (durable.chain, Arc::clone(&durable.key))
    }

    /// The last fact and its tag, which nothing but this journal can have.
    pub(crate) fn last_tag(&self) -> (u64, SealTag) {
        let durable = self.shared.lock();
        (durable.last, durable.key.tag(&durable.chain))
    }

    /// The file and how much of it is durable.
    fn durable(&self) -> (Arc<File>, u64) {
        let durable = self.shared.lock();
        (Arc::clone(&durable.file), durable.end)
    }

    /// Whether a file has nothing but what this journal has, from its beginning.
    pub(crate) fn begins_with(&self, other: &File) -> io::Result<bool> {
        let (file, end) = self.durable();
        let len = other.metadata()?.len();
        let (mut mine, mut theirs) = (vec![0; COPY_CHUNK_BYTES], vec![0; COPY_CHUNK_BYTES]);
        let mut at = 0;
        while at < len.min(end) {
            let want = COPY_CHUNK_BYTES
                .min(usize::try_from(len.min(end) - at).unwrap_or(COPY_CHUNK_BYTES));
            file.read_exact_at(&mut mine[..want], at)?;
            other.read_exact_at(&mut theirs[..want], at)?;
            if mine[..want] != theirs[..want] {
                return Ok(false);
            }
            at += want as u64;
        }
        Ok(len <= end)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Closing the file would not do: a reader may have it open too, and so may, for a moment,
        // a process that is just being started.
        let unlocked = rustix::fs::flock(&*self.durable().0, FlockOperation::Unlock);
        best_effort("unlock the journal", unlocked);
    }
}

/// How much is copied at a time.
const COPY_CHUNK_BYTES: usize = 256 * 1024;

fn copy_bytes(from: &File, to: &File, end: u64) -> io::Result<()> {
    let mut buffer = vec![0; COPY_CHUNK_BYTES];
    let mut at = 0;
    while at < end {
        let want = COPY_CHUNK_BYTES.min(usize::try_from(end - at).unwrap_or(COPY_CHUNK_BYTES));
        from.read_exact_at(&mut buffer[..want], at)?;
        disk::write(to, &buffer[..want], at)?;
        at += want as u64;
    }
    Ok(())
}

/// One fact as JSON. It may be longer than a line: its large values are put aside before it is one.
pub(crate) fn encode<T: Serialize>(fact: &T, seq: u64) -> Result<EncodedRecord, AppendError> {
    let json = serde_json::to_vec(fact)
        .map_err(|error| AppendError::Fact { seq, why: error.to_string() })?;
    Ok(EncodedRecord { json, ..EncodedRecord::default() })
}

/// Locks the file against every other writer, in this process or another.
fn lock(file: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)?)
}
