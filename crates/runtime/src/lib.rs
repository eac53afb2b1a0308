//! Processes that are owned. A domain starts processes and gives panes; the scheduler gives
//! approved commands a terminal slot and a pane, reads what they print, and knows when they end.

pub mod domain;
pub mod hold;
mod launch;
mod local;
pub mod processes;
pub mod sandbox;
mod system;

pub use hold::HolderDomain;
pub use local::LocalDomain;
