//! What can be wrong with a session.

use std::io;
use std::path::PathBuf;

/// Why a session could not be begun, found or kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The id cannot be a file name.
    #[error("{id:?} is not a session id")]
    BadId { id: String },
    /// A new session was to get the id of an old one.
    #[error("session {id} exists already")]
    Taken { id: String },
    #[error("there is no session {id}")]
    Unknown { id: String },
    /// The environment does not say where sessions are kept.
    #[error("there is no place for sessions")]
    NoFolder,
    /// The file was written by a newer version.
    #[error("{} has version {version}, which is newer than this program", path.display())]
    Newer { path: PathBuf, version: u32 },
    /// The file is not what it should be.
    #[error("{} is damaged", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    /// The file could not be read.
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file could not be written.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The system has no random numbers.
    #[error("cannot make a session id")]
    Random(#[source] io::Error),
}

impl Error {
    /// Whether the command line asked for something that cannot be.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::BadId { .. })
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::BadId { .. } => Some("use 1 to 64 letters, digits, `-` and `_`".to_owned()),
            Self::Taken { id } => Some(format!("go on with it: --resume {id}")),
            Self::Unknown { .. } => {
                Some("a session is kept once its first turn has ended".to_owned())
            }
            Self::NoFolder => Some("set COVEN_DEMO_HOME to a folder".to_owned()),
            Self::Damaged { .. } => Some("delete it to forget the session".to_owned()),
            _ => None,
        }
    }
}
