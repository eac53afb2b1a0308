//! Checking a whole tape, for an audit.

use std::path::Path;

use crate::cursor::SegmentCursor;
use crate::entry::{EntryBody, IndexEntry, PayloadKind};
use crate::error::{Error, TapeDamage, TapeProblem};
use crate::folder::{SegmentFile, TapeFolder};
use crate::header::IndexHeader;
use crate::segment::{SegmentLookup, TapeSegment};
use crate::window::IndexWindow;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// How many segments there are.
    pub segments: u64,
    /// How many records hold.
    pub records: u64,
    /// How many bytes of output they have.
    pub output: u64,
    /// How many bytes of output were lost, and declared.
    pub lost: u64,
    /// How many bytes of output were dropped: all before the first segment.
    pub dropped: u64,
    /// Everything that is wrong, in the order of the files.
    pub problems: Vec<TapeProblem>,
}

/// Reads every byte of the tape in a folder and says what is wrong with it.
///
/// A tape that cannot be opened otherwise is looked at too; only a folder without a tape, and one
/// that cannot be read, are errors. A tape that is being written may show
/// [`Trailing`](TapeDamage::Trailing), [`Unfinished`](TapeDamage::Unfinished) or
/// [`Incomplete`](TapeDamage::Incomplete) at its end, which are gone the next time.
pub fn verify(dir: &Path) -> Result<VerifyReport, Error> {
    verify_telling(dir, &mut |_| {})
}

/// The same as [`verify()`], and tells after each record how many bytes of output were read.
pub fn verify_telling(dir: &Path, tell: &mut dyn FnMut(u64)) -> Result<VerifyReport, Error> {
    verify_folder(&TapeFolder::open(dir)?, tell)
}

pub(super) fn verify_folder(
    folder: &TapeFolder,
    tell: &mut dyn FnMut(u64),
) -> Result<VerifyReport, Error> {
    let files = folder.files()?;
    let bases =
        || files.iter().filter(|(_, part)| *part == SegmentFile::Index).map(|(base, _)| *base);
    let Some(first) = bases().next() else {
        return Err(Error::NoTape { dir: folder.dir().to_path_buf() });
    };
    let mut audit = VerifyPass {
        report: VerifyReport { dropped: first, ..VerifyReport::default() },
        last: None,
        tell,
    };
    for (base, part) in &files {
        if *part != SegmentFile::Index && !files.contains(&(*base, SegmentFile::Index)) {
            audit.add(folder.path(*base, *part), 0, TapeDamage::Incomplete);
        }
    }
    let mut kept = first;
    for base in bases() {
        if let Some(segment) = audit.open(folder, base)? {
            kept = segment.kept;
            audit.segment(folder, &segment)?;
        }
    }
    // What was dropped after the list was made is declared in a segment that is not on it.
    if first > kept && bases().next_back() == folder.bases()?.last().copied() {
        let path = folder.path(first, SegmentFile::Index);
        audit.add(path, 0, TapeDamage::Missing { from: kept, to: first });
    }
    Ok(audit.report)
}

/// An audit on its way.
struct VerifyPass<'a> {
    report: VerifyReport,
    /// Where the last segment ended, and its last time, unless that is not known.
    last: Option<(u64, u64)>,
    /// Is told how many bytes of output were read.
    tell: &'a mut dyn FnMut(u64),
}

impl VerifyPass<'_> {
    fn add(&mut self, path: std::path::PathBuf, position: u64, damage: TapeDamage) {
        self.report.problems.push(TapeProblem { path, position, damage });
    }

    /// A segment, if it can be read.
    fn open(&mut self, folder: &TapeFolder, base: u64) -> Result<Option<TapeSegment>, Error> {
        let path = folder.path(base, SegmentFile::Index);
        let damage = match TapeSegment::open(folder, base) {
            Ok(SegmentLookup::Segment(segment)) => return Ok(Some(segment)),
            Ok(SegmentLookup::Unfinished) => TapeDamage::Unfinished,
            // Dropped since the list was made.
            Ok(SegmentLookup::Absent) => return Ok(None),
            Err(Error::Newer { version, .. }) => TapeDamage::Newer { version },
            Err(Error::Damaged(problem)) => problem.damage,
            Err(error) => return Err(error),
        };
        self.add(path, 0, damage);
        self.last = None;
        Ok(None)
    }

    fn segment(&mut self, folder: &TapeFolder, segment: &TapeSegment) -> Result<(), Error> {
        self.report.segments += 1;
        match self.last {
            Some((end, _)) if end < segment.base => {
                let damage = TapeDamage::Missing { from: end, to: segment.base };
                self.add(folder.path(segment.base, SegmentFile::Index), 0, damage);
            }
            Some((end, _)) if end > segment.base => {
                self.add(folder.path(segment.base, SegmentFile::Index), 0, TapeDamage::Order);
            }
            _ => {}
        }
        let walk = self.entries(segment)?;
        let index = IndexHeader::SIZE + walk.entries * IndexEntry::SIZE;
        let claimed = [
            (SegmentFile::Output, walk.output),
            (SegmentFile::Side, walk.side),
            (SegmentFile::Index, index),
        ];
        for (part, claimed) in claimed {
            let bytes = segment.len(part)?.saturating_sub(claimed);
            if bytes > 0 {
                let path = folder.path(segment.base, part);
                self.add(path, claimed, TapeDamage::Trailing { bytes });
            }
        }
        self.last = Some((walk.offset, walk.time));
        Ok(())
    }

    /// Follows all entries of a segment, over those that do not hold.
    fn entries(&mut self, segment: &TapeSegment) -> Result<SegmentCursor, Error> {
        let count = segment.count()?;
        let mut window = IndexWindow::new(count);
        let mut walk = SegmentCursor::new(segment.base, self.last.map_or(0, |(_, time)| time));
        // After one that does not hold, it is not known where the next should begin.
        let mut lost_track = false;
        while walk.entries < count {
            let number = walk.entries;
            let stepped = if lost_track {
                segment.check(number).inspect(|entry| walk.advance_past(entry))
            } else {
                walk.step(segment, &mut window)
            };
            match stepped {
                Ok(entry) => {
                    lost_track = false;
                    self.count(&entry);
                }
                Err(Error::Damaged(problem)) => {
                    // One that only stands in the wrong place is looked at again for itself.
                    lost_track = true;
                    let again =
                        problem.damage == TapeDamage::Order && segment.check(number).is_ok();
                    self.report.problems.push(problem);
                    if !again {
                        walk.skip();
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(walk)
    }

    fn count(&mut self, entry: &IndexEntry) {
        self.report.records += 1;
        match entry.body {
            EntryBody::Payload { kind: PayloadKind::Output(_), len, .. } => {
                self.report.output += u64::from(len);
                (self.tell)(self.report.output);
            }
            EntryBody::Gap(gap) => self.report.lost = self.report.lost.saturating_add(gap.len),
            EntryBody::Payload { .. } | EntryBody::Resize { .. } => {}
        }
    }
}
