//! One run of one command: where it stands and how it ended.
//!
//! This is the part that decides and is pure. What a run holds of the world, its pane and its
//! screen, is in [`crate::slot`]; [`ExecutionIoDriver`] moves the bytes.

mod driver;
mod output;

use std::fmt;

use coven_runtime::domain::{DomainId, ExitStatus};

use crate::agent::AgentId;
use crate::approval::{ApprovalAudit, ApprovalVerdict};
use crate::clock::Moment;
use crate::command::CommandId;
use crate::slot::SlotId;

pub use driver::{DriverFlow, DriverTurn, ExecutionIoDriver, TURN_LIMIT};
pub use output::{OutputRest, OutputRing};

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
pub enum ExecutionFailure {
    /// The pane could not be started.
    #[error("it could not be started in {}: {error}", DisplayDomain(.domain.as_ref()))]
    Spawn {
        /// Where; nothing if there was no domain to start it in.
        domain: Option<DomainId>,
        /// What the domain said.
        error: String,
    },
    /// It ended, but not with 0.
    #[error("it ended with {0}")]
    Exit(ExitStatus),
    /// The process is gone and its exit status is not known.
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
        /// The command it depends on.
        command: CommandId,
        /// How that one ended.
        ending: ExecutionEnding,
    },
}

/// Writes where a pane was to be started.
struct DisplayDomain<'a>(Option<&'a DomainId>);

impl fmt::Display for DisplayDomain<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(domain) => write!(formatter, "the domain `{domain}`"),
            None => formatter.write_str("any domain"),
        }
    }
}

/// How a command ended without success, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionEnding {
    /// The command it depends on failed.
    Failed,
    /// The command was cancelled.
    Cancelled,
    /// The approval was refused.
    Rejected,
}

impl fmt::Display for ExecutionEnding {
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
pub enum ExecutionOutcome {
    /// It exited with 0.
    Succeeded,
    /// It failed, before or after it was started.
    Failed(ExecutionFailure),
    /// The command was cancelled.
    Cancelled {
        /// How its process ended, if it had been started and that is known.
        exit: Option<ExitStatus>,
    },
    /// It was not let run.
    Rejected(ApprovalAudit),
}

impl ExecutionOutcome {
    /// Nothing if it succeeded.
    pub fn ending(&self) -> Option<ExecutionEnding> {
        match self {
            Self::Succeeded => None,
            Self::Failed(_) => Some(ExecutionEnding::Failed),
            Self::Cancelled { .. } => Some(ExecutionEnding::Cancelled),
            Self::Rejected(_) => Some(ExecutionEnding::Rejected),
        }
    }
}

impl fmt::Display for ExecutionOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded => formatter.write_str("succeeded"),
            Self::Failed(failure) => write!(formatter, "failed: {failure}"),
            Self::Cancelled { exit: Some(exit) } => write!(formatter, "cancelled ({exit})"),
            Self::Cancelled { exit: None } => formatter.write_str("cancelled"),
            Self::Rejected(ApprovalAudit {
                verdict: ApprovalVerdict::TimedOut, reason, ..
            }) => {
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
    /// The process was started and has not ended.
    Running,
    /// Its process is being ended. It counts as running until nothing of it is left.
    Stopping {
        /// What led to this state.
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
        /// What led to this state.
        reason: ExecutionFailure,
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
    pub fn outcome(&self) -> Option<ExecutionOutcome> {
        match self {
            Self::Succeeded => Some(ExecutionOutcome::Succeeded),
            Self::Failed { reason } => Some(ExecutionOutcome::Failed(reason.clone())),
            Self::Cancelled { exit } => Some(ExecutionOutcome::Cancelled { exit: *exit }),
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
            (Some(StopCause::Broken(error)), _) => failed(ExecutionFailure::Pane { error }),
            (None, None) => failed(ExecutionFailure::NoExitStatus),
            (None, Some(exit)) if exit.is_success() => Self::Succeeded,
            (None, Some(exit)) => failed(ExecutionFailure::Exit(exit)),
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
    /// The command that this executes.
    pub fn command(&self) -> CommandId {
        self.command
    }

    /// The agent that executes it.
    pub fn agent(&self) -> AgentId {
        self.agent
    }

    /// Where it runs, or ran: a slot is free again when its execution has ended.
    pub fn slot(&self) -> SlotId {
        self.slot
    }

    /// The state of the execution.
    pub fn state(&self) -> &ExecutionState {
        &self.state
    }

    /// Whether its process ran already when its command was taken up.
    pub fn adopted(&self) -> bool {
        self.adopted
    }
}
