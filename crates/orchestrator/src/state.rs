//! What happened, kept: sessions on disk and in memory.

mod manager;
mod session;

pub use manager::SessionManager;
pub(crate) use manager::now;
pub use session::WorkflowSession;
pub(crate) use session::Decided;
