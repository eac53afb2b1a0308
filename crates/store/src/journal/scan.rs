//! Going through a journal line by line: what holds, where it ends, and what is wrong with it.

use std::borrow::Borrow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use coven_folder::FileError;
use coven_model::Timestamp;

use super::error::{DamagedJournal, JournalDamage, OpenError};
use super::frame::{FrameEnvelope, FrameHeader, LineTrailer, split_line};
use super::{MAX_LINE, SEALED_VERSION, VERSION};
use crate::checkpoint::Checkpoint;
use crate::seal::{SealChain, SealKey};

/// How much is read at a time.
const SCAN_CHUNK_BYTES: usize = 256 * 1024;

/// How far apart the places are that are remembered for jumping to.
const MARK_STRIDE_BYTES: u64 = 64 * 1024;

/// A tail that was cut off. It was never synced, so no reader and no agent can depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutTail {
    /// Where the file ends now.
    pub offset: u64,
    /// How many bytes were cut off.
    pub bytes: u64,
}

/// Where a record begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordMark {
    pub(super) seq: u64,
    pub(super) offset: u64,
    /// The chain up to the line before.
    pub(super) chain: SealChain,
}

/// Some places of a journal, far enough apart to be few.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordMarks(Vec<RecordMark>);

impl RecordMarks {
    /// Remembers the place if the last one is far enough away.
    pub(super) fn add(&mut self, mark: RecordMark) {
        if self.0.last().is_none_or(|last| mark.offset >= last.offset + MARK_STRIDE_BYTES) {
            self.0.push(mark);
        }
    }

    /// The last place at or before a fact.
    pub(super) fn before(&self, seq: u64) -> Option<RecordMark> {
        let after = self.0.partition_point(|mark| mark.seq <= seq);
        self.0[..after].last().copied()
    }
}

/// The lines of a file between two offsets. Memory is bounded by the longest line.
#[derive(Debug)]
pub(crate) struct JournalLines<F> {
    file: F,
    buffer: Vec<u8>,
    /// What of the buffer is not handed out yet.
    from: usize,
    /// Where in the file that begins, and where to stop.
    offset: u64,
    end: u64,
}

pub(crate) enum ScannedLine<'a> {
    /// A line with its newline.
    Whole(&'a [u8]),
    /// Bytes without a newline, up to the end.
    Partial,
    /// More bytes without a newline than a line may have.
    TooLong,
    End,
}

impl<F: Borrow<File>> JournalLines<F> {
    pub(crate) fn new(file: F, offset: u64, end: u64) -> Self {
        Self { file, buffer: Vec::new(), from: 0, offset, end }
    }

    /// Where the next line begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn next(&mut self) -> io::Result<ScannedLine<'_>> {
        let mut searched = self.from;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                let line = self.from..searched + at + 1;
                self.from = line.end;
                self.offset += line.len() as u64;
                return Ok(ScannedLine::Whole(&self.buffer[line]));
            }
            let len = self.buffer.len() - self.from;
            if len >= MAX_LINE {
                return Ok(ScannedLine::TooLong);
            }
            self.buffer.drain(..self.from);
            (self.from, searched) = (0, len);
            if self.fill()? == 0 {
                return Ok(if len == 0 { ScannedLine::End } else { ScannedLine::Partial });
            }
        }
    }

    /// Reads more behind what there is; how much it was.
    fn fill(&mut self) -> io::Result<usize> {
        let len = self.buffer.len();
        let at = self.offset + len as u64;
        // A long line is read in ever larger pieces.
        let want =
            SCAN_CHUNK_BYTES.max(len).min(usize::try_from(self.end - at).unwrap_or(usize::MAX));
        self.buffer.resize(len + want, 0);
        let got = loop {
            match self.file.borrow().read_at(&mut self.buffer[len..], at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(len + *got.as_ref().unwrap_or(&0));
        got
    }
}

/// What a whole journal came to.
#[derive(Debug)]
pub(super) struct ScannedJournal {
    pub(super) marks: RecordMarks,
    /// The number of the last fact; 0 if there is none.
    pub(super) last: u64,
    /// When it was recorded.
    pub(super) time: Timestamp,
    /// Where its line ends.
    pub(super) end: u64,
    /// Where the file ends.
    pub(super) len: u64,
    /// The chain with the last fact.
    pub(super) chain: SealChain,
}

impl ScannedJournal {
    /// What does not count at the end.
    pub(super) fn cut(&self) -> Option<CutTail> {
        (self.end < self.len).then(|| CutTail { offset: self.end, bytes: self.len - self.end })
    }
}

/// Checks every line of a journal that is to be written to, and its seal.
pub(super) fn scan(
    file: &File,
    path: &Path,
    session: &str,
    key: &SealKey,
    checkpoint: Option<Checkpoint>,
) -> Result<ScannedJournal, OpenError> {
    let failed = |source| FileError::new("read", path, source);
    let len = file.metadata().map_err(failed)?.len();
    let mut lines = JournalLines::new(file, 0, len);
    let header = read_header(&mut lines, path)?;
    check_header(&header.header, path, session, key)?;
    let chain = header.chain(session);
    header.trailer.check(&chain, key).map_err(|damage| damaged(path, 0, 0, damage))?;
    let (end, time) = (lines.offset(), Timestamp::default());
    let marks = RecordMarks::default();
    let mut scanned = ScannedJournal { marks, last: 0, time, end, len, chain };
    let whole = |scanned: ScannedJournal| {
        if let Some(checkpoint) = checkpoint {
            checkpoint.check_reached(path, scanned.last, scanned.end)?;
        }
        Ok(scanned)
    };
    loop {
        let offset = lines.offset();
        let expected = scanned.last + 1;
        let damage = match lines.next().map_err(failed)? {
            ScannedLine::End | ScannedLine::Partial => return whole(scanned),
            ScannedLine::TooLong => JournalDamage::TooLong,
            ScannedLine::Whole(line) => match check_sealed(line, expected, &scanned.chain, key) {
                Ok((envelope, _)) if envelope.v > VERSION => {
                    let version = envelope.v;
                    return Err(OpenError::Newer { path: path.to_path_buf(), version });
                }
                // The same number with another tag: a journal of the same session, written twice.
                Ok((_, chain))
                    if checkpoint.is_some_and(|at| at.differs(expected, &chain, key)) =>
                {
                    JournalDamage::Seal
                }
                Ok((envelope, chain)) => {
                    scanned.time = envelope.time;
                    scanned.marks.add(RecordMark { seq: expected, offset, chain: scanned.chain });
                    (scanned.last, scanned.end) = (expected, lines.offset());
                    scanned.chain = chain;
                    continue;
                }
                Err(_) if is_torn(line, offset, len) => return whole(scanned),
                Err(damage) => damage,
            },
        };
        return Err(damaged(path, expected, offset, damage).into());
    }
}

/// Whether the first line is that of a journal that this key may go on with.
fn check_header(
    header: &FrameHeader,
    path: &Path,
    session: &str,
    key: &SealKey,
) -> Result<(), OpenError> {
    let path = path.to_path_buf();
    if header.v > VERSION {
        return Err(OpenError::Newer { path, version: header.v });
    }
    if header.session != session {
        let (expected, found) = (session.to_owned(), header.session.clone());
        return Err(OpenError::WrongSession { path, expected, found });
    }
    if header.v < SEALED_VERSION {
        return Err(OpenError::Unsealed { path });
    }
    if header.key.as_ref().is_some_and(|named| *named != key.public().to_string()) {
        return Err(OpenError::OtherKey { path });
    }
    Ok(())
}

/// The first line of a journal.
pub(super) struct HeaderLine {
    pub(super) header: FrameHeader,
    json: Vec<u8>,
    pub(super) trailer: LineTrailer,
}

impl HeaderLine {
    /// The chain that begins with it.
    pub(super) fn chain(&self, session: &str) -> SealChain {
        SealChain::begin(session).with(&self.json)
    }
}

/// Reads the first line. It is on the disk before the journal has its name, so it is never torn.
pub(super) fn read_header(
    lines: &mut JournalLines<&File>,
    path: &Path,
) -> Result<HeaderLine, OpenError> {
    let header = match lines.next().map_err(|source| FileError::new("read", path, source))? {
        ScannedLine::Whole(line) => FrameHeader::read(line).and_then(|header| {
            let (json, trailer) = split_line(line)?;
            Ok(HeaderLine { header, json: json.to_vec(), trailer })
        }),
        ScannedLine::Partial | ScannedLine::TooLong | ScannedLine::End => {
            Err(JournalDamage::Header)
        }
    };
    header.map_err(|_| damaged(path, 0, 0, JournalDamage::Header).into())
}

/// What a line says.
pub(super) struct CheckedLine<'a> {
    pub(super) json: &'a [u8],
    pub(super) envelope: FrameEnvelope,
    pub(super) trailer: LineTrailer,
}

/// The line of this fact. Its seal was not looked at.
pub(super) fn check(line: &[u8], expected: u64) -> Result<CheckedLine<'_>, JournalDamage> {
    let (json, trailer) = split_line(line)?;
    let envelope = FrameEnvelope::read(json)?;
    match envelope.seq {
        found if found == expected => Ok(CheckedLine { json, envelope, trailer }),
        found => Err(JournalDamage::Order { expected, found }),
    }
}

/// The envelope of the line of this fact, and the chain with it, which the key has sealed.
fn check_sealed(
    line: &[u8],
    expected: u64,
    chain: &SealChain,
    key: &SealKey,
) -> Result<(FrameEnvelope, SealChain), JournalDamage> {
    let CheckedLine { json, envelope, trailer } = check(line, expected)?;
    let chain = chain.with(json);
    trailer.check(&chain, key)?;
    Ok((envelope, chain))
}

/// Whether a line that does not hold may be left from a power cut: it is the last, and pages of it
/// never reached the disk. We write no NUL.
pub(super) fn is_torn(line: &[u8], offset: u64, len: u64) -> bool {
    offset + line.len() as u64 == len && memchr::memchr(0, line).is_some()
}

/// Damage in the line where fact `seq` should be.
pub(crate) fn damaged(path: &Path, seq: u64, offset: u64, damage: JournalDamage) -> DamagedJournal {
    // The header is the first line, so fact 1 is in the second.
    let (line, readable) = (seq + 1, seq.saturating_sub(1));
    DamagedJournal { path: path.to_path_buf(), line, offset, damage, readable }
}
