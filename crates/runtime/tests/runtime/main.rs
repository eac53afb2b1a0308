//! The runtime with real processes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod holder;
mod local;
mod survival;
