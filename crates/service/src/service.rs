//! The service: an orchestrator for each base directory that a command opened, one feed over all.
//!
//! The other files of this crate add what can be asked of it. This one has its life: which base
//! directories it knows, how it takes up what the last daemon left, and how it ends.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coven_api::ProblemCode;
use coven_api::system::{BaseDirStatus, FolderTrust, OpenBaseDir};
use coven_model::Timestamp;
use coven_orchestrator::{
    AdmissionPause, AdmissionQueue, DEFAULT_SLOTS, Feed, JournalWriter, Orchestrator,
};
use coven_runner::catch_panic;
use coven_runtime::hold::HolderRegistry;
use coven_store::{BaseDir, Registered, SessionAuthority};
use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attempt::{PastAttempts, ScreenLogs};
use crate::base_dir::{BaseDirectory, OpeningGuard};
use crate::blocking::blocking;
use crate::clock::now;
use crate::config::ServiceConfig;
use crate::context::ServiceContext;
use crate::error::ServiceError;
use crate::folder;
use crate::key_watch;
use crate::metrics::Metrics;
use crate::past_snapshots::PastSnapshots;
use crate::places::UserFolders;
use crate::trust_store::TrustStore;
use crate::versions::InstalledVersions;

/// How long the service waits before it tries a base directory again that another program has; the
/// wait doubles each time.
const FIRST_OPEN_RETRY_DELAY: Duration = Duration::from_millis(250);
/// The longest of these waits.
const MAX_OPEN_RETRY_DELAY: Duration = Duration::from_mins(1);

/// What a service is made with.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// Where the user's configuration, state and socket are.
    pub places: UserFolders,
    /// The `coven` program: holds jobs, and is the demo agent.
    pub program: PathBuf,
    /// What `config.yaml` says, read before the service starts.
    pub config: ServiceConfig,
}

/// A file or folder that the service cannot start without.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {}: {source}", path.display())]
pub struct StartError {
    /// The file or folder.
    pub path: PathBuf,
    /// Why it cannot be used.
    #[source]
    pub source: io::Error,
}

/// Everything users can ask for. Clones share everything.
#[derive(Clone, Debug)]
pub struct Service {
    shared: Arc<ServiceState>,
}

#[derive(Debug)]
struct ServiceState {
    context: Arc<ServiceContext>,
    base_dirs: Mutex<BTreeMap<PathBuf, Arc<BaseDirectory>>>,
    since: Timestamp,
    /// Whether the agents end with the service.
    stop_agents: AtomicBool,
}

impl Service {
    /// A service that knows no base directory yet.
    pub fn new(options: ServiceOptions) -> Result<Self, StartError> {
        let ServiceOptions { places, program, config } = options;
        let feed = places.feed();
        let feed = Feed::open(&feed).map_err(|source| StartError { path: feed, source })?;
        let authority_places = places.authority(&config);
        let authority = SessionAuthority::open(&authority_places).map_err(|error| StartError {
            path: authority_places.key.clone(),
            source: io::Error::other(error),
        })?;
        let slots = config.max_agents.map_or(DEFAULT_SLOTS, |most| most as usize);
        let context = ServiceContext {
            program,
            config,
            authority,
            feed,
            writer: JournalWriter::new(),
            admission: AdmissionQueue::new(slots),
            trust: TrustStore::open(&places),
            versions: InstalledVersions::default(),
            loopback: OnceLock::new(),
            screen_logs: ScreenLogs::default(),
            past_attempts: PastAttempts::default(),
            past_snapshots: PastSnapshots::default(),
            metrics: Metrics::new(),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
            places,
        };
        let shared = ServiceState {
            context: Arc::new(context),
            base_dirs: Mutex::default(),
            since: now(),
            stop_agents: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The holders of this user's jobs.
    pub fn holders(&self) -> HolderRegistry {
        HolderRegistry::new(&self.context().places.state_dir)
    }

    /// Takes note of every base directory that is registered, and opens those whose sessions were
    /// running. Returns before they are open.
    pub fn recover(&self) -> Result<(), StartError> {
        let context = self.context();
        let state_dir = &context.places.state_dir;
        let registered = coven_store::registry::registered_bases(state_dir)
            .map_err(|source| StartError { path: state_dir.clone(), source })?;
        // Until all of them are open, no job begins: those that run already count.
        let pause = context.admission.pause();
        for known in registered {
            let base = self.base_dir_at(&known.path);
            context.feed.locate(&known.path, &context.authority, &known.sessions);
            if has_live_sessions(state_dir, &known.path) {
                let begun = base.begin_opening();
                self.spawn(self.clone().open_until_it_works(base, begun, pause.clone()));
            }
        }
        Ok(())
    }

    /// Opens a base directory. One that another program has is tried again: that may end, and what
    /// the last daemon was just starting when it died keeps the lock for a moment.
    async fn open_until_it_works(
        self,
        base: Arc<BaseDirectory>,
        begun: Option<OpeningGuard>,
        admission_pause: AdmissionPause,
    ) {
        let (context, mut pause) = (self.context(), FIRST_OPEN_RETRY_DELAY);
        let mut opened = match begun {
            Some(begun) => base.open_begun(context, begun).await,
            None => base.orchestrator(context).await,
        };
        drop(admission_pause);
        while let Err(error) = opened {
            tracing::warn!(base = %base.path().display(), "cannot be opened: {error}");
            // Others may let go of it, and its owner may take a permission back.
            if !matches!(error.code(), ProblemCode::BaseDirTaken | ProblemCode::NotOwned) {
                return;
            }
            let waited = context.stopping.run_until_cancelled(tokio::time::sleep(pause)).await;
            if waited.is_none() {
                return;
            }
            pause = (pause * 2).min(MAX_OPEN_RETRY_DELAY);
            opened = base.orchestrator(context).await;
        }
    }

    /// Opens a folder and keeps its sessions from now on.
    pub async fn open_base_dir(&self, open: &OpenBaseDir) -> Result<BaseDirStatus, ServiceError> {
        let path = self.owned(PathBuf::from(&open.base_dir)).await?;
        let base = self.base_dir_at(&path);
        let orchestrator = base.orchestrator(self.context()).await?;
        Ok(BaseDirStatus {
            path: path.display().to_string(),
            sessions: orchestrator.list().len() as u64,
            trusted: base.trusted(self.context()).await,
            problem: None,
        })
    }

    /// The orchestrator of a base directory, opened by need.
    pub(crate) async fn orchestrator(&self, path: &Path) -> Result<Orchestrator, ServiceError> {
        self.base_dir_at(path).orchestrator(self.context()).await
    }

    pub(crate) fn base_dir_at(&self, path: &Path) -> Arc<BaseDirectory> {
        let new = || self.unknown_base_dir(path);
        self.base_dirs_lock().entry(path.to_owned()).or_insert_with(new).clone()
    }

    /// A base directory for a request that looks at it, and is not remembered.
    pub(crate) fn unknown_base_dir(&self, path: &Path) -> Arc<BaseDirectory> {
        Arc::new(BaseDirectory::new(path, &self.context().places.config_dir))
    }

    fn base_dirs_lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<BaseDirectory>>> {
        self.shared.base_dirs.lock()
    }

    /// A base directory if it is known.
    pub(crate) fn known_base_dir(&self, path: &Path) -> Option<Arc<BaseDirectory>> {
        self.base_dirs_lock().get(path).cloned()
    }

    /// All base directories that are known, by path.
    pub(crate) fn base_dirs(&self) -> Vec<Arc<BaseDirectory>> {
        self.base_dirs_lock().values().cloned().collect()
    }

    /// A folder that a request names, if it is the user's own or its owners were agreed to.
    pub(crate) async fn owned(&self, base_dir: PathBuf) -> Result<PathBuf, ServiceError> {
        let context = self.context().clone();
        blocking(move || folder::owned(&context, &base_dir)).await
    }

    /// How a folder stands, read from the disk now; its orchestrator is told.
    pub(crate) async fn trust_of(&self, path: PathBuf) -> Result<FolderTrust, ServiceError> {
        let service = self.clone();
        blocking(move || service.trust_of_blocking(&path)).await
    }

    /// The same on a thread that may block.
    pub(crate) fn trust_of_blocking(&self, path: &Path) -> Result<FolderTrust, ServiceError> {
        let trust = self.context().trust_of(path)?;
        // Without the lock on the list: this reads files of the folder, which may take long.
        if let Some(base) = self.known_base_dir(path) {
            base.refresh(self.context(), &trust);
        }
        Ok(trust)
    }

    pub(crate) fn context(&self) -> &Arc<ServiceContext> {
        &self.shared.context
    }

    /// Where the user's configuration, state and socket are.
    pub fn places(&self) -> &UserFolders {
        &self.context().places
    }

    /// The metrics, for the transport that counts its requests.
    pub fn metrics(&self) -> &Metrics {
        &self.context().metrics
    }

    /// Since when it runs.
    pub(crate) fn since(&self) -> Timestamp {
        self.shared.since
    }

    /// Cancelled when the service is to end. Whatever goes on for long ends then.
    pub fn stopping(&self) -> CancellationToken {
        self.context().stopping.clone()
    }

    /// Lets the service end, and if wanted the agents with it.
    pub fn stop(&self, stop_agents: bool) {
        if stop_agents {
            self.shared.stop_agents.store(true, Ordering::Relaxed);
        }
        self.context().stopping.cancel();
    }

    /// Runs a task that ends when the service is [stopping](Self::stopping); [`Self::close`] waits
    /// for it.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.context().tasks.spawn(async move {
            if let Err(message) = catch_panic(task).await {
                tracing::error!("a task of the daemon failed: {message}");
            }
        });
    }

    /// Lets go of all base directories and waits for all tasks. The agents go on, unless they were
    /// to be stopped.
    pub async fn close(&self) {
        let stop_agents = self.shared.stop_agents.load(Ordering::Relaxed);
        // Once the folders are closed, nobody follows any job.
        let unattended = if stop_agents { self.unattended().await } else { Vec::new() };
        let mut closing = tokio::task::JoinSet::new();
        for base in self.base_dirs() {
            closing.spawn(async move { base.close(stop_agents).await });
        }
        while closing.join_next().await.is_some() {}
        self.end_unattended(unattended).await;
        key_watch::keep(self).await;
        let context = self.context();
        context.feed.close();
        context.tasks.close();
        context.tasks.wait().await;
    }
}

/// Whether the directory is the one that was registered, with sessions that there is still
/// something to do for. Opens nothing.
fn has_live_sessions(state_dir: &Path, base_dir: &Path) -> bool {
    let Ok(Some(base)) = BaseDir::find(base_dir) else { return false };
    Registered::read(state_dir, &base).is_ok_and(|registered| registered.has_live())
}
