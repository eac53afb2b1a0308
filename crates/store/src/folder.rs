//! A folder that is held open, and the files in it. Everything below a base directory is reached
//! from such a handle, one name at a time, so that no link on the way is ever followed.

mod error;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

pub use self::error::{FileError, Obstacle};

/// Whether a file must be on the disk before we go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It and its name are synced.
    Synced,
    /// It is a cache: after a power cut it may be missing or empty, and is made again.
    Cache,
}

/// A folder, held open.
#[derive(Clone, Debug)]
pub struct Folder {
    handle: Arc<OwnedFd>,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder by a path that a person gave. Links in this path are followed; below it
    /// they are not.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(handle) => Ok(Self { handle: Arc::new(handle), path: path.to_path_buf() }),
            Err(errno) => Err(FileError::new("open", path, errno.into())),
        }
    }

    /// Where it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The error of something done to a file here. What stands in the way is looked at again,
    /// because the system says of a link only that it is not a folder.
    pub(crate) fn error(&self, action: &'static str, name: &str, source: io::Error) -> FileError {
        let error = FileError::new(action, &self.path.join(name), source);
        let is_link = !name.is_empty()
            && matches!(error.obstacle, Obstacle::NotAFolder | Obstacle::Other)
            && rustix::fs::statat(&*self.handle, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if is_link { FileError { obstacle: Obstacle::Link, ..error } } else { error }
    }

    /// Opens a folder in this one.
    pub(crate) fn enter(&self, name: &str) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&*self.handle, name, flags, Mode::empty()) {
            Ok(handle) => Ok(Self { handle: Arc::new(handle), path: self.path.join(name) }),
            Err(errno) => Err(self.error("open", name, errno.into())),
        }
    }

    /// Opens a folder in this one, if it is there.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Self>, FileError> {
        absent_is_none(self.enter(name))
    }

    /// Makes a folder in this one unless it is there, and opens it.
    pub(crate) fn make(&self, name: &str, mode: u32) -> Result<Self, FileError> {
        match rustix::fs::mkdirat(&*self.handle, name, Mode::from_raw_mode(mode)) {
            Ok(()) => self.sync()?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.error("create", name, errno.into())),
        }
        self.enter(name)
    }

    /// Opens a regular file here.
    pub(crate) fn file(&self, name: &str, flags: OFlags) -> Result<File, FileError> {
        // Without NONBLOCK a pipe that somebody put here would make us wait for ever.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&*self.handle, name, flags, mode)
            .map(File::from)
            .map_err(|errno| self.error("open", name, errno.into()))?;
        let metadata = file.metadata().map_err(|source| self.error("look at", name, source))?;
        if metadata.is_file() {
            return Ok(file);
        }
        let error =
            FileError::new("open", &self.path.join(name), io::ErrorKind::InvalidData.into());
        Err(FileError { obstacle: Obstacle::NotAFile, ..error })
    }

    /// The content of a file, if it is there.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FileError> {
        let Some(mut file) = absent_is_none(self.file(name, OFlags::RDONLY))? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|source| self.error("read", name, source))?;
        Ok(Some(bytes))
    }

    /// What the system knows about a name here, if there is such a thing.
    pub(crate) fn stat(&self, name: &str) -> Result<Option<Stat>, FileError> {
        match rustix::fs::statat(&*self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.error("look at", name, errno.into())),
        }
    }

    /// Puts a file here as a whole or not at all, in the place of whatever file there was.
    pub(crate) fn replace(
        &self,
        name: &str,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), FileError> {
        let draft = format!("{name}.new");
        let written = self.write_draft(&draft, bytes, durability);
        if let Err(error) = written {
            // The draft is only in the way; the file itself is as it was.
            let _ = self.remove(&draft);
            return Err(self.error("write", name, error));
        }
        self.rename(&draft, self, name)?;
        if durability == Durability::Synced { self.sync() } else { Ok(()) }
    }

    fn write_draft(&self, draft: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        // A draft that is left over, or a link in its place, is not written to but replaced.
        let _ = self.remove(draft);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = self.file(draft, flags).map_err(|error| error.source)?;
        file.write_all(bytes)?;
        if durability == Durability::Synced { file.sync_all() } else { Ok(()) }
    }

    pub(crate) fn rename(&self, from: &str, to: &Self, name: &str) -> Result<(), FileError> {
        rustix::fs::renameat(&*self.handle, from, &*to.handle, name)
            .map_err(|errno| to.error("write", name, errno.into()))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), FileError> {
        match rustix::fs::unlinkat(&*self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error("remove", name, errno.into())),
        }
    }

    /// Makes names that were added, changed or removed here outlast a power cut.
    pub(crate) fn sync(&self) -> Result<(), FileError> {
        rustix::fs::fsync(&*self.handle).map_err(|errno| self.error("sync", "", errno.into()))
    }

    /// The names here, in no order; those that are not text are nobody's of ours.
    pub(crate) fn names(&self) -> Result<Vec<String>, FileError> {
        Ok(self.entries()?.into_iter().map(|(name, _)| name).collect())
    }

    /// The names of what may be folders here. A link to a folder is none.
    pub(crate) fn folders(&self) -> Result<Vec<String>, FileError> {
        let may_be = |kind| matches!(kind, FileType::Directory | FileType::Unknown);
        let entries = self.entries()?.into_iter();
        Ok(entries.filter(|(_, kind)| may_be(*kind)).map(|(name, _)| name).collect())
    }

    fn entries(&self) -> Result<Vec<(String, FileType)>, FileError> {
        let read = || -> rustix::io::Result<Vec<(String, FileType)>> {
            let mut entries = Vec::new();
            for entry in rustix::fs::Dir::read_from(self.handle.as_fd())? {
                let entry = entry?;
                match entry.file_name().to_str() {
                    Ok("." | "..") | Err(_) => {}
                    Ok(name) => entries.push((name.to_owned(), entry.file_type())),
                }
            }
            Ok(entries)
        };
        read().map_err(|errno| self.error("list", "", errno.into()))
    }
}

/// Whether two looks at a file saw the same one.
pub(crate) fn same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Takes "there is no such thing" for an answer.
pub(crate) fn absent_is_none<T>(result: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.obstacle == Obstacle::Missing => Ok(None),
        Err(error) => Err(error),
    }
}
