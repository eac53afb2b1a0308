//! Why a request is not carried out.

use std::io;
use std::path::PathBuf;

use coven_model::{InterventionChoice, InterventionId, SessionId, TaskId};
use coven_notation::ProblemReport;
use coven_orchestrator::{ExecuteError, OpenError, RequestError, TreeRequestError};
use coven_store::NotOwned;
use coven_workflow::catalogue::UnusableGrimoire;

use crate::text::printable;

/// Why a request is not carried out. Its text says what exactly went wrong; [`Self::problem`] adds
/// the stable code and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The request contradicts itself, or a value is out of its range.
    #[error("{0}")]
    BadRequest(String),
    /// A word in a list of statuses is not a status.
    #[error("`{0}` is not a status")]
    UnknownStatus(String),
    /// A value of the request does not fit.
    #[error("{0}")]
    BadInput(String),
    /// What was decided is listed for one session only.
    #[error("what was decided is listed for one session")]
    NoSessionNamed,

    /// The folder cannot be used as a base directory.
    #[error("{0}")]
    BadBaseDir(String),
    /// The folder belongs to another user, or every user may write to it.
    #[error("{}", printable(&.0.to_string()))]
    NotOwned(NotOwned),
    /// The journal changed since it was looked at.
    #[error("the session {0} changed since you looked at it")]
    StaleImport(SessionId),
    /// The session cannot be made the user's own.
    #[error("{0}")]
    NotImportable(String),
    /// Reading and checking definitions takes too long.
    #[error("the definitions could not be checked within {} s", .0.as_secs())]
    CheckTimeout(std::time::Duration),
    /// The base directory cannot be opened.
    #[error("{0}")]
    Open(OpenError),
    /// Another folder is in the place of the one whose runs are under way.
    #[error("{} is not the folder any more that its runs were started in", .0.display())]
    BaseDirReplaced(PathBuf),
    /// The user agrees to something else than what the folder has now.
    #[error("{0}")]
    StaleTrust(StaleTrust),

    /// No session has this id or name.
    #[error("no session has the id or name `{text}`")]
    UnknownSession {
        /// What was asked for.
        text: String,
        /// The base directories that could not be opened, where it may be.
        closed: Vec<PathBuf>,
    },
    /// Several sessions begin with this id or have this name.
    #[error("`{text}` could be {}", named(.candidates))]
    AmbiguousSession {
        /// What was asked for.
        text: String,
        /// The sessions it could be, with their base directories.
        candidates: Vec<(SessionId, PathBuf)>,
    },
    /// The session was deleted while it was looked at.
    #[error("the session {0} is gone")]
    SessionGone(SessionId),
    /// The session that was started with this idempotency key was deleted.
    #[error("the session {0} that was made with this key was deleted")]
    KeyOfDeleted(SessionId),

    /// The session has no such task.
    #[error("there is no task `{0}`")]
    UnknownTask(String),
    /// The task has no such attempt.
    #[error("there is no attempt {wanted}; the newest is {newest}")]
    UnknownAttempt {
        /// What was asked for.
        wanted: u32,
        /// The number of the newest attempt of the task.
        newest: u32,
    },
    /// The task has no recording because it has not been started.
    #[error("nothing was recorded: it has not been started, or its session is foreign")]
    NothingRecorded,
    /// What a process printed cannot be read.
    #[error("what it printed cannot be read: {0}")]
    UnreadableOutput(String),
    /// The task runs, without a terminal.
    #[error("the task {0} runs without a terminal")]
    NoTerminal(TaskId),
    /// The task has no process.
    #[error("the task {0} has no running agent")]
    NotRunning(TaskId),
    /// What was typed did not reach the agent.
    #[error("{0}")]
    NotTyped(String),

    /// There is no such intervention.
    #[error("there is no intervention {0}")]
    UnknownIntervention(String),
    /// There is no such intervention, because there is no such session.
    #[error("there is no intervention {0}: its session does not exist")]
    InterventionOfNoSession(InterventionId),
    /// The intervention was decided before.
    #[error("{by} decided it before: {choice}")]
    AlreadyDecided {
        /// The person or policy that decided first.
        by: String,
        /// The decision that stands.
        choice: InterventionChoice,
    },
    /// The intervention was withdrawn.
    #[error("it is not asked any more")]
    NotAsked,
    /// A part of what would be approved is not on the agent's screen.
    #[error("a part of what is asked is not on the agent's screen, so it cannot be approved")]
    NotShownWhole,
    /// The same for an agent without a terminal, where there is no more to look at.
    #[error("a part of what is asked is not shown, so it cannot be approved")]
    NotShownAnywhere,
    /// A command cannot be approved for always.
    #[error("it cannot be approved for always: {0}")]
    NoAlways(coven_policy::NoAlwaysRule),
    /// Approving for always makes a rule, and the decision does not say which one was seen.
    #[error("this makes a rule, and the decision does not say which rule was seen")]
    NoRule,
    /// The decider saw another rule.
    #[error("the rule that would be made is another one than was seen")]
    OtherRule,
    /// Only approving for always makes a rule that can be saved.
    #[error("only approve-always makes a rule that can be saved")]
    NothingToSave,
    /// A rule cannot be written into the user's policy.
    #[error("the rule was not saved, and nothing was decided: {0}")]
    NotSaved(coven_policy::AddRuleError),
    /// The user's policy is not one that the user agreed to.
    #[error(
        "the rule was not saved, and nothing was decided: your policy changed and was not accepted"
    )]
    PolicyNotAccepted,
    /// The decision is about a screen and does not say which.
    #[error("this is about a screen, and the decision does not say what was seen")]
    NoDigest,

    /// There is no such grimoire.
    #[error("there is no grimoire `{name}`")]
    UnknownGrimoire {
        /// What was asked for.
        name: String,
        /// A name that may have been meant.
        near: Option<String>,
    },
    /// There is no such adapter.
    #[error("there is no adapter `{0}`")]
    UnknownAdapter(String),
    /// The grimoire cannot be used.
    #[error("{}", printable(&.0.to_string()))]
    Grimoire(UnusableGrimoire),
    /// The configuration that the project brings along has errors.
    #[error("{}", first_problem("the project's configuration has errors", .0))]
    ProjectConfig(Box<ProblemReport>),
    /// The session cannot be made.
    #[error("{}", execute(.0))]
    Execute(ExecuteError),
    /// The session does not do what it is asked.
    #[error("{}", printable(&.0.to_string()))]
    Request(RequestError),

    /// What is asked of a tree cannot be done.
    #[error("{}", printable(&.0.to_string()))]
    Tree(TreeRequestError),
    /// The session has several trees, and the request does not say which is meant.
    #[error("it has several trees: {}", .0.join(", "))]
    WhichTree(Vec<String>),
    /// Several tasks worked in the tree of the run, and the request does not say which is meant.
    #[error("several tasks worked in the tree of the run: {}", .0.join(", "))]
    WhichTask(Vec<String>),

    /// The disk does not take it.
    #[error("{what}: {source}")]
    Storage {
        /// What was to be done.
        what: String,
        /// Why it could not be.
        #[source]
        source: io::Error,
    },
    /// The daemon is going away.
    #[error("the daemon is stopping")]
    Stopping,
    /// A fault of the service itself, such as a task that panicked.
    #[error("{0}")]
    Internal(String),
}

/// How what the user agrees to differs from what a folder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StaleTrust {
    /// Its files are not those that were looked at.
    #[error("what the folder brings along has changed since it was looked at")]
    Content,
    /// Other users can write to it than those that were shown.
    #[error("the owners of the folder have changed since they were looked at")]
    Owners,
    /// The policy is not the one that was looked at.
    #[error("the policy has changed since it was looked at")]
    Policy,
    /// The request does not say what was looked at.
    #[error("to trust a folder, say what was seen")]
    NothingSeen,
}

impl From<OpenError> for ServiceError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NotOwned(error) => Self::NotOwned(error),
            error => Self::Open(error),
        }
    }
}

impl From<ExecuteError> for ServiceError {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::Grimoire(error) => Self::Grimoire(error),
            ExecuteError::BaseDir(error) => error.into(),
            ExecuteError::Request(error) => error.into(),
            error => Self::Execute(error),
        }
    }
}

impl From<RequestError> for ServiceError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<TreeRequestError> for ServiceError {
    fn from(error: TreeRequestError) -> Self {
        match error {
            TreeRequestError::Request(error) => error.into(),
            error => Self::Tree(error),
        }
    }
}

impl ServiceError {
    /// What a process printed cannot be read.
    pub(crate) fn unreadable(error: impl std::fmt::Display) -> Self {
        Self::UnreadableOutput(error.to_string())
    }
}

fn named(all: &[(SessionId, PathBuf)]) -> String {
    let each = all.iter().map(|(id, base_dir)| format!("{id} in {}", base_dir.display()));
    each.collect::<Vec<_>>().join(", ")
}

fn execute(error: &ExecuteError) -> String {
    let ExecuteError::Definition(report) = error else { return printable(&error.to_string()) };
    first_problem("the definition has errors", report)
}

fn first_problem(what: &str, report: &ProblemReport) -> String {
    let first = report.problems.first();
    let first = first.map(|first| format!(": {}", printable(&first.message)));
    format!("{what}{}", first.unwrap_or_default())
}
