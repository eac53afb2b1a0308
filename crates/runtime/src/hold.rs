//! Processes that outlive us. Each is owned by a small process of its own, the holder
//! (`coven hold`), which keeps its terminal, writes its tape and records its end. We are a client
//! of the holder: our death, restart or upgrade leaves the process running, and the next daemon
//! adopts it from its folder alone.

mod adopt;
mod changes;
mod folder;
mod log;
mod pane;
pub mod protocol;
mod registry;
mod request;
mod secret;
mod server;
mod snap;
mod start;

use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::thread;

pub use crate::cgroup::JobCgroup;
pub use adopt::{AdoptError, Adopted, adopt, take_back};
pub use changes::FolderChanges;
pub use folder::{FolderError, HolderExit, HolderFolder, SpawnRecord};
pub use log::TapeLog;
pub use pane::HolderPane;
pub use registry::{HolderEntry, HolderRegistry};
pub use request::{BadRequest, HoldRequest, HoldVerb};
pub use server::{HoldError, hold, snap};
pub use snap::{RebuiltScreen, SNAP_EVERY, ScreenSnap, rebuild};

use coven_folder::best_effort;
use parking_lot::Mutex;

use crate::domain::{Domain, DomainId, Pane, SpawnConfig, SpawnError};

/// How much memory a thread may use that waits for a holder.
const REAPER_STACK_BYTES: usize = 64 << 10;

/// Starts processes under holders. Every process needs a folder of its own
/// ([`SpawnConfig::folder`]).
#[derive(Clone, Debug)]
pub struct HolderDomain {
    program: PathBuf,
    registry: Option<HolderRegistry>,
    /// Holders we started; those that have ended are taken note of at the next start.
    holders: Arc<Mutex<Vec<Child>>>,
}

impl HolderDomain {
    /// A domain whose holders are this program, called with `hold` as its first argument.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), registry: None, holders: Arc::default() }
    }

    /// The same with a list in which every holder is written down before it starts anything.
    /// Without one a holder cannot tell whether a client is another job.
    #[must_use]
    pub fn with_registry(self, registry: HolderRegistry) -> Self {
        Self { registry: Some(registry), ..self }
    }

    fn remember(&self, holder: Child) -> StartedHolder {
        let pid = holder.id();
        let mut holders = self.holders.lock();
        holders.retain_mut(|holder| matches!(holder.try_wait(), Ok(None)));
        holders.push(holder);
        StartedHolder { pid, holders: self.holders.clone() }
    }
}

/// A holder that is a child of this process.
#[derive(Debug)]
struct StartedHolder {
    pid: u32,
    holders: Arc<Mutex<Vec<Child>>>,
}

impl StartedHolder {
    /// Takes note of its end when it comes, so that it does not stay as a defunct process.
    fn reap(&self) {
        let mut holders = self.holders.lock();
        let Some(at) = holders.iter().position(|holder| holder.id() == self.pid) else { return };
        let mut holder = holders.swap_remove(at);
        drop(holders);
        if matches!(holder.try_wait(), Ok(None)) {
            reap_later(holder);
        }
    }
}

/// Waits for a holder on a thread of its own, so that it does not stay as a defunct process. All that
/// the thread does is to wait, perhaps for as long as an agent lives.
fn reap_later(mut holder: Child) {
    let waits = thread::Builder::new().name("reap-holder".to_owned());
    let waits = waits.stack_size(REAPER_STACK_BYTES);
    best_effort("reap a holder", waits.spawn(move || holder.wait()));
}

impl Domain for HolderDomain {
    fn id(&self) -> DomainId {
        DomainId("holder".to_owned())
    }

    fn spawn(&self, config: &SpawnConfig) -> Result<Box<dyn Pane>, SpawnError> {
        let (holder, pane) = start::start(&self.program, self.registry.as_ref(), config)?;
        Ok(Box::new(pane.of_child(self.remember(holder))))
    }

    fn detachable(&self) -> bool {
        true
    }
}
