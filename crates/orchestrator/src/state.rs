//! What happened, kept: sessions on disk and in memory.

pub(crate) mod blocking;
pub(crate) mod caller;
pub(crate) mod cancel_wish;
mod claims;
mod clock;
mod disk_waits;
mod files;
mod ledger;
mod listing;
mod manager;
mod past;
pub(crate) mod replay;
mod session;
mod storage_problem;
mod writer;

pub(crate) use caller::Environment;
pub use claims::ClaimError;
pub(crate) use claims::{ClaimTerms, Claimed, Claims};
pub use clock::Clock;
pub(crate) use disk_waits::DiskWaits;
pub(crate) use files::{SessionFiles, SharedFiles, WeakFiles};
pub(crate) use ledger::{Ledger, LedgerMark, LedgerPlace};
pub(crate) use listing::settle;
pub use manager::SessionManager;
pub(crate) use manager::look;
pub(crate) use past::{PastSession, decided, start_of, subscribe_past};
pub(crate) use session::Recorded;
pub use session::WorkflowSession;
pub(crate) use storage_problem::{STORAGE_RETRY, StorageProblem, StorageProblems, may_pass};
pub use writer::JournalWriter;
