//! Reads a terminal exactly. Knows no agent, no process, no clock and no async.

mod dump;
pub mod keys;
pub mod parser;
pub mod recording;
mod replies;
pub mod sanitise;
pub mod screen;
pub mod screen_log;
pub mod signals;
pub mod snapshot;
pub mod through;
