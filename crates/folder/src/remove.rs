//! Removing a folder with all that is in it, from the handle of the folder above, so that none on the
//! way can be replaced by a link meanwhile.

#[cfg(target_os = "linux")]
pub(crate) use by_descriptor_path::remove_all;
#[cfg(not(target_os = "linux"))]
pub(crate) use by_handles::remove_all;

#[cfg(target_os = "linux")]
mod by_descriptor_path {
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd};

    /// Through the path of the handle; below it the standard library goes by handles too.
    pub(crate) fn remove_all(folder: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        match std::fs::remove_dir_all(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// For systems on which a handle has no path.
#[cfg(any(test, not(target_os = "linux")))]
pub(crate) mod by_handles {
    use std::ffi::{CStr, CString};
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};

    use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};
    use rustix::io::Errno;

    /// Removes a folder, or a link in its place. Any other file there is an error.
    pub(crate) fn remove_all(folder: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                return Ok(unlinkat(folder, name, AtFlags::empty())?);
            }
            _ => {}
        }
        remove_folder(folder, &CString::new(name)?).map_err(io::Error::from)
    }

    fn remove_folder(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(parent, name, flags, Mode::empty())?;
        // All names are read before the first is removed: what a listing gives that is changed
        // meanwhile is not defined.
        let entries: Vec<_> = Dir::read_from(&folder)?.collect::<Result<_, _>>()?;
        for entry in entries {
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let removed = match entry.file_type() {
                FileType::Directory => remove_folder(folder.as_fd(), name),
                FileType::Unknown => match remove_folder(folder.as_fd(), name) {
                    Err(Errno::NOTDIR | Errno::LOOP) => unlinkat(&folder, name, AtFlags::empty()),
                    removed => removed,
                },
                _ => unlinkat(&folder, name, AtFlags::empty()),
            };
            match removed {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        unlinkat(parent, name, AtFlags::REMOVEDIR)
    }
}
