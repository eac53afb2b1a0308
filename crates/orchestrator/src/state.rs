//! What happened, kept: sessions on disk and in memory.

pub(crate) mod caller;
mod claims;
mod clock;
mod ledger;
mod manager;
mod past;
mod session;

pub(crate) use caller::Environment;
pub use claims::ClaimError;
pub(crate) use claims::{Claimed, Claims, Terms};
pub use clock::Clock;
pub(crate) use clock::now;
pub(crate) use ledger::{Ledger, Mark, Place};
pub use manager::SessionManager;
pub(crate) use past::{PastSession, Standing, decided, spec_of, standing};
pub(crate) use session::Recorded;
pub use session::WorkflowSession;
