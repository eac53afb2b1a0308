//! The crate from outside.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod adversarial;
mod casts;
mod mutations;
mod recordings;
mod transcript;
