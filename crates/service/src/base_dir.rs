//! One base directory: opened by need, once, and why it could not be if it could not.
//!
//! Opening runs on a thread of its own, as a task of the service. A slow disk delays only those who
//! need this base directory, and a client that gives up does not leave it half open.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use coven_api::ProblemCode;
use coven_api::system::{FolderTrust, TrustState};
use coven_folder::disk_wait::Permit;
use coven_orchestrator::{
    Archive, Options, Orchestrator, PolicyRefresh, ProjectTrust, TreesConfig,
};
use coven_policy::EffectivePolicies;
use parking_lot::{Mutex, RwLock};
use tokio::runtime::Handle;

use crate::auto_answer;
use crate::blocking::blocking;
use crate::context::ServiceContext;
use crate::error::ServiceError;
use crate::folder;
use crate::policies::PolicyFiles;
use crate::sessions::Sessions;

/// A job that was just being started when the last daemon died keeps the lock for a moment. The
/// first request waits for that, so that it is not told that the folder is taken.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
/// How often the lock is tried meanwhile.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// How long requests about all base directories wait for one that is being opened, counted from
/// when that was begun. Opening takes milliseconds, unless a disk is slow or hangs.
const OPENING_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct BaseDirectory {
    path: PathBuf,
    /// Held while it is being opened, so that others who need it wait for that.
    opening: Arc<tokio::sync::Mutex<Opening>>,
    /// When that was begun last.
    opening_since: Mutex<Option<Instant>>,
    /// The same orchestrator, for readers that do not wait.
    open: RwLock<Option<Orchestrator>>,
    /// Why it could not be opened.
    problem: Mutex<Option<String>>,
    /// Whether what it brings along is used, once that was looked at.
    trusted: RwLock<Option<bool>>,
    applied: Arc<Mutex<AppliedPolicies>>,
}

/// What the orchestrator was told last.
#[derive(Debug)]
struct AppliedPolicies {
    trust: ProjectTrust,
    policies: PolicyFiles,
}

impl AppliedPolicies {
    /// The policies, if they are other than the last time. Reads files and blocks.
    fn changed(&mut self) -> Option<EffectivePolicies> {
        let read = self.policies.changed(self.trust.files.as_deref())?;
        Some(read.unwrap_or_else(|problem| {
            tracing::warn!("everything is asked: {problem}");
            EffectivePolicies::unreadable()
        }))
    }
}

/// Held by the task that opens a base directory.
pub(crate) type OpeningGuard = tokio::sync::OwnedMutexGuard<Opening>;

#[derive(Debug)]
pub(crate) enum Opening {
    Not,
    Open(Orchestrator),
    /// It was tried before, and could not be opened.
    Failed,
    Closed,
}

impl BaseDirectory {
    pub(crate) fn new(path: &Path, config_dir: &Path) -> Self {
        let applied = AppliedPolicies {
            trust: ProjectTrust::default(),
            policies: PolicyFiles::new(config_dir, path),
        };
        Self {
            path: path.to_owned(),
            opening: Arc::new(tokio::sync::Mutex::new(Opening::Not)),
            opening_since: Mutex::default(),
            open: RwLock::default(),
            problem: Mutex::default(),
            trusted: RwLock::default(),
            applied: Arc::new(Mutex::new(applied)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether what it brings along is used. One that was not opened since the daemon started is
    /// looked at the first time.
    pub(crate) async fn trusted(&self, context: &Arc<ServiceContext>) -> bool {
        let known = *self.trusted.read();
        if let Some(trusted) = known {
            return trusted;
        }
        let (path, shared) = (self.path.clone(), context.clone());
        let Ok(trust) = blocking(move || shared.trust_of(&path)).await else { return false };
        self.note_trust(&trust)
    }

    fn note_trust(&self, trust: &FolderTrust) -> bool {
        let trusted = trust.state == TrustState::Trusted;
        *self.trusted.write() = Some(trusted);
        trusted
    }

    /// Why its sessions cannot be kept, where they cannot.
    pub(crate) async fn problem(&self) -> Option<String> {
        let problem = self.problem.lock().clone();
        if problem.is_some() || self.now().is_some() {
            return problem;
        }
        // A folder that is not open may vanish without a request that tries to use it.
        let path = self.path.clone();
        blocking(move || folder::canonical(&path)).await.err().map(|error| error.to_string())
    }

    /// Its orchestrator if it is open now.
    pub(crate) fn now(&self) -> Option<Orchestrator> {
        self.open.read().clone()
    }

    /// Its orchestrator, opened if it is not.
    pub(crate) async fn orchestrator(
        self: &Arc<Self>,
        context: &Arc<ServiceContext>,
    ) -> Result<Orchestrator, ServiceError> {
        if let Some(orchestrator) = self.now()
            && orchestrator.is_in_place()
        {
            return Ok(orchestrator);
        }
        let opening = self.opening.clone().lock_owned().await;
        self.note_opening();
        self.open_begun(context, opening).await
    }

    /// Keeps others from opening it, and readers from reading before that was tried. None if a task
    /// is opening it already.
    pub(crate) fn begin_opening(&self) -> Option<OpeningGuard> {
        let begun = self.opening.clone().try_lock_owned().ok()?;
        self.note_opening();
        Some(begun)
    }

    fn note_opening(&self) {
        let mut since = self.opening_since.lock();
        *since = Some(Instant::now());
    }

    /// Waits while it is being opened, until that has taken [`OPENING_TIMEOUT`].
    pub(crate) async fn wait_while_opening(&self) {
        let since = *self.opening_since.lock();
        if let Some(since) = since.filter(|_| self.is_opening()) {
            let deadline = since + OPENING_TIMEOUT;
            let waited = tokio::time::timeout_at(deadline.into(), self.opening.lock()).await;
            if waited.is_err() {
                tracing::debug!(base = %self.path.display(), "is being opened for long");
            }
        }
    }

    /// Its sessions, for a request that only reads: it is not opened for that. Waits while it is
    /// being opened. None if it has no sessions.
    pub(crate) async fn sessions(
        &self,
        context: &ServiceContext,
    ) -> Result<Option<Sessions>, ServiceError> {
        if let Some(orchestrator) = self.now() {
            return Ok(Some(Sessions::Open(orchestrator)));
        }
        match &*self.opening.lock().await {
            Opening::Open(orchestrator) => return Ok(Some(Sessions::Open(orchestrator.clone()))),
            Opening::Closed => return Err(ServiceError::Stopping),
            Opening::Failed | Opening::Not => {}
        }
        archive(context, &self.path).await
    }

    /// Its sessions as they can be read without waiting: from the disk if it is not open, also
    /// while it is being opened.
    pub(crate) async fn sessions_without_waiting(
        &self,
        context: &ServiceContext,
    ) -> Result<Option<Sessions>, ServiceError> {
        match self.now() {
            Some(orchestrator) => Ok(Some(Sessions::Open(orchestrator))),
            None => archive(context, &self.path).await,
        }
    }

    /// Whether a task is opening it now.
    pub(crate) fn is_opening(&self) -> bool {
        self.now().is_none() && self.opening.try_lock().is_err()
    }

    /// Its orchestrator, opened if it is not.
    pub(crate) async fn open_begun(
        self: &Arc<Self>,
        context: &Arc<ServiceContext>,
        opening: OpeningGuard,
    ) -> Result<Orchestrator, ServiceError> {
        let (base, shared, runtime) = (self.clone(), context.clone(), Handle::current());
        let open = move || {
            let _permit = Permit::take();
            runtime.block_on(base.open_here(&shared, opening))
        };
        let opened = context.tasks.spawn_blocking(open).await;
        opened.unwrap_or_else(|error| Err(ServiceError::Internal(error.to_string())))
    }

    /// The same on this thread, which it blocks.
    async fn open_here(
        &self,
        context: &ServiceContext,
        mut opening: OpeningGuard,
    ) -> Result<Orchestrator, ServiceError> {
        match &*opening {
            Opening::Open(orchestrator) if orchestrator.is_in_place() => {
                return Ok(orchestrator.clone());
            }
            Opening::Open(orchestrator) => {
                if orchestrator.is_busy() {
                    return Err(ServiceError::BaseDirReplaced(self.path.clone()));
                }
                // Nothing runs in the directory that was there, so its place is opened anew.
                orchestrator.close().await;
                self.open.write().take();
                *opening = Opening::Not;
            }
            Opening::Closed => return Err(ServiceError::Stopping),
            Opening::Failed | Opening::Not => {}
        }
        if context.stopping.is_cancelled() {
            return Err(ServiceError::Stopping);
        }
        let timeout = if matches!(*opening, Opening::Not) { LOCK_TIMEOUT } else { Duration::ZERO };
        let opened = self.open_within(context, timeout).await;
        *self.problem.lock() = opened.as_ref().err().map(ToString::to_string);
        match opened {
            Ok(orchestrator) => {
                *opening = Opening::Open(orchestrator.clone());
                *self.open.write() = Some(orchestrator.clone());
                // What changed while it was being opened its orchestrator has not been told.
                self.refresh(context, &context.trust_of(&self.path)?);
                // The watcher answers what comes up from here on; this is what came up before.
                auto_answer::answer_waiting(context, &orchestrator).await;
                Ok(orchestrator)
            }
            Err(error) => {
                *opening = Opening::Failed;
                Err(error)
            }
        }
    }

    /// Opens it, and waits for another process that has it to let go.
    async fn open_within(
        &self,
        context: &ServiceContext,
        timeout: Duration,
    ) -> Result<Orchestrator, ServiceError> {
        let end = Instant::now() + timeout;
        loop {
            let opened = self.open(context).await;
            let taken = matches!(&opened, Err(error) if error.code() == ProblemCode::BaseDirTaken);
            if !taken || Instant::now() >= end || context.stopping.is_cancelled() {
                return opened;
            }
            tokio::time::sleep(LOCK_INTERVAL).await;
        }
    }

    async fn open(&self, context: &ServiceContext) -> Result<Orchestrator, ServiceError> {
        // A folder that is gone is not made anew.
        folder::canonical(&self.path)?;
        let trust = context.trust_of(&self.path)?;
        self.refresh(context, &trust);
        let project = context.trust.project(&self.path, &trust);
        let (config, places) = (&context.config, &context.places);
        let mut options = Options::new(&self.path, &places.state_dir, &context.program);
        options.data_dir = Some(places.data_dir.clone());
        options.authority = Some(context.authority.clone());
        options.agreed_owners = context.trust.agreed_owners(&self.path);
        options.config_dir = Some(places.config_dir.clone());
        options.trust = project.clone();
        options.trees = self.trees(&project);
        options.default_adapter.clone_from(&config.default_adapter);
        options.feed = context.feed.clone();
        options.writer = context.writer.clone();
        options.admission = context.admission.clone();
        options.report_address = context.loopback.get().copied();
        options.retention = config.retention();
        options.keeper = format!("the coven daemon {}", env!("CARGO_PKG_VERSION"));
        options.policies = self.first_policies(context, project);
        let applied = self.applied.clone();
        options.policy_refresh = Some(PolicyRefresh::new(move |sink| {
            let mut applied = applied.lock();
            applied.changed().into_iter().for_each(sink);
        }));
        Ok(Orchestrator::open(options).await?)
    }

    /// The policies that a new orchestrator begins with.
    fn first_policies(&self, context: &ServiceContext, trust: ProjectTrust) -> EffectivePolicies {
        let mut applied = self.applied.lock();
        applied.policies = PolicyFiles::new(&context.places.config_dir, &self.path)
            .with_accepted(context.places.accepted_policy());
        applied.trust = trust;
        applied.changed().unwrap_or_default()
    }

    /// Takes note of whether what it brings along may be used, and tells its orchestrator that and
    /// its policies where they are new to it. Reads files and blocks.
    pub(crate) fn refresh(&self, context: &ServiceContext, trust: &FolderTrust) {
        self.note_trust(trust);
        let Some(orchestrator) = self.now() else { return };
        let project = context.trust.project(&self.path, trust);
        let mut applied = self.applied.lock();
        if applied.trust != project {
            applied.trust = project.clone();
            orchestrator.set_trees(self.trees(&project));
            orchestrator.set_trust(project);
        }
        if let Some(policies) = applied.changed() {
            orchestrator.set_policies(policies);
        }
    }

    /// What the project says about its trees, as far as the user agreed to it. A run that would
    /// make trees by a file with errors is refused when it is started, with the places of those.
    fn trees(&self, project: &ProjectTrust) -> TreesConfig {
        ServiceContext::trees_of(&self.path, project).unwrap_or_else(|report| {
            tracing::warn!(base = %self.path.display(), "{}", report.render(false));
            TreesConfig::default()
        })
    }

    /// Lets go of it.
    pub(crate) async fn close(&self, stop_agents: bool) {
        let mut opening = self.opening.lock().await;
        let was = std::mem::replace(&mut *opening, Opening::Closed);
        self.open.write().take();
        if let Opening::Open(orchestrator) = was {
            orchestrator.shutdown(stop_agents).await;
        }
    }
}

/// The sessions of a folder, read from the disk; none if it has none.
pub(crate) async fn archive(
    context: &ServiceContext,
    path: &Path,
) -> Result<Option<Sessions>, ServiceError> {
    match Archive::read(path, &context.places.state_dir, &context.authority).await {
        Ok(archive) => Ok(archive.map(Sessions::Closed)),
        // A folder that is gone has no sessions.
        Err(error) if error.obstacle == coven_store::OpenObstacle::Missing => Ok(None),
        Err(error) => Err(ServiceError::BadBaseDir(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
