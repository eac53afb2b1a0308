//! What stands between us and a file, in words that say what to do.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use rustix::path::Arg;

/// Something could not be done to a file or folder.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {}", path.display(), self.reason())]
pub struct FileError {
    /// What was tried, as a verb.
    pub action: &'static str,
    pub path: PathBuf,
    /// What stood in the way.
    pub obstacle: OpenObstacle,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// What stood in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenObstacle {
    /// There is no such thing.
    Missing,
    Denied,
    /// The file system takes no writes.
    ReadOnly,
    /// A part of the path is not a folder.
    NotAFolder,
    /// It is a folder, a pipe or a device.
    NotAFile,
    /// It is a symbolic link.
    Link,
    /// It has a second name, so that a write would change a file elsewhere.
    HardLink,
    /// Another one has taken its place since it was opened.
    Replaced,
    /// The disk is full, or the quota used up.
    Full,
    /// The disk or its connection failed.
    Broken,
    /// Something else, which the source tells.
    Other,
}

impl FileError {
    /// The error of something that was tried at a path.
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self { action, path: path.to_path_buf(), obstacle: OpenObstacle::of(&source), source }
    }

    /// The same error, or that there is a symbolic link under this name in a folder, if that is the
    /// reason.
    pub(crate) fn or_link(self, folder: BorrowedFd<'_>, name: impl Arg) -> Self {
        let is_link = matches!(self.obstacle, OpenObstacle::NotAFolder | OpenObstacle::Other)
            && rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if is_link { Self { obstacle: OpenObstacle::Link, ..self } } else { self }
    }

    fn reason(&self) -> String {
        match self.obstacle {
            OpenObstacle::Other => self.source.to_string(),
            obstacle => obstacle.to_string(),
        }
    }
}

/// Keeps the kind, by which callers tell a missing file from other trouble.
impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        Self::new(error.source.kind(), error)
    }
}

impl OpenObstacle {
    /// What an error of the system says is in the way.
    pub fn of(error: &io::Error) -> Self {
        let Some(errno) = Errno::from_io_error(error) else {
            return match error.kind() {
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge => Self::Full,
                _ => Self::Other,
            };
        };
        match errno {
            Errno::NOENT => Self::Missing,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::ROFS => Self::ReadOnly,
            Errno::NOTDIR => Self::NotAFolder,
            Errno::ISDIR | Errno::NXIO => Self::NotAFile,
            Errno::LOOP => Self::Link,
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Self::Full,
            Errno::IO => Self::Broken,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for OpenObstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Missing => "it does not exist",
            Self::Denied => "permission denied; see who owns it and what its mode allows",
            Self::ReadOnly => {
                "the file system is read-only; mount it writable or choose another base directory"
            }
            Self::NotAFolder => "it is not a folder; move what is there out of the way",
            Self::NotAFile => "it is not a regular file; move what is there out of the way",
            Self::Link => {
                "it is a symbolic link, and links are not followed here; put the real thing in its \
                 place"
            }
            Self::HardLink => {
                "it has a second name (a hard link), and a write would change that file too; copy \
                 it and put the copy in its place"
            }
            Self::Replaced => {
                "another folder has taken its place since it was opened; put the first one back"
            }
            Self::Full => "no room is left on the disk; make some",
            Self::Broken => "the disk reports an error; check it before anything else",
            Self::Other => "it failed",
        })
    }
}
