//! Where the attempts of sessions lie that no actor holds in memory. A client asks for a long
//! output piece by piece; without this, each piece would read the whole journal, with everything
//! that the steps of the session gave.

use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use coven_model::{SessionId, TaskId};
use coven_orchestrator::TaskAccess;
use coven_store::journal;
use coven_store::layout::session_path;
use parking_lot::Mutex;

/// How many attempts are remembered: each is a few paths.
const MAX_KEPT_ATTEMPTS: usize = 32;

/// What a request names: a task, and an attempt of it unless the newest is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttemptKey {
    pub(super) session: SessionId,
    pub(super) task: TaskId,
    pub(super) attempt: Option<u32>,
}

/// The file of a journal as it is now. Another one means that more may have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JournalStamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl JournalStamp {
    /// Looks at the journal of a session; none if it cannot be seen. Waits on the disk.
    pub(crate) fn of(base_dir: &Path, session: &SessionId) -> Option<Self> {
        let path = session_path(base_dir, session).join(journal::FILE);
        let file = std::fs::symlink_metadata(path).ok()?;
        let changed = (file.ctime(), file.ctime_nsec());
        Some(Self { inode: file.ino(), bytes: file.len(), changed })
    }
}

/// The attempts that were asked for last.
#[derive(Debug, Default)]
pub(crate) struct PastAttempts {
    kept: Mutex<VecDeque<(AttemptKey, JournalStamp, TaskAccess)>>,
}

impl PastAttempts {
    /// The attempt, if its journal is still the one that it was read from.
    pub(super) fn get(&self, key: &AttemptKey, stamp: JournalStamp) -> Option<TaskAccess> {
        let kept = self.kept.lock();
        let found = kept.iter().find(|(one, read, _)| one == key && *read == stamp);
        found.map(|(_, _, access)| access.clone())
    }

    /// Remembers an attempt whose journal was like this before it was read.
    pub(super) fn put(&self, key: AttemptKey, stamp: JournalStamp, access: TaskAccess) {
        let mut kept = self.kept.lock();
        kept.retain(|(one, _, _)| *one != key);
        kept.push_front((key, stamp, access));
        kept.truncate(MAX_KEPT_ATTEMPTS);
    }
}

#[cfg(test)]
mod tests {
    use coven_model::{AgentMode, AttemptId, TaskStatus};

    use super::*;

    fn access(task: &TaskId) -> TaskAccess {
        TaskAccess {
            attempt: AttemptId { task: task.clone(), attempt: 1 },
            folder: "/jobs/build/1".into(),
            log: "/logs/build.1.log".into(),
            adapter: "shell".to_owned(),
            mode: AgentMode::Headless,
            agent: None,
            headless: None,
            status: TaskStatus::Done,
        }
    }

    #[test]
    fn an_attempt_is_remembered_until_its_journal_is_another() {
        let dir = tempfile::tempdir().unwrap();
        let session = SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").unwrap();
        let folder = session_path(dir.path(), &session);
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(JournalStamp::of(dir.path(), &session), None);
        std::fs::write(folder.join(journal::FILE), "one\n").unwrap();
        let stamp = JournalStamp::of(dir.path(), &session).unwrap();
        assert_eq!(JournalStamp::of(dir.path(), &session), Some(stamp));
        let (attempts, task) = (PastAttempts::default(), TaskId::new("build").unwrap());
        let key = |attempt| AttemptKey { session: session.clone(), task: task.clone(), attempt };
        assert!(attempts.get(&key(None), stamp).is_none());
        attempts.put(key(None), stamp, access(&task));
        assert_eq!(attempts.get(&key(None), stamp).unwrap().folder, Path::new("/jobs/build/1"));
        assert!(attempts.get(&key(Some(2)), stamp).is_none(), "another attempt");
        std::fs::write(folder.join(journal::FILE), "one\ntwo\n").unwrap();
        let now = JournalStamp::of(dir.path(), &session).unwrap();
        assert!(attempts.get(&key(None), now).is_none(), "more has happened");
        for attempt in 0..100 {
            attempts.put(key(Some(attempt)), now, access(&task));
        }
        assert_eq!(attempts.kept.lock().len(), MAX_KEPT_ATTEMPTS);
    }
}
