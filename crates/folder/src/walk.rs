//! The way to a folder, one part of its path at a time, without following a link.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::error::FileError;

/// Only to go on from: this needs the permission to pass through a folder, not to read it.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;

/// Other systems have no such handles that rustix knows, so that folders on the way must be
/// readable.
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

const ON_THE_WAY: OFlags =
    PASS.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// To list, to sync and to lock.
const AT_THE_END: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the folder at an absolute path. What is missing is made with a mode, if there is one.
pub(crate) fn open(path: &Path, make: Option<Mode>) -> Result<OwnedFd, FileError> {
    let mut names = Vec::new();
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(FileError::new("open", path, Errno::INVAL.into()));
    }
    for part in parts {
        let Component::Normal(name) = part else {
            return Err(FileError::new("open", path, Errno::INVAL.into()));
        };
        names.push(name);
    }
    let mut passed = PathBuf::from("/");
    let first = if names.is_empty() { AT_THE_END } else { ON_THE_WAY };
    let mut folder = rustix::fs::open("/", first, Mode::empty())
        .map_err(|errno| FileError::new("open", &passed, errno.into()))?;
    for (place, name) in names.iter().enumerate() {
        let flags = if place + 1 == names.len() { AT_THE_END } else { ON_THE_WAY };
        passed.push(name);
        let entered = enter(folder.as_fd(), name.as_bytes(), flags, make);
        folder = entered.map_err(|errno| {
            let error = FileError::new("open", &passed, errno.into());
            error.or_link(folder.as_fd(), name.as_bytes())
        })?;
    }
    Ok(folder)
}

fn enter(
    folder: BorrowedFd<'_>,
    name: &[u8],
    flags: OFlags,
    make: Option<Mode>,
) -> Result<OwnedFd, Errno> {
    let open = || rustix::fs::openat(folder, name, flags, Mode::empty());
    match (open(), make) {
        (Err(Errno::NOENT), Some(mode)) => match rustix::fs::mkdirat(folder, name, mode) {
            // Another process may have made it at the same time.
            Ok(()) | Err(Errno::EXIST) => open(),
            Err(errno) => Err(errno),
        },
        (opened, _) => opened,
    }
}
