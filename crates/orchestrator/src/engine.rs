//! What a run decides, carried out: jobs, agents, answers, timers.

mod answer;
mod controller;
mod executor;
mod job;
mod shell;

pub(crate) use controller::Fresh;
pub use controller::SessionController;
pub use executor::WorkflowExecutor;
