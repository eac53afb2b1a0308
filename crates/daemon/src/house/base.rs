//! One base directory: opened by need, once, and why it could not be if it could not.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use coven_api::system::{Trust, TrustState};
use coven_api::{Code, Problem};
use coven_orchestrator::{Archive, Options, Orchestrator};
use coven_policy::Policies;

use super::{House, Sessions};
use crate::policies::PolicyFiles;
use crate::problems;

/// What a daemon was just starting when it died keeps the lock for a moment. Whoever asks waits
/// for that at the first try, so that nobody is told that nothing is there.
const LET_GO: Duration = Duration::from_secs(3);
/// How often it is tried meanwhile.
const GLANCE: Duration = Duration::from_millis(20);

/// One base directory.
#[derive(Debug)]
pub(crate) struct Base {
    path: PathBuf,
    /// Held while it is being opened, so that others wait for that.
    opening: Arc<tokio::sync::Mutex<Opening>>,
    /// The same, for whoever does not wait.
    open: RwLock<Option<Orchestrator>>,
    problem: Mutex<Option<Problem>>,
    trusted: AtomicBool,
    told: Mutex<Told>,
}

/// What the orchestrator was told last.
#[derive(Debug)]
struct Told {
    trusted: bool,
    policies: PolicyFiles,
}

/// Held by the one that is opening a base directory.
pub(super) type OpeningGuard = tokio::sync::OwnedMutexGuard<Opening>;

#[derive(Debug)]
pub(super) enum Opening {
    Not,
    Open(Orchestrator),
    /// It was tried before, and could not be opened.
    Failed,
    Closed,
}

impl Base {
    pub(super) fn new(path: &Path, config_dir: &Path) -> Self {
        Self {
            path: path.to_owned(),
            opening: Arc::new(tokio::sync::Mutex::new(Opening::Not)),
            open: RwLock::default(),
            problem: Mutex::default(),
            trusted: AtomicBool::new(false),
            told: Mutex::new(Told { trusted: false, policies: PolicyFiles::new(config_dir, path) }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn trusted(&self) -> bool {
        self.trusted.load(Ordering::Relaxed)
    }

    /// Why its sessions cannot be kept, where they cannot.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // One that is not open may vanish without anybody trying to use it.
        problem.or_else(|| self.now().is_none().then(|| super::usable(&self.path).err()).flatten())
    }

    /// Its orchestrator if it is open now.
    pub(crate) fn now(&self) -> Option<Orchestrator> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its orchestrator, opened if it is not.
    pub(crate) async fn orchestrator(&self, house: &House) -> Result<Orchestrator, Problem> {
        if let Some(orchestrator) = self.now()
            && orchestrator.is_in_place()
        {
            return Ok(orchestrator);
        }
        let opening = self.opening.clone().lock_owned().await;
        self.open_begun(house, opening).await
    }

    /// Keeps others from opening it, and those who look from looking before it was tried. None if
    /// somebody has begun already.
    pub(super) fn begin_opening(&self) -> Option<OpeningGuard> {
        self.opening.clone().try_lock_owned().ok()
    }

    /// Its sessions, for a request that only looks: it is not opened for that. None if there are
    /// none.
    pub(crate) async fn sessions(&self, house: &House) -> Result<Option<Sessions>, Problem> {
        if let Some(orchestrator) = self.now() {
            return Ok(Some(Sessions::Open(orchestrator)));
        }
        match &*self.opening.lock().await {
            Opening::Open(orchestrator) => return Ok(Some(Sessions::Open(orchestrator.clone()))),
            Opening::Closed => return Err(stopping()),
            Opening::Failed | Opening::Not => {}
        }
        archive(house, &self.path).await
    }

    /// Its sessions without waiting for one that is being opened: then there are none.
    pub(crate) async fn sessions_now(&self, house: &House) -> Option<Sessions> {
        if let Some(orchestrator) = self.now() {
            return Some(Sessions::Open(orchestrator));
        }
        if self.opening.try_lock().is_err() {
            return None;
        }
        archive(house, &self.path).await.ok()?
    }

    /// Its orchestrator if it is open, or as soon as whoever is opening it has.
    pub(crate) async fn opened(&self) -> Option<Orchestrator> {
        match &*self.opening.lock().await {
            Opening::Open(orchestrator) => Some(orchestrator.clone()),
            Opening::Not | Opening::Failed | Opening::Closed => None,
        }
    }

    /// Its orchestrator, opened if it is not, by whoever has begun to.
    pub(super) async fn open_begun(
        &self,
        house: &House,
        mut opening: OpeningGuard,
    ) -> Result<Orchestrator, Problem> {
        match &*opening {
            Opening::Open(orchestrator) if orchestrator.is_in_place() => {
                return Ok(orchestrator.clone());
            }
            Opening::Open(orchestrator) => {
                if orchestrator.is_busy() {
                    return Err(self.replaced());
                }
                // Nothing runs in the directory that was there, so its place is opened anew.
                orchestrator.close().await;
                self.open.write().unwrap_or_else(PoisonError::into_inner).take();
                *opening = Opening::Not;
            }
            Opening::Closed => return Err(stopping()),
            Opening::Failed | Opening::Not => {}
        }
        if house.stopping().is_cancelled() {
            return Err(stopping());
        }
        let patience = if matches!(*opening, Opening::Not) { LET_GO } else { Duration::ZERO };
        let opened = self.open_within(house, patience).await;
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) =
            opened.as_ref().err().cloned();
        match opened {
            Ok(orchestrator) => {
                *opening = Opening::Open(orchestrator.clone());
                *self.open.write().unwrap_or_else(PoisonError::into_inner) =
                    Some(orchestrator.clone());
                // What changed while it was being opened it has not heard of.
                house.trust_of(&self.path)?;
                // What comes up from here on is attended to; this is what came up before.
                crate::auto::recover(house, &orchestrator).await;
                Ok(orchestrator)
            }
            Err(problem) => {
                *opening = Opening::Failed;
                Err(problem)
            }
        }
    }

    /// Opens it, and waits for somebody who has it to let go.
    async fn open_within(
        &self,
        house: &House,
        patience: Duration,
    ) -> Result<Orchestrator, Problem> {
        let end = Instant::now() + patience;
        loop {
            let opened = self.open(house).await;
            let taken = matches!(&opened, Err(problem) if problem.code == Code::BaseDirTaken);
            if !taken || Instant::now() >= end || house.stopping().is_cancelled() {
                return opened;
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    async fn open(&self, house: &House) -> Result<Orchestrator, Problem> {
        // A folder that is gone is not made anew.
        super::usable(&self.path)?;
        let trusted = house.trust_of(&self.path)?.state == TrustState::Trusted;
        let config = house.config();
        let places = &house.options().places;
        let mut options = Options::new(&self.path, &places.state_dir, &house.options().program);
        options.agreed_owners = house.agreed_owners(&self.path);
        options.config_dir = Some(places.config_dir.clone());
        options.trusted = trusted;
        options.max_agents = config.max_agents.map_or(options.max_agents, |most| most as usize);
        options.default_adapter.clone_from(&config.default_adapter);
        options.feed = house.feed().clone();
        options.retention = config.retention();
        options.keeper = format!("the coven daemon {}", env!("CARGO_PKG_VERSION"));
        options.policies = self.first_policies(house, trusted);
        Orchestrator::open(options).await.map_err(|error| problems::open(&error))
    }

    fn replaced(&self) -> Problem {
        let detail = format!(
            "{} is not the folder any more that its runs were started in",
            self.path.display()
        );
        let hint = "put that folder back in its place, or end its runs with \
                    `coven daemon stop --agents`";
        Problem::new(Code::NotNow, detail).with_hint(hint)
    }

    /// What a new orchestrator is told.
    fn first_policies(&self, house: &House, trusted: bool) -> Policies {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.trusted = trusted;
        told.policies = PolicyFiles::new(&house.options().places.config_dir, &self.path);
        told.policies.changed(trusted).map(|read| self.or_none(read)).unwrap_or_default()
    }

    fn or_none(&self, read: Result<Policies, String>) -> Policies {
        read.unwrap_or_else(|problem| {
            tracing::warn!(base = %self.path.display(), "everything is asked: {problem}");
            Policies::default()
        })
    }

    /// Takes note of whether what it brings along may be used, and of its policies. Its
    /// orchestrator hears of what is new to it.
    pub(crate) fn refresh(&self, trust: &Trust) {
        let trusted = trust.state == TrustState::Trusted;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        self.trusted.store(trusted, Ordering::Relaxed);
        let Some(orchestrator) = self.now() else { return };
        if told.trusted != trusted {
            told.trusted = trusted;
            orchestrator.set_trusted(trusted);
        }
        if let Some(read) = told.policies.changed(trusted) {
            orchestrator.set_policies(self.or_none(read));
        }
    }

    /// Lets go of it.
    pub(super) async fn close(&self, stop_agents: bool) {
        let mut opening = self.opening.lock().await;
        let was = std::mem::replace(&mut *opening, Opening::Closed);
        self.open.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Opening::Open(orchestrator) = was {
            orchestrator.shutdown(stop_agents).await;
        }
    }
}

/// What the disk says of the sessions of a folder; none if it has none.
pub(super) async fn archive(house: &House, path: &Path) -> Result<Option<Sessions>, Problem> {
    match Archive::read(path, &house.options().places.state_dir).await {
        Ok(archive) => Ok(archive.map(Sessions::Closed)),
        // A folder that is gone has no sessions.
        Err(error) if error.obstacle == coven_store::Obstacle::Missing => Ok(None),
        Err(error) => Err(Problem::new(Code::BadBaseDir, error.to_string())),
    }
}

fn stopping() -> Problem {
    Problem::new(Code::Stopping, "the daemon is stopping")
}
