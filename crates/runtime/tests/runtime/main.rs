//! The runtime: its scheduler on a scripted domain, its domains with real processes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod agent_runtime;
mod holder;
mod limits;
mod links;
mod local;
mod scheduler_approvals;
mod scheduler_endings;
mod scheduler_flow;
mod scheduler_io;
mod scheduler_random;
mod scheduler_ready;
mod scheduler_stage;
mod scheduler_ticks;
mod survival;
