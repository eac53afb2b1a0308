//! What is in the folder of a tree: every file that git would track, and what cannot be held. git is
//! asked only what is ignored; the folder is walked here, because git looks into the repositories
//! that it finds in it and leaves their files out.

use std::collections::HashSet;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::Mirror;
use super::stat_cache::Stamp;
use crate::tree_files::TreeRoot;
use crate::{Error, fields, path_of};

/// How deep folders are followed: each level holds a file descriptor open.
const MAX_DEPTH: usize = 200;

/// In how many nested repositories git is asked for what is ignored; in more than that, nothing is
/// ignored, so that a tree full of empty repositories does not start a process for each.
const MAX_NESTED_ASKED: usize = 100;

/// Something in the folder of a tree that a checkpoint does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotHeld {
    /// Relative to the tree.
    pub path: PathBuf,
    pub reason: NotHeldReason,
}

/// Why something is not held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotHeldReason {
    /// A socket, pipe or device: it has no content.
    Special,
    /// It could not be read; with the words of the system.
    Unreadable(String),
    /// The files of a submodule that is checked out. The commit that the tree has for it is kept.
    Submodule,
    /// A name that a tree of git cannot have, such as `.GIT`.
    Name,
    /// Folders in folders beyond what is followed.
    TooDeep,
}

pub(super) struct FoundFile {
    pub(super) path: Vec<u8>,
    pub(super) kind: FileKind,
    pub(super) stamp: Stamp,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Plain { executable: bool },
    Link,
}

#[derive(Default)]
pub(super) struct Walked {
    pub(super) files: Vec<FoundFile>,
    pub(super) submodules: HashSet<Vec<u8>>,
    pub(super) not_held: Vec<NotHeld>,
    /// Files and folders that were passed by because they are ignored.
    pub(super) ignored: Vec<Vec<u8>>,
    /// Folders that have a `.git`, but for the top folder.
    pub(super) repositories: Vec<Vec<u8>>,
}

struct Walk<'a> {
    mirror: &'a Mirror,
    root: &'a Path,
    /// Paths that are submodules.
    gitlinks: &'a HashSet<Vec<u8>>,
    ignored: HashSet<Vec<u8>>,
    nested_asked: usize,
    found: Walked,
}

impl Mirror {
    /// Everything below a tree that is not ignored. `index` has what is tracked, which is never
    /// ignored.
    pub(super) fn walk(
        &self,
        root: &Path,
        index: &Path,
        gitlinks: &HashSet<Vec<u8>>,
    ) -> Result<Walked, Error> {
        let handle = TreeRoot::open(root).map_err(|error| Error::io("open", root, error))?;
        let ignored = self.ignored(root, index)?.into_iter().collect();
        let found = Walked::default();
        let mut walk = Walk { mirror: self, root, gitlinks, ignored, nested_asked: 0, found };
        walk.folder(handle.handle(), &[], 0)?;
        Ok(walk.found)
    }

    /// Files and whole folders that are ignored, relative to `root`.
    pub(super) fn ignored(&self, root: &Path, index: &Path) -> Result<Vec<Vec<u8>>, Error> {
        let line = self.line().cwd(root).env("GIT_WORK_TREE", root).env("GIT_INDEX_FILE", index);
        let line = line.args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]);
        let output = self.git.read(line.arg("--directory"))?;
        Ok(fields(&output).map(|path| path.strip_suffix(b"/").unwrap_or(path).to_vec()).collect())
    }
}

impl Walk<'_> {
    fn folder(&mut self, handle: BorrowedFd<'_>, path: &[u8], depth: usize) -> Result<(), Error> {
        let entries = Dir::read_from(handle).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                self.skip(path, unreadable(error));
                return Ok(());
            }
        };
        let mut names: Vec<Vec<u8>> =
            entries.iter().map(|entry| entry.file_name().to_bytes().to_vec()).collect();
        names.retain(|name| name != b"." && name != b"..");
        names.sort();
        if !path.is_empty() && names.iter().any(|name| name == b".git") {
            self.found.repositories.push(path.to_vec());
            self.ignore_as_nested(path)?;
        }
        for name in names {
            if name == b".git" {
                continue;
            }
            let below = join(path, &name);
            if self.ignored.contains(&below) {
                self.found.ignored.push(below);
                continue;
            }
            if name.eq_ignore_ascii_case(b".git") {
                self.skip(&below, NotHeldReason::Name);
                continue;
            }
            self.entry(handle, &name, below, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: Vec<u8>,
        depth: usize,
    ) -> Result<(), Error> {
        let name = std::ffi::OsStr::from_bytes(name);
        let stat = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // Gone since the folder was listed.
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => {
                self.skip(&path, unreadable(error));
                return Ok(());
            }
        };
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::Plain { executable: stat.st_mode & 0o100 != 0 },
            FileType::Symlink => FileKind::Link,
            FileType::Directory => {
                match open_folder(parent, name) {
                    _ if depth >= MAX_DEPTH => self.skip(&path, NotHeldReason::TooDeep),
                    Err(error) => self.skip(&path, unreadable(error)),
                    Ok(folder) if self.gitlinks.contains(&path) => {
                        self.submodule(&folder, path, depth)?;
                    }
                    Ok(folder) => {
                        self.folder(rustix::fd::AsFd::as_fd(&folder), &path, depth + 1)?;
                    }
                }
                return Ok(());
            }
            _ => {
                self.skip(&path, NotHeldReason::Special);
                return Ok(());
            }
        };
        self.found.files.push(FoundFile { path, kind, stamp: stamp(&stat) });
        Ok(())
    }

    /// A submodule that was checked out has a repository of its own. In the folder of any other, what
    /// is there are files like all others, which are nowhere else.
    fn submodule(&mut self, folder: &OwnedFd, path: Vec<u8>, depth: usize) -> Result<(), Error> {
        if statat(folder, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            self.skip(&path, NotHeldReason::Submodule);
            self.found.repositories.push(path.clone());
            self.found.submodules.insert(path);
            return Ok(());
        }
        let before = self.found.files.len();
        self.folder(rustix::fd::AsFd::as_fd(folder), &path, depth + 1)?;
        if self.found.files.len() == before {
            self.found.submodules.insert(path);
        }
        Ok(())
    }

    /// Adds what a nested repository ignores by its own rules. git is told that the nested folder is
    /// the work tree of the mirror, so that it does not open the repository there.
    fn ignore_as_nested(&mut self, path: &[u8]) -> Result<(), Error> {
        self.nested_asked += 1;
        if self.nested_asked > MAX_NESTED_ASKED {
            return Ok(());
        }
        let root = self.root.join(path_of(path));
        let nothing = self.mirror.path.join("no-index");
        match self.mirror.ignored(&root, &nothing) {
            Ok(ignored) => {
                self.ignored.extend(ignored.into_iter().map(|below| join(path, &below)));
                Ok(())
            }
            // The folder was changed meanwhile: nothing is ignored, and more is held.
            Err(Error::Failed { .. } | Error::Start { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn skip(&mut self, path: &[u8], reason: NotHeldReason) {
        self.found.not_held.push(NotHeld { path: path_of(path), reason });
    }
}

pub(super) fn open_folder(
    parent: BorrowedFd<'_>,
    name: &std::ffi::OsStr,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

fn unreadable(error: Errno) -> NotHeldReason {
    NotHeldReason::Unreadable(std::io::Error::from(error).to_string())
}

pub(super) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

#[allow(clippy::unnecessary_cast, reason = "the types differ from system to system")]
pub(super) fn stamp(stat: &Stat) -> Stamp {
    Stamp {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: stat.st_size as u64,
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}
