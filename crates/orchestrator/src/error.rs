//! What can go wrong, told apart.

use std::path::PathBuf;

use coven_model::{InterventionId, SessionId, TaskId};
use coven_notation::ProblemReport;
use coven_runner::DeliveryError;
use coven_store::import::ImportError;
use coven_store::index::ResolveError;
use coven_store::journal::{AppendError, CreateError, OpenError as JournalError, ReadError};
use coven_store::lock::LockError;
use coven_store::register::RegisterError;
use coven_store::retention::RemoveError;
use coven_store::seal::KeyError;
use coven_store::{BaseDirError, FileError, NotOwned};
use coven_workflow::catalogue::UnusableGrimoire;
use coven_workflow::state::RefusalReason;

pub use crate::engine::trees::NoRepository;
use crate::state::ClaimError;

/// Why a base directory cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// It is not the user's own.
    #[error(transparent)]
    NotOwned(#[from] NotOwned),
    /// The key that seals its sessions cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The registry of its sessions cannot be opened.
    #[error("its sessions cannot be registered: {0}")]
    Registry(#[from] RegisterError),
    /// Another process keeps its sessions.
    #[error(transparent)]
    Locked(#[from] LockError),
}

impl From<BaseDirError> for OpenError {
    fn from(error: BaseDirError) -> Self {
        match error {
            BaseDirError::File(error) => Self::Folder(error),
            BaseDirError::NotOwned(error) => Self::NotOwned(error),
        }
    }
}

/// Why a session cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// There is no such grimoire, or it cannot be used.
    #[error(transparent)]
    Grimoire(#[from] UnusableGrimoire),
    /// The definition is wrong.
    #[error("the definition has errors:\n{}", .0.render(false))]
    Definition(Box<ProblemReport>),
    /// The inputs are wrong.
    #[error("{}", .0.join("\n"))]
    Inputs(Vec<String>),
    /// An agent of it cannot do what is asked of it, or its program is not there.
    #[error("{}", .0.join("\n"))]
    Unable(Vec<String>),
    /// The session's folder cannot be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The base directory cannot be used any more.
    #[error(transparent)]
    BaseDir(OpenError),
    /// Its folder cannot be looked through.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// The caller's environment cannot be kept for it.
    #[error("the environment of the session cannot be kept: {0}")]
    Environment(#[source] std::io::Error),
    /// It cannot be registered as the user's own.
    #[error("the session cannot be registered: {0}")]
    Registry(#[source] RegisterError),
    /// Its first facts cannot be written down.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Its trees cannot be made.
    #[error(transparent)]
    Trees(#[from] NoRepository),
    /// It cannot be claimed.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The key was used for another request.
    #[error("the key `{key}` was used for another request; use a new one for this")]
    KeyReused {
        /// The idempotency key that was given again.
        key: String,
    },
    /// An event from outside has the name of one of ours.
    #[error(
        "`{kind}` is an event of Coven itself; name yours so that it does not begin with `workflow.`"
    )]
    Reserved {
        /// The type of the event.
        kind: String,
    },
    /// The session was made and cannot begin.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl ExecuteError {
    /// Whether the disk is the reason, so that trying again may help.
    pub(crate) fn is_storage(&self) -> bool {
        match self {
            Self::Create(_)
            | Self::BaseDir(OpenError::Folder(_))
            | Self::Folder(_)
            | Self::Environment(_)
            | Self::Append(_) => true,
            Self::Claim(ClaimError::Register(error)) | Self::Registry(error) => {
                matches!(error, RegisterError::File(_))
            }
            _ => false,
        }
    }
}

/// Why a foreign session is not made the user's own.
#[derive(Debug, thiserror::Error)]
pub enum ImportFailed {
    /// It is the user's own already.
    #[error("the session {0} is yours already")]
    Own(SessionId),
    /// The user has it in another folder.
    #[error("the session {id} is a copy of one that you have in {}", path.display())]
    Copy {
        /// The session in both folders.
        id: SessionId,
        /// The folder of the one that is the user's own.
        path: PathBuf,
    },
    /// Its journal cannot be taken over.
    #[error(transparent)]
    Journal(#[from] ImportError),
    /// The folder cannot be used.
    #[error(transparent)]
    BaseDir(#[from] OpenError),
    /// It cannot be registered.
    #[error("it cannot be registered: {0}")]
    Registry(#[from] RegisterError),
    /// What was imported cannot be read.
    #[error(transparent)]
    Session(#[from] RequestError),
}

impl From<JournalError> for ImportFailed {
    fn from(error: JournalError) -> Self {
        Self::Session(error.into())
    }
}

impl From<FileError> for ImportFailed {
    fn from(error: FileError) -> Self {
        Self::Session(error.into())
    }
}

/// Why something asked of a session is not done.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// No session has this id or name.
    #[error(transparent)]
    Unknown(#[from] ResolveError),
    /// The session was not made by this user in this folder.
    #[error("the session {0} is foreign: it was not made by you in this folder")]
    Foreign(SessionId),
    /// The run does not allow it as it stands.
    #[error(transparent)]
    Refused(#[from] RefusalReason),
    /// Nothing can be written down at the moment.
    #[error(
        "the session cannot be written down now: {problem}; what you asked for is done when there is \
         room, if the session still allows it then"
    )]
    NotWritten {
        /// What the disk said to the last write.
        problem: String,
    },
    /// The session is not live.
    #[error("the session {0} is not running; resume it first")]
    NotLive(SessionId),
    /// The task has no agent that could be asked.
    #[error("the task {0} has no running agent")]
    NoAgent(TaskId),
    /// The task has no agent yet.
    #[error(
        "the agent of {0} has not started yet: it waits for a slot, because as many agents run as \
         may at once"
    )]
    Queued(TaskId),
    /// The session has no such task.
    #[error("there is no task `{task}`{}", suggestion(near.as_ref()))]
    NoTask {
        /// What was asked for.
        task: TaskId,
        /// What was perhaps meant.
        near: Option<TaskId>,
    },
    /// The task has not been started yet.
    #[error("the task {0} has not been started yet")]
    NotStarted(TaskId),
    /// The agent of the task is headless, so no message can be sent to it.
    #[error("the task {0} is not interactive, so nothing can be said to it")]
    NotInteractive(TaskId),
    /// A message did not reach the agent.
    #[error(transparent)]
    NotDelivered(#[from] DeliveryError),
    /// Nothing shows that the agent took an answer. What it asks is asked again. The reason says
    /// whether something was pressed.
    #[error("{reason}")]
    AnswerNotTaken {
        /// What is known of it.
        reason: String,
    },
    /// Nothing shows that a message reached the agent, and a person has to decide what becomes of
    /// it.
    #[error("{reason}; decide under {intervention} what becomes of the message")]
    MessageHeld {
        /// What waits for a decision.
        intervention: InterventionId,
        /// What is known of the message.
        reason: String,
    },
    /// Its folder cannot be removed.
    #[error(transparent)]
    NotRemoved(#[from] RemoveError),
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

fn suggestion(near: Option<&TaskId>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
