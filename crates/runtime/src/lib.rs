//! Processes that are owned. A domain starts processes and gives panes; the scheduler gives
//! approved commands a terminal slot and a pane, reads what they print, and knows when they end.

pub mod agent;
pub mod agent_runtime;
pub mod approval;
pub mod clock;
pub mod command;
pub mod domain;
#[cfg(feature = "tokio")]
pub mod drive;
pub mod execution;
pub mod hold;
pub mod invariants;
mod launch;
mod local;
pub mod mock;
pub mod processes;
pub mod sandbox;
pub mod scheduler;
pub mod slot;
mod system;

pub use hold::HolderDomain;
pub use local::LocalDomain;
