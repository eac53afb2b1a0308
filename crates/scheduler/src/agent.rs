//! Agents: those who take commands, each with what it is capable of, one command at a time.

use std::collections::BTreeSet;
use std::fmt;

use crate::command::{Capability, CommandId};
use crate::execution::ExecutionId;

/// Names an agent. Given in order, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(pub u64);

impl fmt::Display for AgentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "agent {}", self.0)
    }
}

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AgentState {
    /// The agent has no command.
    Idle,
    /// It has a command that has not begun.
    Assigned {
        /// The command that was given to the agent.
        command: CommandId,
    },
    /// The agent's command has an execution.
    Executing {
        /// The execution of the agent's command.
        execution: ExecutionId,
    },
}

/// An agent of the runtime, its abilities and what it does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentRecord {
    pub(crate) capabilities: BTreeSet<Capability>,
    pub(crate) state: AgentState,
    /// It was hired for one command that ran already, and leaves with it.
    pub(crate) temporary: bool,
}

impl AgentRecord {
    /// What it is doing.
    pub fn state(&self) -> AgentState {
        self.state
    }

    /// Whether it can take a command that needs this.
    pub fn can(&self, capability: &Capability) -> bool {
        self.capabilities.contains(capability)
    }

    /// Whether it can take a command that needs all of this.
    pub fn can_all(&self, capabilities: &BTreeSet<Capability>) -> bool {
        self.first_missing(capabilities).is_none()
    }

    /// The first of these capabilities that it does not have.
    pub(crate) fn first_missing<'a>(
        &self,
        capabilities: &'a BTreeSet<Capability>,
    ) -> Option<&'a Capability> {
        capabilities.iter().find(|capability| !self.can(capability))
    }

    /// Whether it has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.state == AgentState::Idle
    }
}
