//! Checking a whole tape, for an audit.

use std::path::Path;

use crate::entry::{Body, Entry, Kind};
use crate::error::{Damage, Error, Problem};
use crate::folder::{Folder, Part};
use crate::header::Header;
use crate::segment::{Opened, Segment};
use crate::walk::Walk;
use crate::window::Window;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
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
    pub problems: Vec<Problem>,
}

/// Reads every byte of the tape in a folder and says what is wrong with it.
///
/// A tape that cannot be opened otherwise is looked at too; only a folder without a tape, and one
/// that cannot be read, are errors. A tape that is being written may show
/// [`Trailing`](Damage::Trailing), [`Unfinished`](Damage::Unfinished) or
/// [`Incomplete`](Damage::Incomplete) at its end, which are gone the next time.
pub fn verify(dir: &Path) -> Result<Report, Error> {
    verify_folder(&Folder::open(dir)?)
}

pub(super) fn verify_folder(folder: &Folder) -> Result<Report, Error> {
    let files = folder.files()?;
    let bases = || files.iter().filter(|(_, part)| *part == Part::Index).map(|(base, _)| *base);
    let Some(first) = bases().next() else {
        return Err(Error::NoTape { dir: folder.dir().to_path_buf() });
    };
    let mut audit = Audit { report: Report { dropped: first, ..Report::default() }, last: None };
    for (base, part) in &files {
        if *part != Part::Index && !files.contains(&(*base, Part::Index)) {
            audit.add(folder.path(*base, *part), 0, Damage::Incomplete);
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
        let path = folder.path(first, Part::Index);
        audit.add(path, 0, Damage::Missing { from: kept, to: first });
    }
    Ok(audit.report)
}

/// An audit on its way.
struct Audit {
    report: Report,
    /// Where the last segment ended, and its last time, unless that is not known.
    last: Option<(u64, u64)>,
}

impl Audit {
    fn add(&mut self, path: std::path::PathBuf, position: u64, damage: Damage) {
        self.report.problems.push(Problem { path, position, damage });
    }

    /// A segment, if it can be read.
    fn open(&mut self, folder: &Folder, base: u64) -> Result<Option<Segment>, Error> {
        let path = folder.path(base, Part::Index);
        let damage = match Segment::open(folder, base) {
            Ok(Opened::Segment(segment)) => return Ok(Some(segment)),
            Ok(Opened::Unfinished) => Damage::Unfinished,
            // Dropped since the list was made.
            Ok(Opened::Absent) => return Ok(None),
            Err(Error::Newer { version, .. }) => Damage::Newer { version },
            Err(Error::Damaged(problem)) => problem.damage,
            Err(error) => return Err(error),
        };
        self.add(path, 0, damage);
        self.last = None;
        Ok(None)
    }

    fn segment(&mut self, folder: &Folder, segment: &Segment) -> Result<(), Error> {
        self.report.segments += 1;
        match self.last {
            Some((end, _)) if end < segment.base => {
                let damage = Damage::Missing { from: end, to: segment.base };
                self.add(folder.path(segment.base, Part::Index), 0, damage);
            }
            Some((end, _)) if end > segment.base => {
                self.add(folder.path(segment.base, Part::Index), 0, Damage::Order);
            }
            _ => {}
        }
        let walk = self.entries(segment)?;
        let index = Header::SIZE + walk.entries * Entry::SIZE;
        let claimed = [(Part::Output, walk.output), (Part::Side, walk.side), (Part::Index, index)];
        for (part, claimed) in claimed {
            let bytes = segment.len(part)?.saturating_sub(claimed);
            if bytes > 0 {
                let path = folder.path(segment.base, part);
                self.add(path, claimed, Damage::Trailing { bytes });
            }
        }
        self.last = Some((walk.offset, walk.time));
        Ok(())
    }

    /// Follows all entries of a segment, over those that do not hold.
    fn entries(&mut self, segment: &Segment) -> Result<Walk, Error> {
        let count = segment.count()?;
        let mut window = Window::new(count);
        let mut walk = Walk::new(segment.base, self.last.map_or(0, |(_, time)| time));
        // After one that does not hold, it is not known where the next should begin.
        let mut lost_track = false;
        while walk.entries < count {
            let number = walk.entries;
            let stepped = if lost_track {
                segment.check(number).inspect(|entry| walk.pass(entry))
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
                    let again = problem.damage == Damage::Order && segment.check(number).is_ok();
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

    fn count(&mut self, entry: &Entry) {
        self.report.records += 1;
        match entry.body {
            Body::Payload { kind: Kind::Output(_), len, .. } => {
                self.report.output += u64::from(len);
            }
            Body::Gap(gap) => self.report.lost = self.report.lost.saturating_add(gap.len),
            Body::Payload { .. } | Body::Resize { .. } => {}
        }
    }
}
