//! The crate from outside.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test says what it did")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod adversarial;
mod answers;
mod behind_work;
mod casts;
mod commands;
mod drift;
mod mutations;
mod recordings;
mod transcript;
