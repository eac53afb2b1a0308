//! What happened, kept: sessions on disk and in memory.

mod manager;
mod session;

pub use manager::SessionManager;
pub(crate) use manager::now;
pub(crate) use session::Recorded;
pub use session::WorkflowSession;
