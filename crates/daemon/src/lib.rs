//! The daemon: one for each user, for any number of base directories.
//!
//! [`serve`] runs it. Everything that can be asked for is a method of `coven_service::Service`; the
//! daemon is how it is asked. `server` is the router, `auth` decides who may come in, `listen` takes
//! connections; `route` has what is asked and answered, a file for each part of the API, and
//! `stream` everything that goes on for longer than one answer.

#![allow(
    clippy::result_large_err,
    reason = "a problem is what a request comes to, once, and a box would be in the way everywhere"
)]

mod answer;
mod auth;
mod device;
mod error;
mod identity;
mod listen;
mod log;
mod options;
mod peer;
mod person;
mod port;
mod route;
mod secret;
mod serve;
mod server;
mod sign_in;
mod state;
mod stream;

pub use coven_service::{
    ProjectTrust, ServiceConfig, UserFolders, config_schema, definition_problem, folder_problem,
    project_schema, project_trust, read_policy, read_trusted_policy, read_user_policy,
};
pub use error::Error;
pub use options::Options;
pub use peer::inside_agent;
pub use serve::serve;
