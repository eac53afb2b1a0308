//! One base directory: opened by need, once, and why it could not be if it could not.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use coven_api::system::{Trust, TrustState};
use coven_api::{Code, Problem};
use coven_orchestrator::{Options, Orchestrator};
use coven_policy::Policies;

use super::House;
use crate::policies::PolicyFiles;
use crate::problems;

/// One that could not be opened is not tried again before this has passed: a list asks for all.
const AGAIN: Duration = Duration::from_millis(200);

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
    opening: tokio::sync::Mutex<Opening>,
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

#[derive(Debug)]
enum Opening {
    Not,
    Open(Orchestrator),
    Failed(Problem, Instant),
    Closed,
}

impl Base {
    pub(super) fn new(path: &Path, config_dir: &Path) -> Self {
        Self {
            path: path.to_owned(),
            opening: tokio::sync::Mutex::new(Opening::Not),
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
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its orchestrator if it is open now.
    pub(crate) fn now(&self) -> Option<Orchestrator> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its orchestrator, opened if it is not.
    pub(crate) async fn orchestrator(&self, house: &House) -> Result<Orchestrator, Problem> {
        if let Some(orchestrator) = self.now() {
            return Ok(orchestrator);
        }
        let mut opening = self.opening.lock().await;
        match &*opening {
            Opening::Open(orchestrator) => return Ok(orchestrator.clone()),
            Opening::Failed(problem, at) if at.elapsed() < AGAIN => return Err(problem.clone()),
            Opening::Closed => return Err(stopping()),
            Opening::Failed(..) | Opening::Not => {}
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
                house.remember(&self.path);
                *self.open.write().unwrap_or_else(PoisonError::into_inner) =
                    Some(orchestrator.clone());
                // What changed while it was being opened it has not heard of.
                house.trust_of(&self.path)?;
                // What comes up from here on is attended to; this is what came up before.
                crate::auto::recover(house, &self.path, &orchestrator).await;
                Ok(orchestrator)
            }
            Err(problem) => {
                *opening = Opening::Failed(problem.clone(), Instant::now());
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
        let mut options = Options::new(&self.path, &house.options().program);
        options.config_dir = Some(house.options().places.config_dir.clone());
        options.trusted = trusted;
        options.max_agents = config.max_agents.map_or(options.max_agents, |most| most as usize);
        options.default_adapter.clone_from(&config.default_adapter);
        options.feed = house.feed().clone();
        options.retention = config.retention();
        options.keeper = format!("the coven daemon {}", env!("CARGO_PKG_VERSION"));
        options.policies = self.first_policies(house, trusted);
        Orchestrator::open(options).await.map_err(|error| problems::open(&error))
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

fn stopping() -> Problem {
    Problem::new(Code::Stopping, "the daemon is stopping")
}
