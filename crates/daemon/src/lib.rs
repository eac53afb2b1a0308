//! The daemon: one for each user, for any number of base directories.
//!
//! [`serve`] runs it. `house` keeps what there is to keep: an orchestrator for each base
//! directory, and one feed over all. `server` is the router, `gate` decides who may come in,
//! `listen` takes connections; `route` has what is asked and answered, a file for each part of the
//! API, and `stream` everything that goes on for longer than one answer.

#![allow(
    clippy::result_large_err,
    reason = "a problem is what a request comes to, once, and a box would be in the way everywhere"
)]

mod answer;
mod auto;
mod clock;
mod config;
mod error;
mod gate;
mod hooks;
mod house;
mod listen;
mod log;
mod measure;
mod options;
mod peer;
mod policies;
mod problems;
mod route;
mod secret;
mod serve;
mod server;
mod stream;
mod trust;

pub use config::{Config, schema as config_schema};
pub use error::Error;
pub use options::{Options, Places};
pub use peer::inside_agent;
pub use serve::serve;
pub use trust::{Inventory, is_trusted};
