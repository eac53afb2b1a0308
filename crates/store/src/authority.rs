//! What decides about sessions and lies in the state folder, where a job that may only edit the
//! project cannot write: the key that seals journals, and the folders of jobs.
//!
//! ```text
//! <state>/seal.key                                 the key, unless the user says another place
//! <state>/jobs/<session>/.checkpoint               up to where its journal must reach
//!                        <task>/<attempt>/         one attempt, see `attempt`
//! ```

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_folder::{FileError, OpenFolder, absent_is_none};
use coven_model::{AttemptId, SessionId};

use crate::layout::{self, make_private_path};
use crate::seal::{KeyError, SealKey};

/// The name of the key in the state folder.
const KEY_FILE: &str = "seal.key";

/// The name of the folder of jobs in the state folder.
const JOBS_FOLDER: &str = "jobs";

/// The key that seals journals, and where jobs lie. Clones share the key.
#[derive(Clone, Debug)]
pub struct SessionAuthority {
    key: Arc<SealKey>,
    jobs: PathBuf,
}

/// Where the key and the jobs of a state folder lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityPlaces {
    pub key: PathBuf,
    pub jobs: PathBuf,
}

impl AuthorityPlaces {
    /// The usual places in a state folder.
    pub fn in_state(state_dir: &Path) -> Self {
        Self { key: state_dir.join(KEY_FILE), jobs: state_dir.join(JOBS_FOLDER) }
    }
}

/// Whether other users can put another file in the place of one in a folder that is there.
pub fn is_writable_by_others(folder: &Path) -> bool {
    let others = |about: fs::Metadata| about.mode() & 0o022 != 0 && about.mode() & STICKY == 0;
    fs::metadata(folder).is_ok_and(others)
}

/// The bit of a folder in which files are removed by their owners alone.
const STICKY: u32 = 0o1000;

impl SessionAuthority {
    /// Opens the key, which is made if there is none. Others must not be able to write to the
    /// folder of the key or to that of the jobs.
    pub fn open(places: &AuthorityPlaces) -> Result<Self, KeyError> {
        let folder = places.key.parent().unwrap_or(Path::new("/"));
        for path in [folder, &places.jobs] {
            if is_writable_by_others(path) {
                return Err(KeyError::Writable { path: path.to_owned() });
            }
        }
        Ok(Self::new(SealKey::open(&places.key)?, places.jobs.clone()))
    }

    pub fn new(key: SealKey, jobs: PathBuf) -> Self {
        Self { key: Arc::new(key), jobs }
    }

    /// The folder of all jobs.
    pub fn jobs(&self) -> &Path {
        &self.jobs
    }

    pub fn key(&self) -> &Arc<SealKey> {
        &self.key
    }

    /// Where the jobs of a session lie, or would lie.
    pub fn session_path(&self, id: &SessionId) -> PathBuf {
        self.jobs.join(id.as_str())
    }

    /// Where an attempt of a session lies, or would lie.
    pub fn attempt_path(&self, id: &SessionId, attempt: &AttemptId) -> PathBuf {
        self.session_path(id).join(attempt.task.as_str()).join(attempt.attempt.to_string())
    }

    /// The folder of the jobs of a session, made if it is not there.
    pub(crate) fn make_session(&self, id: &SessionId) -> Result<OpenFolder, FileError> {
        layout::make_private(&make_private_path(&self.jobs)?, id.as_str())
    }

    /// The folder of the jobs of a session, if it is there.
    pub(crate) fn find_session(&self, id: &SessionId) -> Result<Option<OpenFolder>, FileError> {
        absent_is_none(OpenFolder::open(&self.session_path(id)))
    }

    /// Removes everything that jobs of a session left. A session that has none is no error.
    pub fn remove_jobs(&self, id: &SessionId) -> Result<(), FileError> {
        match absent_is_none(OpenFolder::open(&self.jobs))? {
            Some(jobs) if jobs.stat(id.as_str())?.is_some() => jobs
                .remove_all(id.as_str())
                .map_err(|source| jobs.error("remove", id.as_str(), source)),
            _ => Ok(()),
        }
    }
}
