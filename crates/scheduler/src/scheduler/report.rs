//! What the scheduler tells: what it did since it was last asked, what ended, what went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use coven_runtime::domain::SpawnError;

use super::{AgentAssignment, IllegalTransition};
use crate::approval::ApprovalId;
use crate::command::CommandId;
use crate::execution::{ExecutionId, ExecutionOutcome};
use crate::slot::SlotCapture;

/// The end of a command. Told once for each.
#[derive(Debug)]
pub struct Completion {
    /// The command this is about.
    pub command: CommandId,
    /// Its run, if it ever began.
    pub execution: Option<ExecutionId>,
    /// How the command ended.
    pub outcome: ExecutionOutcome,
    /// What its terminal or pipes had to show, if its pane was ever there.
    pub capture: Option<SlotCapture>,
    /// What the command carried for its caller.
    pub metadata: BTreeMap<String, String>,
}

/// What went wrong. None of these stops the scheduler.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not possible now, or at all.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The pane of a command could not be started. Its execution has failed, its slot is free.
    #[error("{command} could not be started: {source}")]
    SpawnFailed {
        /// The command this is about.
        command: CommandId,
        /// The execution of the command.
        execution: ExecutionId,
        /// What the domain said.
        source: SpawnError,
    },
    /// A pane did not do what it was asked to.
    #[error("{execution}: {what}: {source}")]
    Pane {
        /// The execution that owns the pane.
        execution: ExecutionId,
        /// What was being done.
        what: &'static str,
        /// What the pane said.
        source: io::Error,
    },
    /// Waiting for panes does not work.
    #[error("waiting for panes: {0}")]
    Wait(#[source] io::Error),
}

/// What happened since the last report.
#[derive(Debug, Default)]
pub struct TickResult {
    /// Commands that were given to agents.
    pub assignments: Vec<AgentAssignment>,
    /// Executions that were started.
    pub executions_started: Vec<ExecutionId>,
    /// Commands that ended, each told once.
    pub completions: Vec<Completion>,
    /// Requests without a decision in time.
    pub approval_timeouts: Vec<ApprovalId>,
    /// Errors that belong to no command.
    pub errors: Vec<Error>,
    /// Executions that printed something: their screens and buffers are worth a look. One that has
    /// ended meanwhile is among the completions.
    pub active: BTreeSet<ExecutionId>,
}

impl TickResult {
    /// Whether the report has no entries.
    pub fn is_quiet(&self) -> bool {
        self.active.is_empty() && !self.has_news()
    }

    /// Whether a report has not been taken yet.
    pub(crate) fn has_news(&self) -> bool {
        !(self.assignments.is_empty()
            && self.executions_started.is_empty()
            && self.completions.is_empty()
            && self.approval_timeouts.is_empty()
            && self.errors.is_empty())
    }

    /// Adds what happened later.
    pub(crate) fn append(&mut self, later: Self) {
        self.assignments.extend(later.assignments);
        self.executions_started.extend(later.executions_started);
        self.completions.extend(later.completions);
        self.approval_timeouts.extend(later.approval_timeouts);
        self.errors.extend(later.errors);
        self.active.extend(later.active);
    }
}
