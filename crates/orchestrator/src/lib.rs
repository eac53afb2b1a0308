//! Sessions that survive. An [`Orchestrator`] keeps any number of sessions; each is one run of a
//! workflow, with one writer, one folder and a life of its own.
//!
//! `engine` carries out what a run decides: it starts jobs, follows agents, answers them, minds the
//! clock. `state` keeps what happened: the journal, the fold of it, the readable view. Nothing is
//! done before it is written down, and starting is recovering from an empty journal.
//!
//! A definition is run like this (it needs the `coven` program, which holds the jobs; the example
//! `library` in this crate is the same, complete):
//!
//! ```no_run
//! # async fn greet() -> Result<(), Box<dyn std::error::Error>> {
//! use coven_orchestrator::{NewSession, Options, Orchestrator, PublishedEvent};
//!
//! let state = "/home/me/.local/state/coven";
//! let orchestrator = Orchestrator::open(Options::new(".", state, "/usr/bin/coven")).await?;
//! let text = "name: greet\ndescription: Greets.\nsteps:\n  - {name: say, type: script, command: echo hello}\n";
//! let id = orchestrator.execute_workflow(NewSession::of_definition("greet.yaml", text)).await?;
//! let mut events = orchestrator.subscribe(&id, 0).await?;
//! while let Some(envelope) = events.next().await? {
//!     if let PublishedEvent::Fact { event, .. } = envelope.what
//!         && event.kind() == "workflow.completed"
//!     {
//!         break;
//!     }
//! }
//! orchestrator.close().await;
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod engine;
mod error;
mod event;
mod feed;
mod options;
mod orchestrator;
mod snapshot;
mod state;
mod trees;

pub use engine::{
    Admission, AdmissionPause, AdmissionQueue, Load, SessionController, SlotUse, WorkflowExecutor,
};
pub use error::{ExecuteError, ImportFailed, NoRepository, OpenError, RequestError};
pub use event::{EventSubscription, FeedEvent, LiveEvent, PublishedEvent};
pub use feed::{Feed, FeedItem, FeedSubscription};
pub use options::{
    DEFAULT_SLOTS, NewSession, Options, PolicyRefresh, PolicySink, ProjectTrust, SessionContent,
    TreesConfig,
};
pub use orchestrator::{
    Archive, Orchestrator, PostedEvent, PostedOutcome, SessionTrees, TaskAccess,
};
pub use snapshot::{SessionSnapshot, TaskSnapshot};
pub use state::blocking::blocking;
pub use state::{ClaimError, Clock, JournalWriter, SessionManager, WorkflowSession};
pub use trees::*;
