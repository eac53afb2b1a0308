//! What a run decides, carried out: jobs, agents, answers, timers.

mod admission;
mod answer;
mod controller;
mod executor;
mod job;
mod secret_answers;
mod shell;
pub(crate) mod trees;
pub(crate) mod trigger;

pub use admission::{Admission, AdmissionPause, AdmissionQueue, Load, SlotUse};
pub use controller::SessionController;
pub(crate) use controller::{SessionContext, SessionStart};
pub use executor::WorkflowExecutor;
pub(crate) use job::{Runner, RunnerSlot, log_file};
