//! Everything the daemon keeps: an orchestrator for each base directory, one feed over all.
//!
//! A base directory is opened by the first command that needs it. Its sessions are registered in the
//! state folder, so that the next daemon goes on with those that were running without being asked.
//! Requests that only look open nothing: they read what is on the disk.

mod base;
mod find;
mod list;
mod sessions;
mod show;
mod start;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use coven_api::intervention::{InterventionItem, InterventionState};
use coven_api::system::Trust;
use coven_api::{Code, Problem};
use coven_model::{SessionId, Timestamp};
use coven_orchestrator::{Feed, Orchestrator};
use coven_store::{BaseDir, BaseDirError, FolderOwners, Registered};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::base::Base;
use self::base::OpeningGuard;
pub(crate) use self::find::Found;
pub(crate) use self::sessions::Sessions;
pub(crate) use self::start::environment;
use crate::clock::now;
use crate::config::Config;
use crate::error::Error;
use crate::gate::SignIn;
use crate::measure::Numbers;
use crate::options::Options;
use crate::problems;
use crate::route::Versions;
use crate::secret::Secret;
use crate::trust;

/// How long a folder that is taken is left alone before it is tried again; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// And at most so long.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Everything the daemon keeps. Clones are handles to the same house.
#[derive(Clone, Debug)]
pub(crate) struct House {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    config: Config,
    feed: Feed,
    token: Secret,
    sign_in: SignIn,
    trust: trust::Book,
    bases: Mutex<BTreeMap<PathBuf, Arc<Base>>>,
    versions: Versions,
    numbers: Numbers,
    since: Timestamp,
    address: OnceLock<SocketAddr>,
    /// Cancelled when the daemon is to go away.
    stopping: CancellationToken,
    /// Whether the agents go with it.
    stop_agents: std::sync::atomic::AtomicBool,
    /// Every task that is not a connection.
    tasks: TaskTracker,
}

impl House {
    pub(crate) fn new(options: Options, config: Config, numbers: Numbers) -> Result<Self, Error> {
        let places = &options.places;
        let feed_dir = places.feed();
        let feed = Feed::open(&feed_dir).map_err(|error| Error::file(feed_dir, error))?;
        let token = Secret::load(&places.token())?;
        let trust = trust::Book::open(places.trust());
        let shared = Shared {
            config,
            feed,
            token,
            sign_in: SignIn::default(),
            trust,
            bases: Mutex::default(),
            versions: Versions::default(),
            numbers,
            since: now(),
            address: OnceLock::new(),
            stopping: CancellationToken::new(),
            stop_agents: false.into(),
            tasks: TaskTracker::new(),
            options,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The orchestrator of a base directory, opened by need.
    pub(crate) async fn orchestrator(&self, base_dir: &Path) -> Result<Orchestrator, Problem> {
        self.base(base_dir)?.orchestrator(self).await
    }

    /// A base directory that may be used.
    pub(crate) fn base(&self, base_dir: &Path) -> Result<Arc<Base>, Problem> {
        Ok(self.base_at(&usable(base_dir)?))
    }

    fn base_at(&self, path: &Path) -> Arc<Base> {
        let mut bases = self.bases_lock();
        let new = || Arc::new(Base::new(path, &self.shared.options.places.config_dir));
        bases.entry(path.to_owned()).or_insert_with(new).clone()
    }

    fn bases_lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathBuf, Arc<Base>>> {
        self.shared.bases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All base directories, by path.
    pub(crate) fn bases(&self) -> Vec<Arc<Base>> {
        self.bases_lock().values().cloned().collect()
    }

    /// The sessions of all base directories that are known. Waits for those that are being opened,
    /// and opens none.
    pub(crate) async fn sessions(&self) -> Vec<(Arc<Base>, Sessions)> {
        let mut all = Vec::new();
        for base in self.bases() {
            if let Ok(Some(sessions)) = base.sessions(self).await {
                all.push((base, sessions));
            }
        }
        all
    }

    /// The orchestrators of all base directories that are open. Waits for those that are being
    /// opened, and opens none.
    pub(crate) async fn orchestrators(&self) -> Vec<Orchestrator> {
        let mut open = Vec::new();
        for base in self.bases() {
            open.extend(base.opened().await);
        }
        open
    }

    /// Takes note of everything that is registered from before, and opens the base directories
    /// whose sessions were running.
    pub(crate) fn recover(&self) -> Result<(), Error> {
        let state_dir = &self.shared.options.places.state_dir;
        let registered = coven_store::registry::registered_bases(state_dir);
        for known in registered.map_err(|error| Error::file(state_dir, error))? {
            let base = self.base_at(&known.path);
            self.feed().locate(&known.path, &known.sessions);
            if has_live_sessions(state_dir, &known.path) {
                self.spawn(self.clone().take_over(base.clone(), base.begin_opening()));
            }
        }
        Ok(())
    }

    /// Opens a base directory. One that another program keeps is tried again: that may go away,
    /// and what the last daemon was just starting when it died keeps the lock for a moment.
    async fn take_over(self, base: Arc<Base>, begun: Option<OpeningGuard>) {
        let mut pause = FIRST_PAUSE;
        let mut opened = match begun {
            Some(begun) => base.open_begun(&self, begun).await,
            None => base.orchestrator(&self).await,
        };
        while let Err(problem) = opened {
            tracing::warn!(base = %base.path().display(), "cannot be opened: {}", problem.detail);
            // Others may let go of it, and its owner may take a permission back.
            if !matches!(problem.code, Code::BaseDirTaken | Code::NotOwned) {
                return;
            }
            let stopping = self.stopping();
            if stopping.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            opened = base.orchestrator(&self).await;
        }
    }

    /// Everything that waits for a person, the longest waiting first; or what was decided in one
    /// session.
    pub(crate) async fn interventions(
        &self,
        state: InterventionState,
        workflow: Option<&str>,
    ) -> Result<Vec<InterventionItem>, Problem> {
        let one = match workflow {
            Some(text) => Some(self.find(text).await?),
            None => None,
        };
        match (state, one) {
            (InterventionState::Decided, Some(found)) => {
                self.decided(&found.sessions, &found.id).await
            }
            (InterventionState::Decided, None) => {
                let detail = "what was decided is listed for one session";
                Err(Problem::new(Code::BadInput, detail).with_hint("name it with `workflow=`"))
            }
            (InterventionState::Open, Some(found)) => {
                Ok(self.waiting(&found.sessions, Some(&found.id)).await)
            }
            (InterventionState::Open, None) => {
                let mut all = Vec::new();
                for (_, sessions) in self.sessions().await {
                    all.extend(self.waiting(&sessions, None).await);
                }
                all.sort_by(|a, b| {
                    let key = |item: &InterventionItem| {
                        (item.intervention.created_at, item.intervention.id.clone())
                    };
                    key(a).cmp(&key(b))
                });
                Ok(all)
            }
        }
    }

    /// How a folder stands, looked at now; its orchestrator hears of it.
    pub(crate) fn trust_of(&self, base_dir: &Path) -> Result<Trust, Problem> {
        // The daemon's own folder for sessions need not be there yet.
        let path = match base_dir {
            own if own == self.shared.options.places.workspace() => own.to_owned(),
            other => usable(other)?,
        };
        let standing = self.shared.trust.standing(&path).map_err(|error| {
            Problem::new(
                Code::BadBaseDir,
                format!("{} cannot be looked at: {error}", path.display()),
            )
        })?;
        if let Some(base) = self.bases_lock().get(&path) {
            base.refresh(&standing);
        }
        Ok(standing)
    }

    /// Agrees to what has this digest and to these owners, or to neither any more.
    pub(crate) fn set_trust(
        &self,
        base_dir: &Path,
        agreed: trust::Agreement,
    ) -> Result<Trust, Problem> {
        let path = usable(base_dir)?;
        self.shared.trust.set(&path, agreed).map_err(|error| {
            Problem::new(Code::Storage, format!("trust cannot be written down: {error}"))
        })?;
        self.trust_of(&path)
    }

    /// The other owners of a folder that somebody agreed to.
    pub(crate) fn agreed_owners(&self, base_dir: &Path) -> Option<FolderOwners> {
        self.shared.trust.agreed_owners(base_dir)
    }

    /// A folder that a request names, if it is the user's own or its owners were agreed to.
    pub(crate) fn owned(&self, base_dir: &Path) -> Result<PathBuf, Problem> {
        let path = usable(base_dir)?;
        match coven_store::ownership::check_path(&path, self.agreed_owners(&path).as_ref()) {
            Ok(()) => Ok(path),
            Err(BaseDirError::NotOwned(error)) => Err(problems::not_owned(&error)),
            Err(BaseDirError::File(error)) => {
                Err(Problem::new(Code::BadBaseDir, error.to_string()))
            }
        }
    }

    /// The folder for sessions that name none.
    pub(crate) fn workspace(&self) -> Result<PathBuf, Problem> {
        let path = self.shared.options.places.workspace();
        std::fs::create_dir_all(&path).map_err(|error| {
            Problem::new(Code::Storage, format!("{} cannot be made: {error}", path.display()))
        })?;
        Ok(path)
    }

    /// The folder that a request names, or the one for requests that name none, which is made.
    pub(crate) fn folder(&self, base_dir: Option<&str>) -> Result<PathBuf, Problem> {
        match base_dir {
            Some(text) => usable(Path::new(text)),
            None => usable(&self.workspace()?),
        }
    }

    /// The same for a request that only looks: nothing is made.
    pub(crate) fn folder_to_read(&self, base_dir: Option<&str>) -> Result<PathBuf, Problem> {
        match base_dir {
            Some(text) => usable(Path::new(text)),
            None => Ok(self.shared.options.places.workspace()),
        }
    }

    pub(crate) fn feed(&self) -> &Feed {
        &self.shared.feed
    }

    pub(crate) fn options(&self) -> &Options {
        &self.shared.options
    }

    pub(crate) fn config(&self) -> &Config {
        &self.shared.config
    }

    pub(crate) fn token(&self) -> &Secret {
        &self.shared.token
    }

    pub(crate) fn sign_in(&self) -> &SignIn {
        &self.shared.sign_in
    }

    pub(crate) fn versions(&self) -> &Versions {
        &self.shared.versions
    }

    pub(crate) fn numbers(&self) -> &Numbers {
        &self.shared.numbers
    }

    pub(crate) fn since(&self) -> Timestamp {
        self.shared.since
    }

    /// The address on loopback, if there is one.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.shared.address.get().copied()
    }

    pub(crate) fn set_address(&self, address: SocketAddr) {
        let _ = self.shared.address.set(address);
    }

    /// Cancelled when the daemon is to go away. Whoever goes on for long ends then.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.shared.stopping.clone()
    }

    /// Lets the daemon go away.
    pub(crate) fn stop(&self, stop_agents: bool) {
        if stop_agents {
            self.shared.stop_agents.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        self.shared.stopping.cancel();
    }

    /// Runs something that ends with the daemon, and is waited for then.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.shared.tasks.spawn(task);
    }

    /// Lets go of all base directories. Their agents go on, unless they were to be stopped.
    pub(crate) async fn close(&self) {
        let stop_agents = self.shared.stop_agents.load(std::sync::atomic::Ordering::Relaxed);
        let mut closing = tokio::task::JoinSet::new();
        for base in self.bases() {
            closing.spawn(async move { base.close(stop_agents).await });
        }
        while closing.join_next().await.is_some() {}
        self.shared.feed.close();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    /// Which sessions of a base directory have something waiting, and how much.
    fn counts(sessions: &Sessions) -> BTreeMap<SessionId, u32> {
        let mut counts = BTreeMap::new();
        for intervention in sessions.interventions() {
            *counts.entry(intervention.workflow_id).or_default() += 1;
        }
        counts
    }
}

/// Whether the directory is the one that was registered, with sessions that there is still
/// something to do for. Opens nothing.
fn has_live_sessions(state_dir: &Path, base_dir: &Path) -> bool {
    let Ok(Some(base)) = BaseDir::find(base_dir) else { return false };
    Registered::read(state_dir, &base).is_ok_and(|registered| registered.has_live())
}

/// The beginning of what somebody wrote, for messages.
fn short(text: &str) -> String {
    coven_notation::printable(&text.chars().take(80).collect::<String>())
}

/// A folder as a path that means it and nothing else.
pub(crate) fn usable(base_dir: &Path) -> Result<PathBuf, Problem> {
    let bad = |why: &str| {
        let shown = short(&base_dir.display().to_string());
        Problem::new(Code::BadBaseDir, format!("`{shown}` {why}"))
    };
    if !base_dir.is_absolute() {
        return Err(bad("is not an absolute path"));
    }
    let path = std::fs::canonicalize(base_dir)
        .map_err(|error| bad(&format!("cannot be used: {error}")))?;
    if !path.is_dir() {
        return Err(bad("is not a folder"));
    }
    Ok(path)
}

/// Tells of an event, with the daemon's own environment.
pub(crate) async fn post(
    orchestrator: &Orchestrator,
    event: coven_api::event::PostEvent,
) -> Result<Vec<SessionId>, Problem> {
    let posted = coven_orchestrator::PostedEvent {
        id: event.id,
        kind: event.kind,
        data: event.data,
        env: std::env::vars_os().collect(),
    };
    let posted = orchestrator.post_event(posted).await.map_err(problems::execute)?;
    for problem in &posted.problems {
        tracing::warn!("an event did not start a grimoire: {problem}");
    }
    Ok(posted.started)
}
