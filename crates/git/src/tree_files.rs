//! Files below a folder, reached one name at a time from a handle, so that no symbolic link leads
//! out of it, whenever it was put there.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, readlinkat, statat, symlinkat};
use rustix::io::Errno;

/// A folder that is held open.
#[derive(Debug)]
pub(crate) struct TreeRoot(OwnedFd);

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl TreeRoot {
    /// Opens a folder by a path that the caller vouches for; its last name is no link.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, FOLDER, Mode::empty())?))
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Opens a plain file for reading. Anything else, and a link anywhere on the way, is an error.
    pub(crate) fn read(&self, path: &Path) -> io::Result<File> {
        let (parent, name) = self.parent(path, false)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&parent, name, flags, Mode::empty())?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"))
        }
    }

    /// The target of a symbolic link.
    pub(crate) fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (parent, name) = self.parent(path, false)?;
        Ok(readlinkat(&parent, name, Vec::new())?.into_bytes())
    }

    /// Whether something, be it a dead link, is at a path. An error on the way counts as something.
    pub(crate) fn is_taken(&self, path: &Path) -> bool {
        match self.parent(path, false) {
            Ok((parent, name)) => {
                !matches!(statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
            }
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Creates a file that is not there, with the folders on the way.
    pub(crate) fn create(&self, path: &Path, mode: u32) -> io::Result<File> {
        let (parent, name) = self.parent(path, true)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        // Readable by its owner alone until it has its bytes and its mode.
        let file = openat(&parent, name, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode as rustix::fs::RawMode))?;
        Ok(File::from(file))
    }

    /// Makes a symbolic link where nothing is.
    pub(crate) fn link(&self, path: &Path, target: &[u8]) -> io::Result<()> {
        let (parent, name) = self.parent(path, true)?;
        Ok(symlinkat(OsStr::from_bytes(target), &parent, name)?)
    }

    /// Removes a file or link; a folder is an error.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path, false)?;
        Ok(rustix::fs::unlinkat(&parent, name, AtFlags::empty())?)
    }

    /// The folder that a path is in, and the last name.
    fn parent<'a>(&self, path: &'a Path, make: bool) -> io::Result<(OwnedFd, &'a OsStr)> {
        let refused = || io::Error::new(io::ErrorKind::InvalidInput, "not a path below the folder");
        let mut names = Vec::new();
        for component in path.components() {
            match component {
                // What is in a `.git` is never part of the files of a tree.
                Component::Normal(name) if !name.eq_ignore_ascii_case(".git") => names.push(name),
                _ => return Err(refused()),
            }
        }
        let name = names.pop().ok_or_else(refused)?;
        let mut folder = self.0.try_clone()?;
        for name in names {
            folder = match openat(&folder, name, FOLDER, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    openat(&folder, name, FOLDER, Mode::empty())?
                }
                other => other?,
            };
        }
        Ok((folder, name))
    }
}
