//! Processes that outlive us. Each is owned by a small process of its own, the holder
//! (`coven hold`), which keeps its terminal, writes its tape and records its end. We are a client
//! of the holder: our death, restart or upgrade leaves the process running, and the next daemon
//! adopts it from its folder alone.

mod adopt;
mod changes;
mod folder;
mod pane;
pub mod protocol;
mod request;
mod server;
mod snap;
mod start;

use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;

pub use adopt::{AdoptError, Adopted, adopt, take_back};
pub use changes::FolderChanges;
pub use folder::{FolderError, HolderExit, HolderFolder, SpawnRecord};
pub use pane::HolderPane;
pub use request::{BadRequest, HoldRequest, HoldVerb};
pub use server::{HoldError, hold, snap};
pub use snap::{RebuiltScreen, SNAP_EVERY, ScreenSnap, rebuild};

use parking_lot::Mutex;

use crate::domain::{Domain, DomainId, Pane, SpawnConfig, SpawnError};

/// Starts processes under holders. Every process needs a folder of its own
/// ([`SpawnConfig::folder`]).
#[derive(Clone, Debug)]
pub struct HolderDomain {
    program: PathBuf,
    /// Holders we started; those that have ended are taken note of at the next start.
    holders: Arc<Mutex<Vec<Child>>>,
}

impl HolderDomain {
    /// A domain whose holders are this program, called with `hold` as its first argument.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), holders: Arc::default() }
    }

    fn remember(&self, holder: Child) {
        let mut holders = self.holders.lock();
        holders.retain_mut(|holder| matches!(holder.try_wait(), Ok(None)));
        holders.push(holder);
    }
}

impl Domain for HolderDomain {
    fn id(&self) -> DomainId {
        DomainId("holder".to_owned())
    }

    fn spawn(&self, config: &SpawnConfig) -> Result<Box<dyn Pane>, SpawnError> {
        let (holder, pane) = start::start(&self.program, config)?;
        self.remember(holder);
        Ok(Box::new(pane))
    }

    fn detachable(&self) -> bool {
        true
    }
}
