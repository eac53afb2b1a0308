//! Everything users can ask for, as plain async methods of one [`Service`], whatever the transport.
//!
//! The daemon serves it over HTTP and IPC: it reads a request, calls one method and writes the
//! answer. Requests and answers are the wire types of `coven-api`; what goes wrong is a
//! [`ServiceError`], which is turned into the problem that clients see in one place.
//!
//! A base directory is opened by the first command that needs it. Methods that only look open
//! nothing: they read what is on the disk.

#![warn(missing_docs)]
#![allow(
    clippy::result_large_err,
    reason = "an error is what a request comes to, once, and a box would be in the way everywhere"
)]

/// The code of the guide on the library is compiled with the examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/library.md")]
struct LibraryGuide;

mod attempt;
mod auto_answer;
mod background;
mod base_dir;
mod blocking;
mod catalogue;
mod catalogue_folders;
mod clock;
mod config;
mod context;
mod control;
mod device_store;
mod envelope;
mod error;
mod events;
mod find;
mod folder;
mod git_name;
mod holder_watch;
mod hooks;
mod import;
mod interventions;
mod key_watch;
mod list;
mod metrics;
mod past_snapshots;
mod places;
mod policies;
pub mod private_file;
mod problem;
mod report;
mod service;
mod sessions;
mod sharing;
mod show;
mod start;
mod status;
mod tape_quota;
mod task;
mod terminal;
pub mod text;
mod trees;
mod trust;
mod trust_changes;
mod trust_copy;
mod trust_inventory;
mod trust_paths;
mod trust_scan;
mod trust_store;
mod unattended;
mod versions;

pub use attempt::{Recording, TaskOutput, TranscriptFollower};
pub use config::{
    ConfigError, Hooks, LogLevel, RetentionConfig, RunDefaults, ServiceConfig,
    schema as config_schema,
};
pub use coven_orchestrator::{
    EventSubscription, FeedEvent, FeedItem, FeedSubscription, LiveEvent, PublishedEvent,
};
pub use coven_orchestrator::{ProjectTrust, blocking as blocking_work};
pub use coven_runner::{
    AgentReporter, RunnerEvent as TerminalEvent, RunnerSubscription as TerminalSubscription,
    RunnerUpdate as TerminalUpdate,
};
pub use coven_runtime::hold::HolderRegistry;
pub use coven_runtime::processes::{Identity as ProcessIdentity, JOB_VARIABLE};
pub use coven_runtime::{lineage, machine};
pub use coven_store::user_name;
pub use device_store::{DeviceCredential, DeviceError, DeviceRecord, DeviceStore};
pub use envelope::{event_kind, stream_name, write_json as write_event_json};
pub use error::{ServiceError, StaleTrust};
pub use events::SessionEvents;
pub use git_name::git_user_name;
pub use metrics::Metrics;
pub use places::{MAX_SOCKET_PATH_BYTES, NoHome, UserFolders};
pub use policies::{
    read as read_policy, read_trusted as read_trusted_policy, read_user as read_user_policy,
};
pub use problem::definition_problem;
pub use service::{Service, ServiceOptions, StartError};
pub use terminal::{Terminal, TerminalPicture};
pub use trees::config::{ProjectConfig, ProjectTrees, schema as project_schema};
pub use trust_store::{folder_problem, project_trust};
