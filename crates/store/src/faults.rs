//! A disk that fails as a test says, for tests of whole sessions. Not in released programs.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::io::Errno;

/// Below these folders nothing can be synced.
static FAILING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// While this is there, syncing a journal below a folder fails with an error of the disk (EIO).
#[derive(Debug)]
#[must_use = "the disk works again when this is dropped"]
pub struct FailingSyncs(PathBuf);

impl FailingSyncs {
    /// Lets every sync of a journal below this folder fail from now on, in this process.
    pub fn below(folder: &Path) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        FAILING.lock().push(folder.clone());
        Ok(Self(folder))
    }
}

impl Drop for FailingSyncs {
    fn drop(&mut self) {
        let mut failing = FAILING.lock();
        if let Some(place) = failing.iter().position(|folder| *folder == self.0) {
            failing.swap_remove(place);
        }
    }
}

/// The error that syncing this file is to have, if a test said so.
pub(crate) fn check(file: &File) -> io::Result<()> {
    let failing = FAILING.lock();
    if failing.is_empty() {
        return Ok(());
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let fails = failing.iter().any(|folder| path.starts_with(folder));
    if fails { Err(Errno::IO.into()) } else { Ok(()) }
}
