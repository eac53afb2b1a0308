//! What a run decides, carried out: jobs, agents, answers, timers.

mod answer;
mod controller;
mod executor;
mod job;
mod shell;
mod slots;
pub(crate) mod trigger;

pub use controller::SessionController;
pub(crate) use controller::{SessionContext, SessionStart};
pub use executor::WorkflowExecutor;
pub(crate) use job::{Runner, RunnerSlot};
pub use slots::{Admission, Load};
