//! Opening a tape again after its writer ended, however it ended.

use std::collections::VecDeque;

use super::Older;
use super::newest::{Lengths, Newest};
use crate::entry::Entry;
use crate::error::{Damage, Error, Problem};
use crate::folder::{Folder, Part};
use crate::header::Header;
use crate::segment::{Opened, Segment};
use crate::walk::Walk;
use crate::window::Window;

/// What was cut off a tape because its writer was interrupted in the middle of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of output, whether or not a record spoke of them.
    pub output: u64,
    /// Bytes of input and marks.
    pub side: u64,
    /// Bytes of the index, of which each whole record has 32.
    pub index: u64,
}

/// A tape that can be gone on with.
pub(super) struct Recovered {
    pub(super) older: VecDeque<Older>,
    pub(super) newest: Newest,
    pub(super) end: u64,
    pub(super) time: u64,
    pub(super) cut: Cut,
}

pub(super) fn recover(folder: &Folder) -> Result<Recovered, Error> {
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
    let lengths = Lengths {
        output: walk.output,
        side: walk.side,
        index: Header::SIZE + walk.entries * Entry::SIZE,
    };
    let cut = Cut {
        output: segment.len(Part::Output)?.saturating_sub(lengths.output),
        side: segment.len(Part::Side)?.saturating_sub(lengths.side),
        index: segment.len(Part::Index)?.saturating_sub(lengths.index),
    };
    let newest = Newest::open(folder, segment.base, lengths)
        .map_err(|source| folder.error("open the tape for writing", source))?;
    let kept = bases.iter().filter(|base| (segment.kept..segment.base).contains(base));
    let older = kept.map(|base| Older { base: *base, size: size(folder, *base) }).collect();
    Ok(Recovered { older, newest, end: walk.offset, time, cut })
}

/// The newest segment that has a header.
fn newest_finished(folder: &Folder, bases: &[u64]) -> Result<Option<Segment>, Error> {
    for base in bases.iter().rev() {
        match Segment::open(folder, *base)? {
            Opened::Segment(segment) => return Ok(Some(segment)),
            Opened::Unfinished => {}
            Opened::Absent => return Err(folder.problem(*base, 0, Damage::Incomplete)),
        }
    }
    Ok(None)
}

fn begin_again(folder: &Folder, base: u64) -> Result<Recovered, Error> {
    clean(folder, base, base)?;
    let newest = Newest::create(folder, base, base)
        .map_err(|source| folder.error("open the tape for writing", source))?;
    Ok(Recovered { older: VecDeque::new(), newest, end: base, time: 0, cut: Cut::default() })
}

/// Follows a segment as far as it is whole. What comes after that must be a torn tail.
fn whole(segment: &Segment) -> Result<Walk, Error> {
    let count = segment.count()?;
    let mut window = Window::new(count);
    let mut walk = Walk::new(segment.base, 0);
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
fn is_torn(segment: &Segment, problem: &Problem, number: u64, count: u64) -> Result<bool, Error> {
    let short = match problem.damage {
        Damage::Short => segment.raw(number)?.decode(),
        _ => None,
    };
    // If only its bytes are missing, so must be those of all that came after them in the same file.
    // What came after them in the other file may have reached the disk.
    let may_follow = |entry: &Entry| {
        let beside = |short: Entry| entry.place() != short.place() && entry.offset >= short.end();
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
fn time_before(folder: &Folder, bases: &[u64], segment: &Segment) -> u64 {
    let before = bases.iter().rev().find(|base| **base < segment.base);
    let opened = before.map(|base| Segment::open(folder, *base));
    let Some(Ok(Opened::Segment(before))) = opened else { return 0 };
    let last = before.count().and_then(|count| before.check(count.saturating_sub(1)));
    last.map_or(0, |entry| entry.time)
}

/// Deletes what an interrupted writer left: segments that were to be dropped, one that was begun
/// and not finished, and files without an index.
fn clean(folder: &Folder, newest: u64, kept: u64) -> Result<(), Error> {
    let files = folder.files()?;
    let indexed = |base| files.contains(&(base, Part::Index));
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
fn size(folder: &Folder, base: u64) -> u64 {
    Part::ALL.iter().map(|part| folder.size(base, *part)).sum()
}
