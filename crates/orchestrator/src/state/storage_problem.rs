//! Why a session cannot record anything at the moment, in words for people.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::time::Duration;

use coven_folder::{FileError, OpenObstacle};
use coven_model::AttemptId;

/// How long to wait before something is tried again that the disk did not take.
pub(crate) const STORAGE_RETRY: Duration = Duration::from_millis(500);

/// What a session does that finds no room.
const FULL: &str = "waits for disk space";

/// What keeps facts or outcomes from the disk. The session waits until it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StorageProblem(String);

impl StorageProblem {
    /// From what a write said. A full disk is told apart, because a person can do something about
    /// it at once.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Self {
        let waits = if is_full(error) { FULL } else { "waits for its disk" };
        Self(format!("{waits}: {error}"))
    }

    /// From what says that the disk has no room, if it does.
    pub(crate) fn of_full(error: &(dyn Error + 'static)) -> Option<Self> {
        is_full(error).then(|| Self::of(error))
    }

    /// From a reason that is known to be a full disk.
    pub(crate) fn full(reason: &dyn std::fmt::Display) -> Self {
        Self(format!("{FULL}: {reason}"))
    }

    /// The same with what happens as soon as the disk takes it.
    pub(crate) fn and_then(self, next: &str) -> Self {
        Self(format!("{}; {next}", self.0))
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// What keeps a session and its jobs from their disks at the moment: they are two, and each is over by
/// itself.
#[derive(Debug, Default)]
pub(crate) struct StorageProblems {
    /// Why facts cannot be recorded.
    session: Option<String>,
    /// Why outcomes cannot be, by the jobs they are of.
    jobs: BTreeMap<AttemptId, String>,
}

impl StorageProblems {
    pub(crate) fn session(&self) -> Option<&String> {
        self.session.as_ref()
    }

    pub(crate) fn any(&self) -> Option<&String> {
        self.session.as_ref().or_else(|| self.jobs.values().next())
    }

    pub(crate) fn set_session(&mut self, problem: Option<String>) -> bool {
        let is_new = self.session != problem;
        self.session = problem;
        is_new
    }

    pub(crate) fn set_job(&mut self, job: &AttemptId, problem: Option<String>) {
        match problem {
            Some(problem) => drop(self.jobs.insert(job.clone(), problem)),
            None => drop(self.jobs.remove(job)),
        }
    }
}

/// Whether no room is the reason, wherever in the chain of causes that is said.
fn is_full(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.any(|cause| {
        let by_file = cause.downcast_ref::<FileError>().map(|error| error.obstacle);
        let by_system = || cause.downcast_ref::<io::Error>().map(OpenObstacle::of);
        by_file.or_else(by_system) == Some(OpenObstacle::Full)
    })
}

/// Whether waiting may help: the disk is full, read-only, broken or away.
pub(crate) fn may_pass(error: &FileError) -> bool {
    matches!(
        error.obstacle,
        OpenObstacle::Full
            | OpenObstacle::ReadOnly
            | OpenObstacle::Denied
            | OpenObstacle::Broken
            | OpenObstacle::Replaced
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use coven_store::journal::AppendError;

    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_wherever_it_is_the_cause() {
        let said = |kind: io::ErrorKind| {
            let source = FileError::new("write", Path::new("/p"), kind.into());
            StorageProblem::of(&AppendError::Write { seq: 3, source }).into_text()
        };
        assert!(said(io::ErrorKind::StorageFull).starts_with("waits for disk space: fact 3"));
        assert!(said(io::ErrorKind::ReadOnlyFilesystem).starts_with("waits for its disk: fact 3"));
    }
}
