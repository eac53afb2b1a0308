//! The folder of a tape: the names of its files, and which segments are there.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use coven_folder::{FileError, OFlags, absent_is_none};

use crate::entry::MAX_OFFSET;
use crate::error::{Error, TapeDamage, TapeProblem};

const SEGMENT_PREFIX: &str = "out.";
const OFFSET_DIGITS: usize = 20;

/// Where the files of a tape are. The program whose output they hold may write there too, so they
/// are reached from a handle and no link is followed.
#[derive(Clone, Debug)]
pub(crate) struct TapeFolder(coven_folder::OpenFolder);

/// A file of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentFile {
    Output,
    Side,
    Index,
}

impl SegmentFile {
    /// In the order in which they are created, so that a segment with an index has the others.
    pub(crate) const ALL: [Self; 3] = [Self::Output, Self::Side, Self::Index];

    fn suffix(self) -> &'static str {
        match self {
            Self::Output => "",
            Self::Side => ".side",
            Self::Index => ".idx",
        }
    }
}

impl TapeFolder {
    /// Opens the folder at an absolute path without links.
    pub(crate) fn open(dir: &Path) -> Result<Self, Error> {
        let opened = coven_folder::OpenFolder::open_without_links(dir);
        opened.map(Self).map_err(|error| Error::Io {
            path: dir.to_path_buf(),
            doing: "open the folder",
            source: error.into(),
        })
    }

    /// A folder that is open.
    pub(crate) fn new(folder: &coven_folder::OpenFolder) -> Self {
        Self(folder.clone())
    }

    pub(crate) fn path(&self, base: u64, part: SegmentFile) -> PathBuf {
        self.dir().join(name(base, part))
    }

    pub(crate) fn dir(&self) -> &Path {
        self.0.path()
    }

    /// A handle of its own, to lock.
    pub(crate) fn reopen(&self) -> Result<File, Error> {
        self.0.reopen().map_err(|error| self.error("open the folder", error.into()))
    }

    /// Every file of a tape that is there, in order.
    pub(crate) fn files(&self) -> Result<Vec<(u64, SegmentFile)>, Error> {
        let failed = |error: FileError| self.error("list the folder", error.into());
        let names = self.0.names().map_err(failed)?;
        let mut files: Vec<(u64, SegmentFile)> =
            names.iter().filter_map(|name| parse(name)).collect();
        files.sort_unstable_by_key(|(base, part)| (*base, *part as u8));
        Ok(files)
    }

    /// The bases of the segments that are there, in order.
    pub(crate) fn bases(&self) -> Result<Vec<u64>, Error> {
        let files = self.files()?;
        Ok(files
            .iter()
            .filter(|(_, part)| *part == SegmentFile::Index)
            .map(|(base, _)| *base)
            .collect())
    }

    /// A file to read, if it is there.
    pub(crate) fn file(&self, base: u64, part: SegmentFile) -> Result<Option<File>, Error> {
        let opened = absent_is_none(self.0.file(&name(base, part), OFlags::RDONLY));
        opened.map_err(|error| Error::Io {
            path: self.path(base, part),
            doing: "open it",
            source: error.into(),
        })
    }

    /// A new file to write. What was under its name, a leftover or a link, is not written to.
    pub(crate) fn create(&self, base: u64, part: SegmentFile) -> io::Result<File> {
        Ok(self.0.create_anew(&name(base, part))?)
    }

    /// A file that is there, to write.
    pub(crate) fn file_to_write(&self, base: u64, part: SegmentFile) -> io::Result<File> {
        Ok(self.0.file(&name(base, part), OFlags::WRONLY)?)
    }

    /// Whether there is such a file, as far as the system tells.
    pub(crate) fn has(&self, base: u64, part: SegmentFile) -> bool {
        self.0.stat(&name(base, part)).map_or(true, |found| found.is_some())
    }

    /// How long a file is; 0 if it is not there.
    pub(crate) fn size(&self, base: u64, part: SegmentFile) -> u64 {
        let found = self.0.stat(&name(base, part)).ok().flatten();
        found.map_or(0, |stat| stat.st_size as u64)
    }

    /// Deletes a segment, its index first: without it, the rest is nothing.
    pub(crate) fn remove(&self, base: u64) -> io::Result<()> {
        SegmentFile::ALL.iter().rev().try_for_each(|part| self.remove_file(base, *part))
    }

    /// Deletes every segment, the newest first.
    pub(crate) fn remove_all(&self) -> io::Result<()> {
        let files = self.files().map_err(io::Error::other)?;
        files.iter().rev().try_for_each(|(base, part)| self.remove_file(*base, *part))
    }

    /// Deletes a file that may be gone already.
    pub(crate) fn remove_file(&self, base: u64, part: SegmentFile) -> io::Result<()> {
        Ok(self.0.remove(&name(base, part))?)
    }

    /// Waits until the files of a segment are on the disk itself.
    pub(crate) fn sync(&self, base: u64) -> io::Result<()> {
        let sync = |part: &SegmentFile| -> io::Result<()> {
            self.0.file(&name(base, *part), OFlags::RDONLY)?.sync_data()
        };
        SegmentFile::ALL.iter().try_for_each(sync)
    }

    /// Says that something is wrong with an index.
    pub(crate) fn problem(&self, base: u64, position: u64, damage: TapeDamage) -> Error {
        TapeProblem { path: self.path(base, SegmentFile::Index), position, damage }.into()
    }

    /// Says that the system refused something about the tape as a whole.
    pub(crate) fn error(&self, doing: &'static str, source: io::Error) -> Error {
        Error::Io { path: self.dir().to_path_buf(), doing, source }
    }
}

/// The name of a file.
fn name(base: u64, part: SegmentFile) -> String {
    format!("{SEGMENT_PREFIX}{base:0OFFSET_DIGITS$}{}", part.suffix())
}

/// The base and the part in a file's name, if it is a name that [`name`] gives.
fn parse(name: &str) -> Option<(u64, SegmentFile)> {
    let rest = name.strip_prefix(SEGMENT_PREFIX)?;
    let (digits, suffix) = rest.split_at_checked(OFFSET_DIGITS)?;
    let part = SegmentFile::ALL.into_iter().find(|part| part.suffix() == suffix)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let base = digits.parse().ok().filter(|base| plain && *base <= MAX_OFFSET)?;
    Some((base, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_segment_and_the_part() {
        for part in SegmentFile::ALL {
            for base in [0, 42, MAX_OFFSET] {
                assert_eq!(parse(&name(base, part)), Some((base, part)));
            }
        }
    }

    #[test]
    fn other_names_are_none_of_a_tape() {
        for name in [
            "",
            "out.",
            "out.0",
            "out.0000000000000000000x",
            "out.+0000000000000000001",
            "out.99999999999999999999",
            "out.09999999999999999999",
            "out.00000000000000000000.idx.bak",
            "out.00000000000000000000.",
            "out.é0000000000000000000",
            "spawn.json",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
