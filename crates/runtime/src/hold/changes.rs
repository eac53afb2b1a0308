//! Waiting for a file to appear in the folder of an attempt, or to be replaced or removed there.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::folder::HolderFolder;
use crate::machine::FolderWatch;

/// The longest single wait. Not every change is one of a file name: a killed holder lets go of its
/// claim, and a busy one takes connections again. Those are found by looking again.
const MAX_SINGLE_WAIT: Duration = Duration::from_millis(100);

/// The changes of a folder since this was made.
#[derive(Debug)]
pub struct FolderChanges {
    changes: FolderWatch,
}

impl FolderChanges {
    /// Watches a folder. The caller looks at its files after this, so that no change is missed.
    pub fn watch(folder: &HolderFolder) -> io::Result<Self> {
        Ok(Self { changes: FolderWatch::new(&folder.open()?)? })
    }

    /// Waits for a change, not longer than until the deadline. It may return without one: the
    /// caller looks at the folder again in any case.
    pub fn wait(&self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now()).min(MAX_SINGLE_WAIT);
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.changes, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        // What changed is of no interest, only that it did.
        self.changes.clear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_appears_or_goes_is_told_and_nothing_else_is() {
        let root = tempfile::tempdir().unwrap();
        let path = std::fs::canonicalize(root.path()).unwrap();
        let changes = FolderChanges::watch(&HolderFolder::new(&path)).unwrap();
        let is_told = || {
            let begun = Instant::now();
            changes.wait(begun + Duration::from_mins(1)).unwrap();
            begun.elapsed() < MAX_SINGLE_WAIT
        };
        std::fs::write(path.join("draft"), "1").unwrap();
        assert!(is_told());
        std::fs::rename(path.join("draft"), path.join("record")).unwrap();
        assert!(is_told());
        assert_eq!(std::fs::read(path.join("record")).unwrap(), b"1");
        assert!(!is_told(), "reading changes nothing");
        std::fs::remove_file(path.join("record")).unwrap();
        assert!(is_told());
    }
}
