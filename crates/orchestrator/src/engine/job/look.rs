//! How far a look at the files of a job's folder is, which takes a while in a large one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why the files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookReason {
    /// The job is to begin, and what it changes is to be found later.
    Before,
    /// The job has ended, and what it changed is to be found.
    After,
}

/// A look that is under way. Clones are the same look.
#[derive(Clone, Debug)]
pub(crate) struct FolderLook {
    reason: LookReason,
    files: Arc<AtomicUsize>,
}

impl FolderLook {
    pub(super) fn new(reason: LookReason) -> Self {
        Self { reason, files: Arc::default() }
    }

    /// Counts one more file.
    pub(super) fn count(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Display for FolderLook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.files.load(Ordering::Relaxed);
        match self.reason {
            LookReason::Before => write!(f, "notes how {files} files are before it begins"),
            LookReason::After => write!(f, "compares {files} files with how they were before it"),
        }
    }
}
