//! Gives approved commands a terminal slot and a pane, reads what they print, and knows when they
//! end. The board is pure and decides; the scheduler does what it decides on the panes of any
//! domain; [`agent_runtime::AgentRuntime`] is both behind one loop.

#![warn(missing_docs)]

pub mod agent;
pub mod agent_runtime;
pub mod approval;
pub mod clock;
pub mod command;
#[cfg(feature = "tokio")]
pub mod drive;
pub mod execution;
pub mod invariants;
pub mod scheduler;
pub mod slot;
