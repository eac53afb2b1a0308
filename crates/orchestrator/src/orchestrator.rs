//! The facade: every session of a base directory, by id.

mod access;
mod archive;
mod attention;
mod controllers;
mod housekeeping;
mod import;
mod make;
mod once;
mod requests;
mod review;
mod session_trees;
mod trees;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use coven_model::{SessionId, SessionView, WorkflowStatus};
use coven_policy::EffectivePolicies;
use coven_runtime::sandbox::Enforcement;
use coven_store::SessionEntry;
use coven_workflow::catalogue::GrimoireCatalogue;
use coven_workflow::{CheckEnvironment, SessionInput};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use self::access::TaskAccess;
pub use self::archive::Archive;
use self::attention::AttentionAudit;
use self::controllers::{Controllers, SessionTurn};
use self::once::SessionMaker;
pub use self::once::{PostedEvent, PostedOutcome};
pub(crate) use self::once::{RecordedFacts, TriggerStarter};
pub use self::session_trees::SessionTrees;
use crate::engine::{
    AdmissionQueue, SessionContext, SessionController, SessionStart, WorkflowExecutor,
};
use crate::error::{OpenError, RequestError};
use crate::event::EventSubscription;
use crate::feed::Feed;
use crate::options::{Options, ProjectTrust, TreesConfig};
use crate::snapshot::SessionSnapshot;
use crate::state::blocking::{blocking, guard_workers};
use crate::state::{
    Claims, Environment, PastSession, SessionManager, WorkflowSession, caller, subscribe_past,
};
use coven_folder::best_effort;

/// Keeps any number of sessions, and hands what is asked of one to its controller.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use coven_orchestrator::{Options, Orchestrator};
///
/// // The program holds the jobs of sessions; opening a folder starts none.
/// let (base_dir, state_dir) = (folder.path().join("base"), folder.path().join("state"));
/// # std::fs::create_dir(&base_dir)?;
/// let orchestrator = Orchestrator::open(Options::new(base_dir, state_dir, "coven")).await?;
/// assert!(orchestrator.list().is_empty());
/// assert!(orchestrator.catalogue().plan("demo").is_ok());
/// orchestrator.close().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Orchestrator {
    shared: Arc<OrchestratorParts>,
}

#[derive(Debug)]
struct OrchestratorParts {
    options: Options,
    trust: RwLock<ProjectTrust>,
    trees: RwLock<TreesConfig>,
    manager: Arc<SessionManager>,
    executor: WorkflowExecutor,
    controllers: Controllers,
    /// A session is over, or has left the memory.
    ended: Arc<Notify>,
    closing: AtomicBool,
    /// Removes old sessions in the background.
    housekeeper: Mutex<Option<JoinHandle<()>>>,
    attention: AttentionAudit,
    once: SessionMaker,
}

impl Orchestrator {
    /// Takes a base directory over and goes on with every session that is not over. Must be called
    /// within a tokio runtime that has I/O and time.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        guard_workers();
        let executor = WorkflowExecutor::new(&options);
        let opened = blocking(move || {
            let clock = options.clock.clone();
            let owners = options.agreed_owners.as_ref();
            let (base_dir, state_dir) = (&options.base_dir, &options.state_dir);
            let (authority, keeper) = (options.authority.as_ref(), &options.keeper);
            let manager =
                SessionManager::open(base_dir, state_dir, authority, owners, keeper, clock)?;
            let claims = Claims::open(&manager.state_folder(), &manager.base(), manager.now())?;
            Ok::<_, OpenError>((options, manager, claims))
        });
        let (options, manager, claims) = opened.await?;
        let shared = OrchestratorParts {
            trust: RwLock::new(options.trust.clone()),
            trees: RwLock::new(options.trees.clone()),
            options,
            manager: Arc::new(manager),
            executor,
            controllers: Controllers::default(),
            ended: Arc::default(),
            closing: AtomicBool::new(false),
            housekeeper: Mutex::default(),
            attention: AttentionAudit::default(),
            once: SessionMaker::new(claims),
        };
        let orchestrator = Self { shared: Arc::new(shared) };
        let entries = {
            let orchestrator = orchestrator.clone();
            blocking(move || orchestrator.take_up()).await
        };
        // Before the first job of a session that waits: those of the next ones may run already.
        let _pause = (!entries.is_empty()).then(|| orchestrator.admission().pause());
        for entry in entries {
            let open = matches!(entry.status, WorkflowStatus::Running | WorkflowStatus::Blocked);
            let claims = orchestrator.shared.once.claims();
            let unseen = entry.status.is_final() && claims.looked(&entry.id).is_some();
            // A run that is over may be bringing a checkpoint back.
            let has_work =
                entry.status.is_final() && orchestrator.shared.manager.is_live(&entry.id);
            if open || entry.kept || !entry.fresh || unseen || has_work {
                // One session that cannot be read keeps no other from going on.
                let attended = orchestrator.attend(&entry.id, None).await;
                if let Err(error) = &attended {
                    orchestrator.shared.manager.note_problem(&entry.id, Some(error.to_string()));
                }
                best_effort("take up a session", attended);
            }
        }
        orchestrator.keep_starting();
        orchestrator.keep_house();
        orchestrator.keep_attention();
        Ok(orchestrator)
    }

    /// What gives slots to its jobs, and to those of all orchestrators that were made with the same
    /// queue: how many run and wait, and who let them run.
    pub fn admission(&self) -> &AdmissionQueue {
        self.shared.executor.admission()
    }

    /// Where everything is told.
    pub fn feed(&self) -> &Feed {
        &self.shared.options.feed
    }

    /// What definitions are checked against.
    pub fn known(&self) -> CheckEnvironment {
        let confines = Enforcement::of_this_kernel() != Enforcement::Nothing;
        let known = CheckEnvironment::new(self.shared.executor.adapters());
        let known = known.with_confinement(confines);
        match &self.shared.options.default_adapter {
            Some(adapter) => known.with_default_adapter(adapter),
            None => known,
        }
    }

    /// The grimoires there are.
    pub fn catalogue(&self) -> GrimoireCatalogue {
        self.catalogue_for(&self.known())
    }

    fn catalogue_for(&self, known: &CheckEnvironment) -> GrimoireCatalogue {
        let places = self.shared.options.grimoire_places(&self.shared.trust.read());
        GrimoireCatalogue::load(&places, known)
    }

    /// What may be used of the `.coven/` of the base directory, from the next start of a session
    /// or a job on.
    pub fn set_trust(&self, trust: ProjectTrust) {
        self.shared.executor.set_adapters(self.shared.options.folders(&trust));
        *self.shared.trust.write() = trust;
    }

    /// What the project says about its trees, from the next session on.
    pub fn set_trees(&self, trees: TreesConfig) {
        *self.shared.trees.write() = trees;
    }

    /// Which questions are answered without a person, from the next question on.
    pub fn set_policies(&self, policies: EffectivePolicies) {
        self.shared.executor.set_policies(policies);
    }

    fn control(
        &self,
        session: WorkflowSession,
        env: Environment,
        start: SessionStart,
    ) -> SessionController {
        let context = SessionContext {
            manager: self.shared.manager.clone(),
            writer: self.shared.options.writer.clone(),
            feed: self.shared.options.feed.clone(),
            linger: self.shared.options.linger,
            ended: self.shared.ended.clone(),
            triggers: self.trigger_starter(),
            recovery: match start {
                SessionStart::Recover => self.admission().current_pause(),
                SessionStart::Begin | SessionStart::Wait => None,
            },
        };
        SessionController::start(session, context, self.shared.executor.for_caller(env), start)
    }

    /// Goes on with a session from where its journal ends, or begins one that has not begun.
    ///
    /// Its jobs get the environment that the session was made with. Of one that is over that is
    /// not kept, so a caller that is about to [retry](Self::retry) it gives its own here; without
    /// any it is the one of this process.
    pub async fn resume(
        &self,
        id: &SessionId,
        env: Option<BTreeMap<OsString, OsString>>,
    ) -> Result<SessionController, RequestError> {
        let controller = self.attend(id, env).await?;
        if controller.status() == WorkflowStatus::Pending {
            match controller.input(SessionInput::Begin).await {
                // It has begun meanwhile.
                Ok(()) | Err(RequestError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(controller)
    }

    /// The controller of a session, which is made if there is none. A session that is under way
    /// goes on; one that has not begun waits.
    async fn attend(
        &self,
        id: &SessionId,
        env: Option<Environment>,
    ) -> Result<SessionController, RequestError> {
        let turn = self.shared.controllers.turn(id).await;
        self.attend_in(&turn, env).await
    }

    /// The same in a turn that the caller has. Opening a session keeps no other waiting.
    async fn attend_in(
        &self,
        turn: &SessionTurn,
        env: Option<Environment>,
    ) -> Result<SessionController, RequestError> {
        let id = turn.session();
        if !self.shared.manager.is_own(id) {
            // A session that does not exist is not foreign.
            self.past(id).await?;
            return Err(RequestError::Foreign(id.clone()));
        }
        if let Some(controller) = self.shared.controllers.get(id) {
            if controller.is_open() {
                if let Some(env) = env {
                    controller.set_caller(env).await;
                }
                return Ok(controller);
            }
            self.shared.controllers.remove(id);
            controller.gone().await;
        }
        let (manager, opened) = (self.shared.manager.clone(), id.clone());
        let (session, env) = blocking(move || {
            let session = WorkflowSession::open(&manager.base(), manager.authority(), &opened)?;
            let env = env
                .filter(|_| session.status().is_final())
                .or_else(|| caller::kept(session.jobs_path()))
                .unwrap_or_else(|| std::env::vars_os().collect());
            Ok::<_, RequestError>((session, env))
        })
        .await?;
        let pending = session.status() == WorkflowStatus::Pending;
        let start = if pending { SessionStart::Wait } else { SessionStart::Recover };
        self.shared.controllers.insert(id, || self.control(session, env, start))
    }

    /// The controller of a session, if it is in memory. One that is over leaves it after a while,
    /// and everything that can be asked of it here is answered from the disk then.
    pub fn controller(&self, id: &SessionId) -> Option<SessionController> {
        self.shared.controllers.get(id).filter(SessionController::is_open)
    }

    /// The session after its last durable fact: the published snapshot of a session in memory, or
    /// the same folded from the disk.
    pub async fn snapshot(&self, id: &SessionId) -> Result<Arc<SessionSnapshot>, RequestError> {
        match self.controller(id) {
            Some(controller) => {
                // A session that was told to begin is not shown as one that waits to be told.
                controller.begun().await;
                Ok(controller.snapshot())
            }
            None => Ok(Arc::new(self.past(id).await?.into_snapshot())),
        }
    }

    /// Waits until a session is over, or blocked if that is asked for.
    pub async fn wait(
        &self,
        id: &SessionId,
        or_blocked: bool,
    ) -> Result<WorkflowStatus, RequestError> {
        match self.controller(id) {
            Some(controller) => Ok(controller.wait(or_blocked).await),
            None => Ok(self.past(id).await?.state().status()),
        }
    }

    async fn past(&self, id: &SessionId) -> Result<PastSession, RequestError> {
        let (manager, id) = (self.shared.manager.clone(), id.clone());
        blocking(move || PastSession::read(manager.look(&id)?)).await
    }

    /// The session that an id, the beginning of an id, or a name means.
    pub fn resolve(&self, text: &str) -> Result<SessionId, RequestError> {
        Ok(self.shared.manager.resolve(text)?)
    }

    /// All sessions, newest first.
    pub fn list(&self) -> Vec<SessionEntry> {
        self.shared.manager.list()
    }

    /// Whether the base directory is still the one that was opened, and not another in its place.
    pub fn is_in_place(&self) -> bool {
        self.shared.manager.is_in_place()
    }

    /// What has to be said to the next who starts something here, once: that its `.coven` had been
    /// deleted.
    pub fn take_notice(&self) -> Option<String> {
        self.shared.manager.take_notice()
    }

    /// Gives up a session whose base directory is not in its place any more, so that nothing of it
    /// can be recorded: its jobs are ended, and it leaves the memory.
    pub async fn abandon(&self, id: &SessionId) {
        if let Some(controller) = self.controller(id) {
            controller.stop_jobs().await;
            controller.close().await;
        }
        self.shared.controllers.remove(id);
        self.shared.manager.forget(id);
    }

    /// Whether a session is under way in memory, or has agents that were left alive.
    pub fn is_busy(&self) -> bool {
        let controllers = self.shared.controllers.all();
        controllers.iter().any(SessionController::is_under_way)
            || self.list().iter().any(|entry| entry.kept)
    }

    /// One session, as a list shows it.
    pub fn entry(&self, id: &SessionId) -> Option<SessionEntry> {
        self.shared.manager.entry(id)
    }

    /// The readable view of a session, live or not; nothing if it has no run.
    pub async fn view(&self, id: &SessionId) -> Result<Option<SessionView>, RequestError> {
        Ok(self.snapshot(id).await?.view().cloned())
    }

    /// Everything that happened in a session after a fact, then what happens. Of a session that is
    /// over and has left the memory: everything that happened, and the end.
    pub async fn subscribe(
        &self,
        id: &SessionId,
        after: u64,
    ) -> Result<EventSubscription, RequestError> {
        if let Some(controller) = self.controller(id)
            && let Ok(subscription) = controller.subscribe(after)
        {
            return Ok(subscription);
        }
        let (manager, id) = (self.shared.manager.clone(), id.clone());
        blocking(move || subscribe_past(&manager.look(&id)?, after)).await
    }

    fn is_closing(&self) -> bool {
        self.shared.closing.load(Ordering::Relaxed)
    }

    /// Stops following all sessions. Their agents go on under their holders, and the orchestrator
    /// that opens the base directory next takes them up.
    pub async fn close(&self) {
        // First, so that nothing starts in the places of those that are let go.
        self.shared.executor.close();
        self.shared.closing.store(true, Ordering::Relaxed);
        self.leave_house().await;
        // Whoever opens it next has nothing but the disk.
        self.put_back().await;
        self.shared.once.stop().await;
        for controller in self.shared.controllers.close() {
            controller.close().await;
        }
    }

    /// Closes; if wanted, ends everything first: sessions that are under way are cancelled, and
    /// agents that were left alive are stopped.
    pub async fn shutdown(&self, stop_agents: bool) {
        if stop_agents {
            // Without the lock: a session that ends may start another.
            let controllers = self.shared.controllers.all();
            let (mut ending, mut stuck) = (Vec::new(), Vec::new());
            for controller in &controllers {
                // One that is over, or about to be, refuses.
                let (by, why) = ("shutdown".to_owned(), "everything is being stopped".to_owned());
                match controller.input(SessionInput::Cancel { by, why }).await {
                    Err(RequestError::NotWritten { .. }) => stuck.push(controller),
                    _ => ending.push(controller),
                }
            }
            for controller in ending {
                controller.wait(false).await;
                best_effort("stop the agents of a session", controller.release().await);
            }
            for controller in stuck {
                controller.stop_jobs().await;
            }
        }
        self.close().await;
    }
}
