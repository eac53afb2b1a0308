//! What the board refuses. A refusal changes nothing.

use crate::agent::AgentId;
use crate::approval::ApprovalId;
use crate::command::{Capability, CommandId};
use crate::execution::ExecutionId;

/// Why something cannot be done now, or at all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum IllegalTransition {
    /// There is no agent with this id.
    #[error("there is no {0}")]
    NoSuchAgent(AgentId),
    /// There is no command with this id.
    #[error("there is no {0}")]
    NoSuchCommand(CommandId),
    /// There is no execution with this id.
    #[error("there is no {0}")]
    NoSuchExecution(ExecutionId),
    /// There is no approval request with this id.
    #[error("there is no {0}")]
    NoSuchApproval(ApprovalId),
    /// There are as many agents as may be.
    #[error("there are {0} agents already, which is the limit; remove one that is idle")]
    TooManyAgents(usize),
    /// The agent has something to do.
    #[error("{0} is busy")]
    AgentBusy(AgentId),
    /// The agent cannot do what the command needs.
    #[error("{agent} is not capable of `{capability}`, which {command} needs")]
    NotCapable {
        /// The agent that was named.
        agent: AgentId,
        /// The command that was named.
        command: CommandId,
        /// The capability that the agent lacks.
        capability: Capability,
    },
    /// A command with this id exists or existed.
    #[error("the id of {0} is used; ids are given once and go up")]
    IdUsed(CommandId),
    /// A command depends on one that does not exist.
    #[error("{command} depends on {dependency}, which is not queued; queue that one first")]
    NoSuchDependency {
        /// The command that was named.
        command: CommandId,
        /// The dependency that has not succeeded.
        dependency: CommandId,
    },
    /// What the command depends on has not succeeded yet.
    #[error("{0} still waits for commands it depends on")]
    DependenciesOpen(CommandId),
    /// As many commands wait as may.
    #[error(
        "the queue is full: {limit} commands wait already; queue {command} again when one has begun"
    )]
    QueueFull {
        /// The command that was not taken in.
        command: CommandId,
        /// How many may wait.
        limit: usize,
    },
    /// The command has no approval.
    #[error("{0} is not approved")]
    NotApproved(CommandId),
    /// An agent has the command already.
    #[error("{0} is given to an agent already")]
    AlreadyAssigned(CommandId),
    /// No agent has the command.
    #[error("{0} is not given to an agent")]
    NotAssigned(CommandId),
    /// The command has begun or is over.
    #[error("{0} has begun already")]
    AlreadyBegun(CommandId),
    /// Every slot is in use.
    #[error("no terminals available: all {0} slots are in use")]
    NoTerminalsAvailable(usize),
    /// The request is decided.
    #[error("{0} is decided already")]
    AlreadyDecided(ApprovalId),
    /// The decision comes too late.
    #[error("the deadline of {0} has passed")]
    DeadlinePassed(ApprovalId),
    /// The command has ended or its process is gone.
    #[error("{0} has ended already")]
    TooLate(CommandId),
    /// The execution has no pane: it has ended, or never began.
    #[error("{0} does not run")]
    NotRunning(ExecutionId),
    /// The execution is not in a state where this can happen.
    #[error("{0} is not where this can happen")]
    WrongState(ExecutionId),
    /// The command has not ended.
    #[error("{0} has not ended")]
    NotEnded(CommandId),
    /// Another command still waits for this one's result.
    #[error("{0} is still needed by a command that waits")]
    StillNeeded(CommandId),
}
