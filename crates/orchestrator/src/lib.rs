//! Sessions that survive. An [`Orchestrator`] keeps any number of sessions; each is one run of a
//! workflow, with one writer, one folder and a life of its own.
//!
//! `engine` carries out what a run decides: it starts jobs, follows agents, answers them, minds the
//! clock. `state` keeps what happened: the journal, the fold of it, the readable view. Nothing is
//! done before it is written down, and starting is recovering from an empty journal.

mod engine;
mod error;
mod event;
mod options;
mod orchestrator;
mod state;

pub use engine::{SessionController, WorkflowExecutor};
pub use error::{ExecuteError, OpenError, RequestError};
pub use event::{Envelope, Live, Published, Subscription};
pub use options::{NewSession, Options, What};
pub use orchestrator::Orchestrator;
pub use state::{SessionManager, WorkflowSession};
