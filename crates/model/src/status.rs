//! Where a workflow and its tasks stand.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a run stands.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum WorkflowStatus {
    /// The run has not begun yet.
    #[default]
    Pending,
    /// Under way, and nothing waits for a person.
    Running,
    /// Something waits for a person; other tasks go on.
    Blocked,
    /// All steps are done.
    Completed,
    /// A step failed and nothing mends it.
    Failed,
    /// Stopped by a person.
    Cancelled,
}

impl WorkflowStatus {
    /// Whether nothing can happen to the run any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for WorkflowStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Where a task stands.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskStatus {
    /// No attempt has started yet.
    #[default]
    Pending,
    /// The process of an attempt runs.
    Running,
    /// Its process runs and waits for a person.
    WaitingForUser,
    /// The last attempt succeeded.
    Done,
    /// The last attempt failed, and no other follows by itself.
    Error,
    /// Stopped by a person, or never begun because the run was.
    Cancelled,
}

impl TaskStatus {
    /// Whether the task has ended.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Error | Self::Cancelled)
    }

    /// The name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::WaitingForUser => "WAITING_FOR_USER",
            Self::Done => "DONE",
            Self::Error => "ERROR",
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What an orchestrator says of a session. Always derived, never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OrchestratorState {
    /// No agent works and nothing waits.
    Idle,
    /// At least one agent works.
    Running,
    /// An agent, or the run, waits for a person.
    AwaitingInteraction,
    /// The run has failed.
    Error,
}

impl From<WorkflowStatus> for OrchestratorState {
    fn from(status: WorkflowStatus) -> Self {
        match status {
            WorkflowStatus::Pending | WorkflowStatus::Completed | WorkflowStatus::Cancelled => {
                Self::Idle
            }
            WorkflowStatus::Running => Self::Running,
            WorkflowStatus::Blocked => Self::AwaitingInteraction,
            WorkflowStatus::Failed => Self::Error,
        }
    }
}
