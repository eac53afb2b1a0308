//! The folder of a tape: the names of its files, and which segments are there.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::entry::MAX_OFFSET;
use crate::error::{Damage, Error, Problem};

const PREFIX: &str = "out.";
const DIGITS: usize = 20;

/// Where the files of a tape are.
#[derive(Clone, Debug)]
pub(crate) struct Folder(Arc<Path>);

/// A file of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Output,
    Side,
    Index,
}

impl Part {
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

impl Folder {
    pub(crate) fn new(dir: &Path) -> Self {
        Self(Arc::from(dir))
    }

    pub(crate) fn path(&self, base: u64, part: Part) -> PathBuf {
        self.0.join(format!("{PREFIX}{base:0DIGITS$}{}", part.suffix()))
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.0
    }

    /// Every file of a tape that is there, in order.
    pub(crate) fn files(&self) -> Result<Vec<(u64, Part)>, Error> {
        let failed = |source| self.error("list the folder", source);
        let mut files = Vec::new();
        for file in fs::read_dir(&self.0).map_err(failed)? {
            let name = file.map_err(failed)?.file_name();
            files.extend(name.to_str().and_then(parse));
        }
        files.sort_unstable_by_key(|(base, part)| (*base, *part as u8));
        Ok(files)
    }

    /// The bases of the segments that are there, in order.
    pub(crate) fn bases(&self) -> Result<Vec<u64>, Error> {
        let files = self.files()?;
        Ok(files.iter().filter(|(_, part)| *part == Part::Index).map(|(base, _)| *base).collect())
    }

    /// A file to read, if it is there.
    pub(crate) fn open(&self, base: u64, part: Part) -> Result<Option<File>, Error> {
        let path = self.path(base, part);
        match File::open(&path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Io { path, doing: "open it", source }),
        }
    }

    /// Deletes a segment, its index first: without it, the rest is nothing.
    pub(crate) fn remove(&self, base: u64) -> io::Result<()> {
        Part::ALL.iter().rev().try_for_each(|part| self.remove_file(base, *part))
    }

    /// Deletes a file that may be gone already.
    pub(crate) fn remove_file(&self, base: u64, part: Part) -> io::Result<()> {
        match fs::remove_file(self.path(base, part)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until the files of a segment are on the disk itself.
    pub(crate) fn sync(&self, base: u64) -> io::Result<()> {
        let sync = |part: &Part| File::open(self.path(base, *part))?.sync_data();
        Part::ALL.iter().try_for_each(sync)
    }

    /// Says that something is wrong with an index.
    pub(crate) fn problem(&self, base: u64, position: u64, damage: Damage) -> Error {
        Problem { path: self.path(base, Part::Index), position, damage }.into()
    }

    /// Says that the system refused something about the tape as a whole.
    pub(crate) fn error(&self, doing: &'static str, source: io::Error) -> Error {
        Error::Io { path: self.0.to_path_buf(), doing, source }
    }
}

/// The base and the part in a file's name, if it is a name that [`Folder::path`] gives.
fn parse(name: &str) -> Option<(u64, Part)> {
    let rest = name.strip_prefix(PREFIX)?;
    let (digits, suffix) = rest.split_at_checked(DIGITS)?;
    let part = Part::ALL.into_iter().find(|part| part.suffix() == suffix)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let base = digits.parse().ok().filter(|base| plain && *base <= MAX_OFFSET)?;
    Some((base, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_segment_and_the_part() {
        let folder = Folder::new(Path::new("/t"));
        for part in Part::ALL {
            for base in [0, 42, MAX_OFFSET] {
                let path = folder.path(base, part);
                let name = path.file_name().and_then(|name| name.to_str()).unwrap();
                assert_eq!(parse(name), Some((base, part)));
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
