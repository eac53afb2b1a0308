//! One run of one command: where it stands and how it ended.
//!
//! This is the part that decides and is pure. What a run holds of the world, its pane and its
//! screen, is in [`crate::slot`]; [`ExecutionIoDriver`] moves the bytes.

mod driver;
mod output;

use std::fmt;

use coven_runtime::domain::{DomainId, ExitStatus};

use crate::agent::AgentId;
use crate::approval::{Audit, Verdict};
use crate::clock::Moment;
use crate::command::CommandId;
use crate::slot::SlotId;

pub use driver::{ExecutionIoDriver, Flow, TURN_LIMIT, Turn};
pub use output::{Output, Rest};

/// Names an execution. Given in order, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionId(pub u64);

impl fmt::Display for ExecutionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "execution {}", self.0)
    }
}

/// Why something went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// The pane could not be started.
    #[error("it could not be started in {}: {error}", Place(.domain.as_ref()))]
    Spawn {
        /// Where; nothing if there was no domain to start it in.
        domain: Option<DomainId>,
        /// What the domain said.
        error: String,
    },
    /// It ended, but not with 0.
    #[error("it ended with {0}")]
    Exit(ExitStatus),
    /// It is gone and nobody knows how it ended.
    #[error("it ended without an exit status, so nobody knows whether it did its work")]
    NoExitStatus,
    /// The pane broke while it ran, and it was stopped.
    #[error("its pane broke: {error}")]
    Pane {
        /// What the pane said.
        error: String,
    },
    /// A command it depends on did not succeed, so it was never started.
    #[error("it depends on {command}, which {ending}")]
    Dependency {
        /// That command.
        command: CommandId,
        /// How that one ended.
        ending: Ending,
    },
}

/// Writes where a pane was to be started.
struct Place<'a>(Option<&'a DomainId>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(domain) => write!(formatter, "the domain `{domain}`"),
            None => formatter.write_str("any domain"),
        }
    }
}

/// How a command ended without success, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It was rejected.
    Rejected,
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Failed => "failed",
            Self::Cancelled => "was cancelled",
            Self::Rejected => "was rejected",
        })
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It exited with 0.
    Succeeded,
    /// It failed, before or after it was started.
    Failed(Failure),
    /// It was cancelled.
    Cancelled {
        /// How its process ended, if it had been started and that is known.
        exit: Option<ExitStatus>,
    },
    /// It was not let run.
    Rejected(Audit),
}

impl Outcome {
    /// Nothing if it succeeded.
    pub fn ending(&self) -> Option<Ending> {
        match self {
            Self::Succeeded => None,
            Self::Failed(_) => Some(Ending::Failed),
            Self::Cancelled { .. } => Some(Ending::Cancelled),
            Self::Rejected(_) => Some(Ending::Rejected),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded => formatter.write_str("succeeded"),
            Self::Failed(failure) => write!(formatter, "failed: {failure}"),
            Self::Cancelled { exit: Some(exit) } => write!(formatter, "cancelled ({exit})"),
            Self::Cancelled { exit: None } => formatter.write_str("cancelled"),
            Self::Rejected(Audit { verdict: Verdict::TimedOut, reason, .. }) => {
                write!(formatter, "rejected: {reason}")
            }
            Self::Rejected(audit) => {
                write!(formatter, "rejected by {}: {}", audit.by, audit.reason)
            }
        }
    }
}

/// Why a running process is being ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StopCause {
    /// Its command was cancelled.
    Cancelled,
    /// Its pane broke, as the text says.
    Broken(String),
}

/// Where an execution stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionState {
    /// Its pane is being started.
    Starting {
        /// It was cancelled meanwhile, and is to be stopped as soon as it is there.
        cancelled: bool,
    },
    /// Its process runs.
    Running,
    /// Its process is being ended. It counts as running until nothing of it is left.
    Stopping {
        /// Why.
        cause: StopCause,
        /// When it is ended by force, or by force once more.
        force: Moment,
    },
    /// Its process is gone; what it printed last is being read.
    Draining {
        /// How the process ended, if that is known.
        exit: Option<ExitStatus>,
        /// Why it was stopped, if it was.
        cause: Option<StopCause>,
        /// When we give up waiting for the end of the output.
        until: Moment,
    },
    /// Its process exited with 0.
    Succeeded,
    /// It could not be started or went wrong.
    Failed {
        /// Why.
        reason: Failure,
    },
    /// It was cancelled and its process is gone.
    Cancelled {
        /// How the process ended, if that is known.
        exit: Option<ExitStatus>,
    },
}

impl ExecutionState {
    /// Whether it still holds a slot.
    pub fn is_live(&self) -> bool {
        self.outcome().is_none()
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Succeeded => Some(Outcome::Succeeded),
            Self::Failed { reason } => Some(Outcome::Failed(reason.clone())),
            Self::Cancelled { exit } => Some(Outcome::Cancelled { exit: *exit }),
            _ => None,
        }
    }

    /// When something has to be done about it although nothing happens.
    pub fn deadline(&self) -> Option<Moment> {
        match self {
            Self::Stopping { force: due, .. } | Self::Draining { until: due, .. } => Some(*due),
            _ => None,
        }
    }

    /// The end of a process that ended like this.
    pub(crate) fn after(exit: Option<ExitStatus>, cause: Option<StopCause>) -> Self {
        let failed = |reason| Self::Failed { reason };
        match (cause, exit) {
            (Some(StopCause::Cancelled), exit) => Self::Cancelled { exit },
            (Some(StopCause::Broken(error)), _) => failed(Failure::Pane { error }),
            (None, None) => failed(Failure::NoExitStatus),
            (None, Some(exit)) if exit.is_success() => Self::Succeeded,
            (None, Some(exit)) => failed(Failure::Exit(exit)),
        }
    }
}

/// One run of one command by one agent on one slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    pub(crate) command: CommandId,
    pub(crate) agent: AgentId,
    pub(crate) slot: SlotId,
    pub(crate) state: ExecutionState,
    pub(crate) adopted: bool,
}

impl Execution {
    /// What runs.
    pub fn command(&self) -> CommandId {
        self.command
    }

    /// Who runs it.
    pub fn agent(&self) -> AgentId {
        self.agent
    }

    /// Where it runs, or ran: a slot is free again when its execution has ended.
    pub fn slot(&self) -> SlotId {
        self.slot
    }

    /// Where it stands.
    pub fn state(&self) -> &ExecutionState {
        &self.state
    }

    /// Whether its process ran already when its command was taken up.
    pub fn adopted(&self) -> bool {
        self.adopted
    }
}
