//! Turns at a repository: what changes its branches or trees does so alone.
//!
//! Within this process that is a lock of ours. Other processes with other state folders, such as a
//! daemon of another `XDG_STATE_HOME` or a program with the library, share nothing but the repository
//! itself. So its common folder is locked (`flock`), as it is: no file is made in it, and the lock goes
//! with the process.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::TreeError;
use crate::state::blocking::blocking;

/// How long another process may have its turn: longer than the hooks of a commit may take.
const TURN_TIMEOUT: Duration = Duration::from_mins(15);

/// How often it is looked whether another process is done: the lock has no way to say so.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The locks of the repositories within this process, by their common folder.
static TURNS: LazyLock<Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>> =
    LazyLock::new(Mutex::default);

/// The turns at one repository.
#[derive(Clone, Debug)]
pub(crate) struct RepositoryTurn {
    common_dir: PathBuf,
    own: Arc<tokio::sync::Mutex<()>>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct TurnGuard {
    // The file first, so that the next of this process finds it free.
    _file: File,
    _own: OwnedMutexGuard<()>,
}

/// The turns of a repository, for whatever changes its branches or trees.
pub(crate) fn turn_of(common_dir: &str) -> RepositoryTurn {
    let common_dir = PathBuf::from(common_dir);
    let own = TURNS.lock().entry(common_dir.clone()).or_default().clone();
    RepositoryTurn { common_dir, own }
}

impl RepositoryTurn {
    /// Waits for a turn. An error says that another process does not end its own.
    pub(crate) async fn lock(&self) -> Result<TurnGuard, TreeError> {
        let own = self.own.clone().lock_owned().await;
        let path = self.common_dir.clone();
        let failed = |error: &std::io::Error| {
            TreeError(format!("its repository cannot be locked: {}: {error}", path.display()))
        };
        let opened = path.clone();
        let file = blocking(move || File::open(opened)).await.map_err(|error| failed(&error))?;
        let deadline = Instant::now() + TURN_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(TurnGuard { _file: file, _own: own }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(TreeError(format!(
                        "another process works on its repository since {} minutes; `lsof {}` names \
                         it",
                        TURN_TIMEOUT.as_secs() / 60,
                        path.display()
                    )));
                }
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
        }
    }

    /// Does something that waits on a disk while nothing else changes the repository.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, TreeError> + Send + 'static,
    ) -> Result<T, TreeError> {
        let _turn = self.lock().await?;
        blocking(work).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Naive: a lock of this process alone, beside which another process changes the repository.
    #[tokio::test(start_paused = true)]
    async fn a_turn_of_another_process_is_waited_for_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        // A lock belongs to what was opened, so this one is as good as that of another process.
        let other = File::open(folder.path()).unwrap();
        other.lock().unwrap();
        let refused = turn_of(&path).lock().await.unwrap_err();
        assert!(refused.0.contains("another process works on its repository"), "{}", refused.0);

        let waiting = tokio::spawn(async move { turn_of(&path).lock().await });
        tokio::time::sleep(RETRY_INTERVAL * 3).await;
        assert!(!waiting.is_finished());
        other.unlock().unwrap();
        let turn = waiting.await.unwrap().unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(turn);
        other.try_lock().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made there");
    }
}
