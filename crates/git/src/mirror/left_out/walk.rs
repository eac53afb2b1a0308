//! The files below an ignored path, up to a limit, without what can be made again.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

use super::super::walk::{FileKind, FoundFile, join, open_folder, stamp};
use super::made_with::MadeWith;
use super::{MAX_LEFT_OUT_BYTES, MAX_LEFT_OUT_FILES};
use crate::tree_files::TreeRoot;
use crate::{Error, path_of};

/// How deep folders are followed: each level holds a file descriptor open.
const MAX_DEPTH: usize = 200;

/// Folders that package managers and build tools make anew. Any other says so with a file
/// `CACHEDIR.TAG` (<https://bford.info/cachedir/>).
const BUILD_OUTPUT: [&str; 10] = [
    "node_modules",
    "bower_components",
    "target",
    "__pycache__",
    ".venv",
    ".tox",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
];

/// What a file `CACHEDIR.TAG` begins with.
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

#[derive(Default)]
pub(super) struct Collected {
    pub(super) files: Vec<FoundFile>,
    pub(super) too_large: Vec<PathBuf>,
    pub(super) build_output: Vec<PathBuf>,
    /// Folders that have a `.git`.
    pub(super) repositories: Vec<Vec<u8>>,
    pub(super) unreadable: Vec<PathBuf>,
}

pub(super) struct Collector<'a> {
    tree: TreeRoot,
    made: &'a MadeWith,
    limited: bool,
    bytes: u64,
    found: Collected,
}

/// Whether a limit was reached.
struct IsFull;

impl<'a> Collector<'a> {
    pub(super) fn open(tree: &Path, made: &'a MadeWith) -> Result<Self, Error> {
        let root = TreeRoot::open(tree).map_err(|error| Error::io("open", tree, error))?;
        Ok(Self { tree: root, made, limited: true, bytes: 0, found: Collected::default() })
    }

    pub(super) fn without_limits(mut self) -> Self {
        self.limited = false;
        self
    }

    pub(super) fn done(self) -> Collected {
        self.found
    }

    /// Collects what is at a path and below it: all of it, or nothing if that is too much. Says whether
    /// there is something that was not there when the tree was made.
    pub(super) fn root(&mut self, path: &[u8]) -> Result<bool, Error> {
        let (files, bytes) = (self.found.files.len(), self.bytes);
        let tree = self.tree.handle().try_clone_to_owned();
        let tree = tree.map_err(|error| Error::io("open", path_of(path), error))?;
        let (parents, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&path[..0], path),
        };
        let mut folder = tree;
        for part in parents.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            match open_folder(folder.as_fd(), OsStr::from_bytes(part)) {
                Ok(next) => folder = next,
                // Gone since it was listed, or not what it was.
                Err(_) => return Ok(false),
            }
        }
        if self.entry(folder.as_fd(), name, path.to_vec(), 0).is_err() {
            self.found.files.truncate(files);
            self.bytes = bytes;
            self.found.too_large.push(path_of(path));
            return Ok(true);
        }
        Ok(self.found.files.len() > files)
    }

    fn entry(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: Vec<u8>,
        depth: usize,
    ) -> Result<(), IsFull> {
        let name = OsStr::from_bytes(name);
        let stat = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(_) => {
                self.found.unreadable.push(path_of(&path));
                return Ok(());
            }
        };
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::Plain { executable: stat.st_mode & 0o100 != 0 },
            FileType::Symlink => FileKind::Link,
            FileType::Directory => return self.folder(parent, name, &path, depth),
            // A socket, pipe or device has no content.
            _ => return Ok(()),
        };
        let stamp = stamp(&stat);
        if self.made.files.get(&path) == Some(&stamp) {
            return Ok(());
        }
        self.bytes = self.bytes.saturating_add(stamp.size);
        self.found.files.push(FoundFile { path, kind, stamp });
        let is_full =
            self.found.files.len() > MAX_LEFT_OUT_FILES || self.bytes > MAX_LEFT_OUT_BYTES;
        if is_full && self.limited { Err(IsFull) } else { Ok(()) }
    }

    fn folder(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        path: &[u8],
        depth: usize,
    ) -> Result<(), IsFull> {
        if is_build_output(name) {
            self.found.build_output.push(path_of(path));
            return Ok(());
        }
        let opened = if depth < MAX_DEPTH { open_folder(parent, name).ok() } else { None };
        let Some(folder) = opened else {
            self.found.unreadable.push(path_of(path));
            return Ok(());
        };
        if is_cache(folder.as_fd()) {
            self.found.build_output.push(path_of(path));
            return Ok(());
        }
        let entries = Dir::read_from(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let Ok(entries) = entries else {
            self.found.unreadable.push(path_of(path));
            return Ok(());
        };
        let mut names: Vec<Vec<u8>> =
            entries.iter().map(|entry| entry.file_name().to_bytes().to_vec()).collect();
        names.retain(|name| name != b"." && name != b"..");
        names.sort();
        for name in names {
            if name == b".git" {
                self.found.repositories.push(path.to_vec());
                continue;
            }
            self.entry(folder.as_fd(), &name, join(path, &name), depth + 1)?;
        }
        Ok(())
    }
}

fn is_build_output(name: &OsStr) -> bool {
    BUILD_OUTPUT.iter().any(|known| name == *known)
}

fn is_cache(folder: BorrowedFd<'_>) -> bool {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(tag) = openat(folder, "CACHEDIR.TAG", flags, Mode::empty()) else { return false };
    let mut begin = Vec::new();
    let file = std::fs::File::from(tag);
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file
        && file.take(CACHE_SIGNATURE.len() as u64).read_to_end(&mut begin).is_ok()
        && begin == CACHE_SIGNATURE
}
