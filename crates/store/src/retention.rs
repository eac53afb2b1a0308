//! Removing old sessions: which, and how, so that being killed half-way leaves nothing half there.
//!
//! A session that goes is first renamed into `sessions/.trash`, from where nothing is listed or
//! opened, and then removed. What is left there is removed the next time.

use std::path::PathBuf;
use std::time::Duration;

use coven_folder::{FileError, OpenFolder, absent_is_none};
use coven_model::{SessionId, Timestamp};
use rustix::fs::{FlockOperation, OFlags};

use crate::authority::SessionAuthority;
use crate::index::Index;
use crate::journal;
use crate::layout::{self, BaseDir};
use crate::session::DRAFT;

pub(crate) const TRASH: &str = ".trash";

/// Which finished sessions stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// So many finished sessions stay, the ones that changed last.
    pub keep: usize,
    /// None stays longer than this after its last change.
    pub age: Option<Duration>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { keep: 50, age: None }
    }
}

/// A session could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// Its journal is open for writing.
    #[error("session {id} is open; cancel it before it is removed")]
    InUse { id: SessionId },
    /// There is no such session.
    #[error("there is no session {id}")]
    Missing { id: SessionId },
    /// It could not be moved out of the way, and is as it was.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What removing came to.
#[derive(Debug, Default)]
pub struct RemovedSessions {
    /// The sessions that are gone.
    pub sessions: Vec<SessionId>,
    /// What of them is still in the trash and why. It is tried again the next time.
    pub left: Vec<(PathBuf, std::io::Error)>,
    /// The sessions that could not be removed.
    pub failed: Vec<RemoveError>,
}

impl Retention {
    /// The sessions that are to go, oldest first. One that is not finished is never among them, nor
    /// one that is foreign, one of which not everything is known, one with agents that were left
    /// alive on purpose, or one that `needed` says is; that one counts among those that stay.
    pub fn expired(
        &self,
        index: &Index,
        now: Timestamp,
        needed: impl Fn(&SessionId) -> bool,
    ) -> Vec<SessionId> {
        let finished = index.entries().filter(|entry| entry.fresh && entry.status.is_final());
        let mut finished: Vec<_> = finished.filter(|entry| !entry.foreign && !entry.kept).collect();
        finished.sort_by_key(|entry| (entry.updated_at, entry.id.clone()));
        let surplus = finished.len().saturating_sub(self.keep);
        let too_old = |updated: Timestamp| self.age.is_some_and(|age| now.since(updated) > age);
        let all = finished.into_iter().enumerate();
        let expired = all.filter(|(place, entry)| *place < surplus || too_old(entry.updated_at));
        expired.map(|(_, entry)| entry.id.clone()).filter(|id| !needed(id)).collect()
    }

    /// Removes the sessions that are to go, and what an earlier removal left half done. Only for
    /// the process that holds the lock of the base directory.
    pub fn apply(
        &self,
        base: &BaseDir,
        authority: &SessionAuthority,
        index: &mut Index,
        now: Timestamp,
        needed: impl Fn(&SessionId) -> bool,
    ) -> Result<RemovedSessions, FileError> {
        let mut removed = sweep(base)?;
        for id in self.expired(index, now, needed) {
            match remove(base, authority, &id) {
                Ok(mut gone) => {
                    index.remove(&id);
                    removed.sessions.append(&mut gone.sessions);
                    removed.left.append(&mut gone.left);
                }
                Err(error) => removed.failed.push(error),
            }
        }
        Ok(removed)
    }
}

/// Removes one session, whatever its status, and what its jobs left. One that is open for writing is
/// refused.
pub fn remove(
    base: &BaseDir,
    authority: &SessionAuthority,
    id: &SessionId,
) -> Result<RemovedSessions, RemoveError> {
    let sessions = base.sessions();
    let Some(folder) = sessions.find(id.as_str())? else {
        return Err(RemoveError::Missing { id: id.clone() });
    };
    let journal = absent_is_none(folder.file(journal::FILE, OFlags::RDONLY))?;
    if let Some(journal) = &journal
        && rustix::fs::flock(journal, FlockOperation::NonBlockingLockExclusive).is_err()
    {
        return Err(RemoveError::InUse { id: id.clone() });
    }
    let trash = layout::make_private(sessions, TRASH)?;
    let mut removed = RemovedSessions::default();
    if trash.stat(id.as_str())?.is_some() {
        discard(&trash, id.as_str(), &mut removed);
    }
    sessions.rename(id.as_str(), &trash, id.as_str())?;
    sessions.sync()?;
    removed.sessions.push(id.clone());
    discard(&trash, id.as_str(), &mut removed);
    authority.remove_jobs(id)?;
    Ok(removed)
}

/// Removes what is left of removals and creations that were cut short. Call it before sessions are
/// created.
pub fn sweep(base: &BaseDir) -> Result<RemovedSessions, FileError> {
    let mut removed = RemovedSessions::default();
    let sessions = base.sessions();
    if let Some(trash) = sessions.find(TRASH)? {
        for name in trash.names()? {
            discard(&trash, &name, &mut removed);
        }
    }
    for name in sessions.folders()?.into_iter().filter(|name| name.starts_with(DRAFT)) {
        discard(sessions, &name, &mut removed);
    }
    Ok(removed)
}

/// Removes a folder with all that is in it, without following links.
fn discard(parent: &OpenFolder, name: &str, removed: &mut RemovedSessions) {
    if let Err(error) = parent.remove_all(name) {
        removed.left.push((parent.path().join(name), error));
    }
}
