//! The scheduler on a scripted domain, and the whole runtime on real processes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod agent_runtime;
mod approvals;
mod endings;
mod flow;
mod io;
mod random;
mod ready;
mod stage;
mod ticks;
