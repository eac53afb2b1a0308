//! Opening a tape again after its writer ended, however it ended.

use std::collections::VecDeque;

use super::ClosedSegment;
use super::newest::{FileLengths, NewestSegment};
use crate::cursor::SegmentCursor;
use crate::entry::IndexEntry;
use crate::error::{Error, TapeDamage, TapeProblem};
use crate::folder::{SegmentFile, TapeFolder};
use crate::header::IndexHeader;
use crate::segment::{SegmentLookup, TapeSegment};
use crate::window::IndexWindow;

/// What was cut off a tape because its writer was interrupted in the middle of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TruncatedTail {
    /// Bytes of output, whether or not a record spoke of them.
    pub output: u64,
    /// Bytes of input and marks.
    pub side: u64,
    /// Bytes of the index, of which each whole record has 32.
    pub index: u64,
}

/// A tape that can be gone on with.
pub(super) struct RecoveredTape {
    pub(super) older: VecDeque<ClosedSegment>,
    pub(super) newest: NewestSegment,
    pub(super) end: u64,
    pub(super) time: u64,
    pub(super) cut: TruncatedTail,
}

pub(super) fn recover(folder: &TapeFolder) -> Result<RecoveredTape, Error> {
    let bases = folder.bases()?;
    let Some(first) = bases.first() else {
        return Err(Error::NoTape { dir: folder.dir().to_path_buf() });
    };
    let Some(segment) = newest_finished(folder, &bases)? else {
        // Its writer did not even finish the first header.
        return begin_again(folder, *first);
    };
    let walk = whole(&segment)?;
    let time = if walk.entries > 0 { walk.time } else { time_before(folder, &bases, &segment) };
    // Everything is understood; from here on, files change.
    clean(folder, segment.base, segment.kept)?;
    let lengths = FileLengths {
        output: walk.output,
        side: walk.side,
        index: IndexHeader::SIZE + walk.entries * IndexEntry::SIZE,
    };
    let cut = TruncatedTail {
        output: segment.len(SegmentFile::Output)?.saturating_sub(lengths.output),
        side: segment.len(SegmentFile::Side)?.saturating_sub(lengths.side),
        index: segment.len(SegmentFile::Index)?.saturating_sub(lengths.index),
    };
    let newest = NewestSegment::open(folder, segment.base, lengths)
        .map_err(|source| folder.error("open the tape for writing", source))?;
    let kept = bases.iter().filter(|base| (segment.kept..segment.base).contains(base));
    let older = kept.map(|base| ClosedSegment { base: *base, size: size(folder, *base) }).collect();
    Ok(RecoveredTape { older, newest, end: walk.offset, time, cut })
}

/// The newest segment that has a header.
fn newest_finished(folder: &TapeFolder, bases: &[u64]) -> Result<Option<TapeSegment>, Error> {
    for base in bases.iter().rev() {
        match TapeSegment::open(folder, *base)? {
            SegmentLookup::Segment(segment) => return Ok(Some(segment)),
            SegmentLookup::Unfinished => {}
            SegmentLookup::Absent => return Err(folder.problem(*base, 0, TapeDamage::Incomplete)),
        }
    }
    Ok(None)
}

fn begin_again(folder: &TapeFolder, base: u64) -> Result<RecoveredTape, Error> {
    clean(folder, base, base)?;
    let newest = NewestSegment::create(folder, base, base)
        .map_err(|source| folder.error("open the tape for writing", source))?;
    Ok(RecoveredTape {
        older: VecDeque::new(),
        newest,
        end: base,
        time: 0,
        cut: TruncatedTail::default(),
    })
}

/// Follows a segment as far as it is whole. What comes after that must be a torn tail.
fn whole(segment: &TapeSegment) -> Result<SegmentCursor, Error> {
    let count = segment.count()?;
    let mut window = IndexWindow::new(count);
    let mut walk = SegmentCursor::new(segment.base, 0);
    while walk.entries < count {
        match walk.step(segment, &mut window) {
            Ok(_) => {}
            Err(Error::Damaged(problem)) if is_torn(segment, &problem, walk.entries, count)? => {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(walk)
}

/// Whether an entry that does not hold is where the writer was interrupted, and not a damaged place
/// with something whole behind it.
fn is_torn(
    segment: &TapeSegment,
    problem: &TapeProblem,
    number: u64,
    count: u64,
) -> Result<bool, Error> {
    let short = match problem.damage {
        TapeDamage::Short => segment.raw(number)?.decode(),
        _ => None,
    };
    // If only its bytes are missing, so must be those of all that came after them in the same file.
    // What came after them in the other file may have reached the disk.
    let may_follow = |entry: &IndexEntry| {
        let beside =
            |short: IndexEntry| entry.place() != short.place() && entry.offset >= short.end();
        short.is_some_and(beside)
    };
    for later in number + 1..count {
        match segment.check(later) {
            Ok(entry) if may_follow(&entry) => {}
            Ok(_) => return Ok(false),
            Err(Error::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The time of the last record before a segment that has none.
fn time_before(folder: &TapeFolder, bases: &[u64], segment: &TapeSegment) -> u64 {
    let before = bases.iter().rev().find(|base| **base < segment.base);
    let opened = before.map(|base| TapeSegment::open(folder, *base));
    let Some(Ok(SegmentLookup::Segment(before))) = opened else { return 0 };
    let last = before.count().and_then(|count| before.check(count.saturating_sub(1)));
    last.map_or(0, |entry| entry.time)
}

/// Deletes what an interrupted writer left: segments that were to be dropped, one that was begun
/// and not finished, and files without an index.
fn clean(folder: &TapeFolder, newest: u64, kept: u64) -> Result<(), Error> {
    let files = folder.files()?;
    let indexed = |base| files.contains(&(base, SegmentFile::Index));
    // Backwards, so that the index of a segment goes before its other files.
    for (base, part) in files.iter().rev() {
        if *base > newest || *base < kept || !indexed(*base) {
            let path = || folder.path(*base, *part);
            folder.remove_file(*base, *part).map_err(|source| Error::Io {
                path: path(),
                doing: "delete it",
                source,
            })?;
        }
    }
    Ok(())
}

/// The size of the files of a segment together.
fn size(folder: &TapeFolder, base: u64) -> u64 {
    SegmentFile::ALL.iter().map(|part| folder.size(base, *part)).sum()
}
