//! The domains, with real processes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod clients;
mod closing;
mod holder;
mod limits;
mod lineage;
mod links;
mod local;
mod survival;
