//! A folder that is held open, and the files in it. Files are reached by name from the handle, one
//! name at a time, so that no symbolic link is followed and a name means the same file however the
//! tree around it is moved.
//!
//! The processes that Coven runs may write to the folders that Coven writes to. So a file that is
//! there already is never trusted to be ours:
//!
//! - a symbolic link is refused, both in the place of the file and in that of a folder on the way
//!   ([`OpenFolder::open_without_links`]);
//! - a new file is created exclusively ([`OpenFolder::create`], [`OpenFolder::create_anew`],
//!   [`OpenFolder::replace`]), so that nothing that was put under its name is written to;
//! - a file that is opened for writing has no second name, because a hard link would lead the
//!   write to a file elsewhere. Reading is not refused: a program that can make a hard link can as
//!   well make a copy, and backups make hard links;
//! - a pipe, a device or a folder in the place of a file is an error and is not waited for.

mod best_effort;
pub mod disk_wait;
mod error;
mod plain_file;
mod remove;
#[cfg(test)]
mod tests;
mod walk;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, RawMode, Stat};
use rustix::io::Errno;

pub use self::best_effort::best_effort;
pub use self::error::{FileError, OpenObstacle};
pub use self::plain_file::read_plain_file;
pub use rustix::fs::OFlags;

/// Whether a file must be on the disk before we go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It and its name are synced.
    Synced,
    /// It is a cache: after a power cut it may be missing or empty, and is made again.
    Cache,
}

/// A folder, held open. Clones share the handle.
#[derive(Clone, Debug)]
pub struct OpenFolder {
    handle: Arc<OwnedFd>,
    path: Arc<Path>,
}

impl AsFd for OpenFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl OpenFolder {
    fn new(handle: OwnedFd, path: &Path) -> Self {
        Self { handle: Arc::new(handle), path: Arc::from(path) }
    }

    /// Opens a folder by a path that a person gave. Links in this path are followed; below it
    /// they are not.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(handle) => Ok(Self::new(handle, path)),
            Err(errno) => Err(FileError::new("open", path, errno.into())),
        }
    }

    /// Opens a folder by an absolute path in which no part is a symbolic link or `..`.
    pub fn open_without_links(path: &Path) -> Result<Self, FileError> {
        walk::open(path, None).map(|handle| Self::new(handle, path))
    }

    /// Opens a folder by an absolute path in which no part is a symbolic link or `..`, and makes
    /// the folders that are missing on the way with this mode.
    pub fn make_without_links(path: &Path, mode: u32) -> Result<Self, FileError> {
        let mode = Mode::from_raw_mode(mode as RawMode);
        walk::open(path, Some(mode)).map(|handle| Self::new(handle, path))
    }

    /// Where it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the system knows about the folder itself.
    pub fn metadata(&self) -> Result<std::fs::Metadata, FileError> {
        let failed = |source| FileError::new("look at", &self.path, source);
        let file = File::from(self.handle.try_clone().map_err(failed)?);
        file.metadata().map_err(failed)
    }

    /// The error of something done to a file here. What stands in the way is looked at again,
    /// because the system says of a link only that it is not a folder.
    pub fn error(&self, action: &'static str, name: &str, source: io::Error) -> FileError {
        let error = FileError::new(action, &self.path.join(name), source);
        if name.is_empty() { error } else { error.or_link(self.as_fd(), name) }
    }

    /// A handle of its own to this folder, for locks: they belong to one handle and its copies.
    pub fn reopen(&self) -> Result<File, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(&*self.handle, ".", flags, Mode::empty()) {
            Ok(handle) => Ok(handle.into()),
            Err(errno) => Err(self.error("open", "", errno.into())),
        }
    }

    /// Opens a folder in this one.
    pub fn enter(&self, name: &str) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match self.open_at(name, flags) {
            Ok(handle) => Ok(Self::new(handle, &self.path.join(name))),
            Err(errno) => Err(self.error("open", name, errno.into())),
        }
    }

    /// Opens a folder in this one, if it is there.
    pub fn find(&self, name: &str) -> Result<Option<Self>, FileError> {
        absent_is_none(self.enter(name))
    }

    /// Makes a folder in this one unless it is there, and opens it.
    pub fn make(&self, name: &str, mode: u32) -> Result<Self, FileError> {
        match rustix::fs::mkdirat(&*self.handle, name, Mode::from_raw_mode(mode as RawMode)) {
            Ok(()) => self.sync()?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.error("create", name, errno.into())),
        }
        self.enter(name)
    }

    /// Makes a folder in this one that was not there. What has its name is removed, whatever it is.
    pub fn make_anew(&self, name: &str, mode: u32) -> Result<Self, FileError> {
        for last in [false, true] {
            match rustix::fs::mkdirat(&*self.handle, name, Mode::from_raw_mode(mode as RawMode)) {
                Ok(()) => {
                    self.sync()?;
                    return self.enter(name);
                }
                Err(Errno::EXIST) if !last => {
                    let is_folder = self.stat(name)?.is_some_and(|stat| {
                        FileType::from_raw_mode(stat.st_mode) == FileType::Directory
                    });
                    if is_folder {
                        let removed = self.remove_all(name);
                        removed.map_err(|source| self.error("remove", name, source))?;
                    } else {
                        self.remove(name)?;
                    }
                }
                Err(errno) => return Err(self.error("create", name, errno.into())),
            }
        }
        Err(self.error("create", name, Errno::EXIST.into()))
    }

    /// Whether what has the folder's path now is still this folder. Nothing is not.
    pub fn is_in_place(&self) -> Result<bool, FileError> {
        let failed = |errno: Errno| FileError::new("look at", &self.path, errno.into());
        let ours = rustix::fs::fstat(&*self.handle).map_err(failed)?;
        match rustix::fs::lstat(&*self.path) {
            Ok(there) => Ok(same_file(&ours, &there)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Whether the folder was deleted, and not only moved.
    pub fn is_deleted(&self) -> bool {
        rustix::fs::fstat(&*self.handle).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// Opens a regular file here. One that is opened for writing must have no other name. What is
    /// created is for its owner alone; without [`OFlags::EXCL`] it may have been there before.
    pub fn file(&self, name: &str, flags: OFlags) -> Result<File, FileError> {
        // Without NONBLOCK, a pipe in the place of the file would make us wait for ever.
        let all = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match self.open_at(name, all) {
            Ok(handle) => File::from(handle),
            Err(errno) => return Err(self.error("open", name, errno.into())),
        };
        let stat =
            rustix::fs::fstat(&file).map_err(|errno| self.error("open", name, errno.into()))?;
        // What was created just now is ours, whatever names it has been given since.
        let writes =
            flags.intersects(OFlags::WRONLY | OFlags::RDWR) && !flags.contains(OFlags::EXCL);
        let obstacle = if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            OpenObstacle::NotAFile
        } else if writes && stat.st_nlink > 1 {
            OpenObstacle::HardLink
        } else {
            return Ok(file);
        };
        let error =
            FileError::new("open", &self.path.join(name), io::ErrorKind::InvalidData.into());
        Err(FileError { obstacle, ..error })
    }

    /// Creates a file to write, for its owner alone. It is an error if there is anything under its
    /// name.
    pub fn create(&self, name: &str) -> Result<File, FileError> {
        self.file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }

    /// Creates a file to write, for its owner alone. What was under its name before is not written
    /// to but loses the name.
    pub fn create_anew(&self, name: &str) -> Result<File, FileError> {
        self.remove(name)?;
        self.create(name)
    }

    /// A handle to whatever has this name here, which can be looked at but not read or written. If
    /// it is a symbolic link, it is the handle of the link. Other systems have no such handles.
    #[cfg(target_os = "linux")]
    pub fn handle_of(&self, name: &str) -> Result<OwnedFd, FileError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.open_at(name, flags).map_err(|errno| self.error("open", name, errno.into()))
    }

    /// Every name is opened here, so that none can lead out of the folder.
    fn open_at(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        if name.contains('/') || matches!(name, "" | "." | "..") {
            return Err(Errno::INVAL);
        }
        rustix::fs::openat(&*self.handle, name, flags, Mode::RUSR | Mode::WUSR)
    }

    /// The content of a file, if it is there.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FileError> {
        let Some(mut file) = absent_is_none(self.file(name, OFlags::RDONLY))? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|source| self.error("read", name, source))?;
        Ok(Some(bytes))
    }

    /// What the system knows about a name here, if there is such a thing. A symbolic link is looked
    /// at itself.
    pub fn stat(&self, name: &str) -> Result<Option<Stat>, FileError> {
        match rustix::fs::statat(&*self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.error("look at", name, errno.into())),
        }
    }

    /// Whether a name here means this very file.
    pub fn names_file(&self, name: &str, file: impl AsFd) -> Result<bool, FileError> {
        let failed = |errno: Errno| self.error("look at", name, errno.into());
        let ours = rustix::fs::fstat(file).map_err(failed)?;
        Ok(self.stat(name)?.is_some_and(|there| same_file(&ours, &there)))
    }

    /// Puts a file here as a whole or not at all, in the place of whatever file there was.
    pub fn replace(
        &self,
        name: &str,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), FileError> {
        let draft = format!("{name}.new");
        let written = self.write_draft(&draft, bytes, durability);
        if let Err(error) = written {
            // The draft is only in the way; the file itself is as it was.
            best_effort("remove a draft", self.remove(&draft));
            return Err(self.error("write", name, error));
        }
        self.rename(&draft, self, name)?;
        if durability == Durability::Synced { self.sync() } else { Ok(()) }
    }

    /// Puts a new file here so that it outlasts a power cut. If that fails, there is no such file: one
    /// that may not be on the disk must not be found and taken for done by the next try.
    pub fn put_durably(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.replace(name, bytes, Durability::Synced).inspect_err(|_| {
            best_effort("take back a file that may not be on the disk", self.remove(name));
        })
    }

    fn write_draft(&self, draft: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let mut file = self.create_anew(draft).map_err(|error| error.source)?;
        file.write_all(bytes)?;
        if durability == Durability::Cache {
            return Ok(());
        }
        disk_wait::check("syncing a file");
        file.sync_all()
    }

    /// Gives a file or folder another name, in the place of whatever file has that.
    pub fn rename(&self, from: &str, to: &Self, name: &str) -> Result<(), FileError> {
        rustix::fs::renameat(&*self.handle, from, &*to.handle, name)
            .map_err(|errno| to.error("write", name, errno.into()))
    }

    /// Removes a name that is not that of a folder. That there is none is fine.
    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        match rustix::fs::unlinkat(&*self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error("remove", name, errno.into())),
        }
    }

    /// Removes a folder in this one that is empty. That there is none is fine; one with anything in
    /// it stays, which is an error.
    pub fn remove_empty(&self, name: &str) -> Result<(), FileError> {
        match rustix::fs::unlinkat(&*self.handle, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error("remove", name, errno.into())),
        }
    }

    /// Removes a folder in this one with all that is in it. Links in it are removed and not
    /// followed. That there is none is fine.
    pub fn remove_all(&self, name: &str) -> io::Result<()> {
        remove::remove_all(self.handle.as_fd(), name)
    }

    /// Makes names that were added, changed or removed here outlast a power cut.
    pub fn sync(&self) -> Result<(), FileError> {
        disk_wait::check("syncing a folder");
        let synced = fsync_folder(&self.handle);
        synced.map_err(|errno| self.error("sync", "", errno.into()))
    }

    /// The names here, in no order; those that are not text are none of ours.
    pub fn names(&self) -> Result<Vec<String>, FileError> {
        Ok(self.entries()?.into_iter().map(|(name, _)| name).collect())
    }

    /// The names of what may be folders here. A link to a folder is none.
    pub fn folders(&self) -> Result<Vec<String>, FileError> {
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
pub fn same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Takes "there is no such thing" for an answer.
pub fn absent_is_none<T>(result: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.obstacle == OpenObstacle::Missing => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(not(test))]
fn fsync_folder(folder: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fsync(folder)
}

#[cfg(test)]
use tests::fsync_folder;
