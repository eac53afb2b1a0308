//! Everything the daemon keeps: an orchestrator for each base directory, one feed over all.
//!
//! A base directory is opened when it is first needed and remembered from then on, so that the
//! next daemon goes on with its sessions without being asked. While one is being opened, whoever
//! asks for it waits; nobody else does.

mod base;
mod known;
mod list;
mod show;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use coven_api::intervention::{InterventionItem, InterventionState};
use coven_api::system::Trust;
use coven_api::{Code, Problem};
use coven_model::{InterventionId, SessionId, Timestamp};
use coven_orchestrator::{Feed, Orchestrator, RequestError};
use coven_store::index::ResolveError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::base::Base;
use self::known::KnownDirs;
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
    known: KnownDirs,
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
        let (trust, known) = (trust::Book::open(places.trust()), KnownDirs::open(places.known()));
        let shared = Shared {
            config,
            feed,
            token,
            sign_in: SignIn::default(),
            trust,
            known,
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

    /// Remembers a base directory for the next daemon.
    fn remember(&self, path: &Path) {
        self.shared.known.add(path);
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

    /// The orchestrators of all base directories that can be used. Waits for those that are being
    /// opened.
    pub(crate) async fn orchestrators(&self) -> Vec<(Arc<Base>, Orchestrator)> {
        let mut all = Vec::new();
        for base in self.bases() {
            if let Ok(orchestrator) = base.orchestrator(self).await {
                all.push((base, orchestrator));
            }
        }
        all
    }

    /// Goes on with everything that is known from before.
    pub(crate) fn recover(&self) {
        for path in self.shared.known.all() {
            let base = self.base_at(&path);
            self.spawn(self.clone().take_over(base));
        }
    }

    /// Opens a base directory. One that another program keeps is tried again: that may go away,
    /// and what the last daemon was just starting when it died keeps the lock for a moment.
    async fn take_over(self, base: Arc<Base>) {
        let mut pause = FIRST_PAUSE;
        while let Err(problem) = base.orchestrator(&self).await {
            tracing::warn!(base = %base.path().display(), "cannot be opened: {}", problem.detail);
            if problem.code != Code::BaseDirTaken {
                return;
            }
            let stopping = self.stopping();
            if stopping.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The session that an id, the beginning of an id, or a name means, over all base directories.
    pub(crate) async fn find(&self, text: &str) -> Result<(Orchestrator, SessionId), Problem> {
        let mut found = Vec::new();
        for (base, orchestrator) in self.orchestrators().await {
            match orchestrator.resolve(text) {
                Ok(id) => found.push((base, orchestrator, id)),
                Err(RequestError::Unknown(ResolveError::Unknown { .. })) => {}
                Err(error) => return Err(problems::request(&error)),
            }
        }
        if found.len() > 1 {
            // A whole id is never meant as the beginning of another.
            if let Some(exact) = found.iter().position(|(_, _, id)| id.as_str() == text) {
                found = vec![found.swap_remove(exact)];
            }
        }
        match found.len() {
            0 => Err(self.no_session(text)),
            1 => {
                let (_, orchestrator, id) = found.swap_remove(0);
                Ok((orchestrator, id))
            }
            _ => {
                let all: Vec<String> = found
                    .iter()
                    .map(|(base, _, id)| format!("{id} in {}", base.path().display()))
                    .collect();
                let detail = format!("`{}` could be {}", short(text), all.join(", "));
                Err(Problem::new(Code::BadRequest, detail).with_hint("give the whole id"))
            }
        }
    }

    fn no_session(&self, text: &str) -> Problem {
        let text = short(text);
        let problem =
            Problem::new(Code::WorkflowNotFound, format!("no session has the id or name `{text}`"));
        let shut: Vec<String> = self
            .bases()
            .iter()
            .filter(|base| base.problem().is_some())
            .map(|base| base.path().display().to_string())
            .collect();
        if shut.is_empty() {
            problem.with_hint("`GET /workflows` lists them")
        } else {
            problem.with_hint(format!("these folders could not be opened: {}", shut.join(", ")))
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
            (InterventionState::Decided, Some((orchestrator, id))) => {
                self.decided(&orchestrator, &id).await
            }
            (InterventionState::Decided, None) => {
                let detail = "what was decided is listed for one session";
                Err(Problem::new(Code::BadInput, detail).with_hint("name it with `workflow=`"))
            }
            (InterventionState::Open, Some((orchestrator, id))) => {
                Ok(self.waiting(&orchestrator, Some(&id)).await)
            }
            (InterventionState::Open, None) => {
                let mut all = Vec::new();
                for (_, orchestrator) in self.orchestrators().await {
                    all.extend(self.waiting(&orchestrator, None).await);
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

    /// The orchestrator that keeps the session of an intervention.
    pub(crate) async fn asked(&self, id: &InterventionId) -> Result<Orchestrator, Problem> {
        match self.find(id.session().as_str()).await {
            Ok((orchestrator, _)) => Ok(orchestrator),
            Err(problem) if problem.code == Code::WorkflowNotFound => {
                let detail = format!("there is no intervention {id}: its session does not exist");
                Err(Problem::new(Code::InterventionNotFound, detail))
            }
            Err(problem) => Err(problem),
        }
    }

    /// How a folder stands, looked at now; its orchestrator hears of it.
    pub(crate) fn trust_of(&self, base_dir: &Path) -> Result<Trust, Problem> {
        let path = usable(base_dir)?;
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

    pub(crate) fn set_trust(
        &self,
        base_dir: &Path,
        digest: Option<String>,
    ) -> Result<Trust, Problem> {
        let path = usable(base_dir)?;
        self.shared.trust.set(&path, digest).map_err(|error| {
            Problem::new(Code::Storage, format!("trust cannot be written down: {error}"))
        })?;
        self.trust_of(&path)
    }

    /// The folder for sessions that name none.
    pub(crate) fn workspace(&self) -> Result<PathBuf, Problem> {
        let path = self.shared.options.places.workspace();
        std::fs::create_dir_all(&path).map_err(|error| {
            Problem::new(Code::Storage, format!("{} cannot be made: {error}", path.display()))
        })?;
        Ok(path)
    }

    /// The folder that a request names, or the one for requests that name none.
    pub(crate) fn folder(&self, base_dir: Option<&str>) -> Result<PathBuf, Problem> {
        match base_dir {
            Some(text) => usable(Path::new(text)),
            None => usable(&self.workspace()?),
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
    async fn counts(&self, orchestrator: &Orchestrator) -> BTreeMap<SessionId, u32> {
        let mut counts = BTreeMap::new();
        for intervention in orchestrator.interventions().await {
            *counts.entry(intervention.workflow_id).or_default() += 1;
        }
        counts
    }

    /// The known folders, for whoever lists them.
    pub(crate) fn known(&self) -> BTreeSet<PathBuf> {
        self.bases_lock().keys().cloned().collect()
    }
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
