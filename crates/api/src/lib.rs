//! What travels between the daemon and those who use it.
//!
//! Each module has the words of one part of the API: what is asked and what is answered.
//! [`problem`] is how everything that goes wrong is told. [`route`] lists every route, and
//! [`openapi`] makes the published document from that list and from the types themselves.
//! With the feature `client` there is a small typed client over the daemon's socket or over TCP.
//!
//! ```
//! use coven_api::workflow::StartWorkflow;
//!
//! let start = StartWorkflow { grimoire: Some("demo".to_owned()), ..StartWorkflow::default() };
//! assert_eq!(serde_json::to_string(&start)?, r#"{"grimoire":"demo"}"#);
//!
//! let refused = coven_api::ApiProblem::new(coven_api::ProblemCode::NotLive, "it has ended");
//! assert_eq!(refused.code, coven_api::ProblemCode::NotLive);
//! # Ok::<(), serde_json::Error>(())
//! ```

#![warn(missing_docs)]

pub mod attach;
pub mod catalogue;
pub mod changes;
#[cfg(feature = "client")]
pub mod client;
pub mod device;
pub mod event;
pub mod intervention;
pub mod ipc;
pub mod openapi;
pub mod problem;
pub mod route;
pub mod system;
pub mod task;
pub mod tree;
pub mod workflow;

#[cfg(feature = "client")]
pub use client::{ApiClient, ClientError, DaemonAddress};
pub use problem::{ApiProblem, ProblemCode};

/// The version of this API. It grows when something is added; what is there keeps its meaning.
pub const API_VERSION: u32 = 1;
