//! What can go wrong, told apart.

use coven_model::{SessionId, TaskId};
use coven_notation::Report;
use coven_store::FileError;
use coven_store::index::ResolveError;
use coven_store::journal::{AppendError, CreateError, OpenError as JournalError, ReadError};
use coven_store::lock::LockError;
use coven_workflow::catalogue::Unusable;
use coven_workflow::state::Refused;

/// Why a base directory cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// Somebody else keeps its sessions.
    #[error(transparent)]
    Locked(#[from] LockError),
}

/// Why a session cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// There is no such grimoire, or it cannot be used.
    #[error(transparent)]
    Grimoire(#[from] Unusable),
    /// The definition is wrong.
    #[error("the definition has errors:\n{}", .0.render(false))]
    Definition(Box<Report>),
    /// The inputs are wrong.
    #[error("{}", .0.join("\n"))]
    Inputs(Vec<String>),
    /// The session's folder cannot be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// Its folder cannot be looked through.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// Its first facts cannot be written down.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// It cannot begin.
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Why something asked of a session is not done.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// No session has this id or name.
    #[error(transparent)]
    Unknown(#[from] ResolveError),
    /// The run does not allow it as it stands.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The session is not live.
    #[error("the session {0} is not running; resume it first")]
    NotLive(SessionId),
    /// The task has no agent that could be asked.
    #[error("the task {0} has no running agent")]
    NoAgent(TaskId),
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its facts cannot be read.
    #[error(transparent)]
    Facts(#[from] ReadError),
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// The orchestrator is shutting down.
    #[error("the orchestrator is shutting down")]
    Closing,
}
