//! The facade: every session of a base directory, by id.

mod access;
mod archive;
mod housekeeping;
mod once;
mod requests;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use coven_model::{AutoAnswer, SessionId, SessionView, WorkflowStatus};
use coven_notation::{FileProblem, Report, Source};
use coven_policy::Policies;
use coven_store::Entry;
use coven_workflow::catalogue::GrimoireCatalogue;
use coven_workflow::input::SessionSpec;
use coven_workflow::{Input, Known, Plan, bind_inputs, check, settle};
use serde_json::{Map, Value};
use tokio::sync::{Notify, RwLock};
use tokio::task::JoinHandle;
use uuid::Uuid;

pub use self::access::TaskAccess;
pub use self::archive::Archive;
use self::once::Once;
pub(crate) use self::once::Watch;
pub use self::once::{Posted, PostedEvent};
use crate::engine::{Admission, Fresh, Load, SessionController, Surroundings, WorkflowExecutor};
use crate::error::{ExecuteError, OpenError, RequestError};
use crate::event::{Published, Subscription};
use crate::feed::Feed;
use crate::options::{NewSession, Options, What};
use crate::state::{
    ClaimError, Claims, Environment, PastSession, SessionManager, WorkflowSession, caller,
};

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
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    trusted: AtomicBool,
    manager: Arc<SessionManager>,
    executor: WorkflowExecutor,
    controllers: RwLock<HashMap<SessionId, SessionController>>,
    /// A session is over, or has left the memory.
    ended: Arc<Notify>,
    closing: AtomicBool,
    /// Removes old sessions in the background.
    housekeeper: Mutex<Option<JoinHandle<()>>>,
    once: Once,
}

/// A session about to be made: everything about it was checked.
struct Prepared {
    plan: Plan,
    input: Map<String, Value>,
    goal: Option<String>,
    env: Environment,
    auto: Option<AutoAnswer>,
}

impl Orchestrator {
    /// Takes a base directory over and goes on with every session that is not over. Must be called
    /// within a tokio runtime that has I/O and time.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let clock = options.clock.clone();
        let owners = options.agreed_owners.as_ref();
        let (base_dir, state_dir) = (&options.base_dir, &options.state_dir);
        let manager = SessionManager::open(base_dir, state_dir, owners, &options.keeper, clock)?;
        let claims = Claims::open(&manager.state_folder(), &manager.base(), manager.now())?;
        let executor = WorkflowExecutor::new(&options).map_err(OpenError::Slots)?;
        let shared = Shared {
            trusted: AtomicBool::new(options.trusted),
            options,
            manager: Arc::new(manager),
            executor,
            controllers: RwLock::default(),
            ended: Arc::default(),
            closing: AtomicBool::new(false),
            housekeeper: Mutex::default(),
            once: Once::new(claims),
        };
        let orchestrator = Self { shared: Arc::new(shared) };
        let entries = orchestrator.take_up();
        for entry in entries {
            let open = matches!(entry.status, WorkflowStatus::Running | WorkflowStatus::Blocked);
            let claims = orchestrator.shared.once.claims();
            let unseen = entry.status.is_final() && claims.looked(&entry.id).is_some();
            if open || entry.kept || !entry.fresh || unseen {
                // One session that cannot be read keeps no other from going on.
                let _ = orchestrator.attend(&entry.id, None).await;
            }
        }
        orchestrator.keep_starting();
        orchestrator.keep_house();
        Ok(orchestrator)
    }

    /// How many jobs run and wait, over all sessions.
    pub fn load(&self) -> Load {
        self.shared.executor.load()
    }

    /// Who let the jobs run that were begun lately, over all sessions, the newest last.
    pub fn admitted(&self) -> Vec<Admission> {
        self.shared.executor.admitted()
    }

    /// Where everything is told.
    pub fn feed(&self) -> &Feed {
        &self.shared.options.feed
    }

    /// What definitions are checked against.
    pub fn known(&self) -> Known {
        let known = Known::new(self.shared.executor.adapters());
        match &self.shared.options.default_adapter {
            Some(adapter) => known.with_default_adapter(adapter),
            None => known,
        }
    }

    /// The grimoires there are.
    pub fn catalogue(&self) -> GrimoireCatalogue {
        let trusted = self.shared.trusted.load(Ordering::Relaxed);
        GrimoireCatalogue::load(&self.shared.options.grimoire_places(trusted), &self.known())
    }

    /// Whether the `.coven/` of the base directory may be used, from the next start of a session
    /// or a job on.
    pub fn set_trusted(&self, trusted: bool) {
        self.shared.trusted.store(trusted, Ordering::Relaxed);
        self.shared.executor.set_adapters(self.shared.options.folders(trusted));
    }

    /// Which questions are answered without a person, from the next question on.
    pub fn set_policies(&self, policies: Policies) {
        self.shared.executor.set_policies(policies);
    }

    fn plan(&self, what: What) -> Result<Plan, ExecuteError> {
        match what {
            What::Plan(plan) => Ok(*plan),
            What::Grimoire(name) => Ok(self.catalogue().plan(&name)?.clone()),
            What::Definition { name, text } => {
                let source = Source::new(name, text);
                let checked = check(&source, &self.known());
                checked.plan.ok_or_else(|| {
                    ExecuteError::Definition(Box::new(Report::new(source, checked.problems)))
                })
            }
        }
    }

    /// Makes a session that has not begun.
    pub fn create_session(&self, new: NewSession) -> Result<SessionId, ExecuteError> {
        if let Some(key) = new.key.clone() {
            return Ok(self.make_for_key(&key, false, new)?.0);
        }
        Ok(self.make(self.prepare(new)?, &new_id())?.id().clone())
    }

    fn prepare(&self, new: NewSession) -> Result<Prepared, ExecuteError> {
        let mut plan = self.plan(new.what)?;
        let inputs = |problems: Vec<FileProblem>| {
            ExecuteError::Inputs(problems.into_iter().map(|problem| problem.message).collect())
        };
        let input = bind_inputs(&plan, &new.input).map_err(inputs)?;
        settle(&mut plan, &input, &self.known()).map_err(inputs)?;
        Ok(Prepared { plan, input, goal: new.goal, env: new.env, auto: new.auto })
    }

    fn make(&self, prepared: Prepared, id: &SessionId) -> Result<WorkflowSession, ExecuteError> {
        let Prepared { plan, input, goal, env, auto } = prepared;
        let manager = &self.shared.manager;
        let name = manager.new_name(id);
        let base = manager.base_for_new().map_err(ExecuteError::BaseDir)?;
        // Registered before its folder is there: a folder without this is not ours.
        manager.register(id).map_err(ExecuteError::Registry)?;
        let created = WorkflowSession::create(&base, id);
        let mut session = created.inspect_err(|_| manager.unregister(id))?;
        let base_dir = Some(base.path().display().to_string());
        let creation = SessionSpec { session: id.clone(), name, plan, input, goal, base_dir, auto };
        let now = manager.now();
        let (facts, _) = session.decide(Input::Create(Box::new(creation)), now);
        // The environment comes first: a session that is there can be gone on with.
        let claims = self.shared.once.claims();
        let recorded = caller::keep(session.path(), &env)
            .map_err(ExecuteError::Environment)
            .and_then(|()| Ok(claims.follow(id, 0).map_err(ClaimError::from)?))
            .and_then(|()| Ok(session.record(&facts, now)?));
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                drop(session);
                // Nobody has heard of it, so what is left of it is nobody's.
                let _ = manager.remove(id);
                return Err(error);
            }
        };
        manager.note(&session)?;
        let feed = &self.shared.options.feed;
        feed.locate(base.path(), [id]);
        for (seq, fact) in recorded.seqs.zip(facts) {
            feed.tell(id, now, Published::Fact { seq, event: Arc::new(fact) });
        }
        Ok(session)
    }

    /// Makes a session and lets it run.
    pub async fn execute_workflow(&self, new: NewSession) -> Result<SessionId, ExecuteError> {
        Ok(self.execute(new).await?.0)
    }

    async fn execute_new(&self, new: NewSession) -> Result<SessionId, ExecuteError> {
        let env = new.env.clone();
        let session = self.make(self.prepare(new)?, &new_id())?;
        let id = session.id().clone();
        let mut controllers = self.shared.controllers.write().await;
        let controller = self.control(session, env, Fresh::Begin);
        controllers.insert(id.clone(), controller);
        Ok(id)
    }

    fn control(
        &self,
        session: WorkflowSession,
        env: Environment,
        fresh: Fresh,
    ) -> SessionController {
        let surroundings = Surroundings {
            manager: self.shared.manager.clone(),
            feed: self.shared.options.feed.clone(),
            linger: self.shared.options.linger,
            ended: self.shared.ended.clone(),
            watch: self.watch(),
        };
        SessionController::start(session, surroundings, self.shared.executor.for_caller(env), fresh)
    }

    /// Goes on with a session from where its journal ends, or begins one that has not begun.
    ///
    /// Its jobs get the environment that the session was made with. Of one that is over that is
    /// not kept, so whoever is about to [retry](Self::retry) it gives theirs here; without any it
    /// is the one of this process.
    pub async fn resume(
        &self,
        id: &SessionId,
        env: Option<BTreeMap<OsString, OsString>>,
    ) -> Result<SessionController, RequestError> {
        let controller = self.attend(id, env).await?;
        if controller.status() == WorkflowStatus::Pending {
            match controller.input(Input::Begin).await {
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
        if !self.shared.manager.is_own(id) {
            // One that does not exist is not foreign.
            self.past(id)?;
            return Err(RequestError::Foreign(id.clone()));
        }
        loop {
            // Under this lock, so that nobody else opens the same session meanwhile.
            let mut controllers = self.shared.controllers.write().await;
            if self.shared.closing.load(Ordering::Relaxed) {
                return Err(RequestError::Closing);
            }
            match controllers.get(id).cloned() {
                Some(controller) if controller.is_open() => {
                    drop(controllers);
                    if let Some(env) = env {
                        controller.set_caller(env).await;
                    }
                    return Ok(controller);
                }
                Some(leaving) => {
                    controllers.remove(id);
                    drop(controllers);
                    leaving.gone().await;
                }
                None => {
                    let session = WorkflowSession::open(&self.shared.manager.base(), id)?;
                    let env = env
                        .filter(|_| session.status().is_final())
                        .or_else(|| caller::kept(session.path()))
                        .unwrap_or_else(|| std::env::vars_os().collect());
                    let pending = session.status() == WorkflowStatus::Pending;
                    let fresh = if pending { Fresh::Wait } else { Fresh::Recover };
                    let controller = self.control(session, env, fresh);
                    controllers.insert(id.clone(), controller.clone());
                    return Ok(controller);
                }
            }
        }
    }

    /// The controller of a session, if it is in memory. One that is over leaves it after a while,
    /// and everything that can be asked of it here is answered from the disk then.
    pub async fn controller(&self, id: &SessionId) -> Option<SessionController> {
        let controllers = self.shared.controllers.read().await;
        controllers.get(id).filter(|controller| controller.is_open()).cloned()
    }

    /// Waits until a session is over, or blocked if that is asked for.
    pub async fn wait(
        &self,
        id: &SessionId,
        or_blocked: bool,
    ) -> Result<WorkflowStatus, RequestError> {
        match self.controller(id).await {
            Some(controller) => Ok(controller.wait(or_blocked).await),
            None => Ok(self.past(id)?.state().status()),
        }
    }

    fn past(&self, id: &SessionId) -> Result<PastSession, RequestError> {
        PastSession::read(&self.shared.manager.base(), id)
    }

    /// The session that an id, the beginning of an id, or a name means.
    pub fn resolve(&self, text: &str) -> Result<SessionId, RequestError> {
        Ok(self.shared.manager.resolve(text)?)
    }

    /// All sessions, newest first.
    pub fn list(&self) -> Vec<Entry> {
        self.shared.manager.list()
    }

    /// Whether the base directory is still the one that was opened, and not another in its place.
    pub fn is_in_place(&self) -> bool {
        self.shared.manager.is_in_place()
    }

    /// Whether a session is under way in memory, or has agents that were left alive.
    pub async fn is_busy(&self) -> bool {
        let controllers = self.shared.controllers.read().await;
        let busy = |controller: &SessionController| !controller.status().is_final();
        controllers.values().any(busy) || self.list().iter().any(|entry| entry.kept)
    }

    /// One session, as a list shows it.
    pub fn entry(&self, id: &SessionId) -> Option<Entry> {
        self.shared.manager.entry(id)
    }

    /// What a session looks like, live or not.
    pub async fn view(&self, id: &SessionId) -> Result<Option<SessionView>, RequestError> {
        if let Some(controller) = self.controller(id).await
            && let Some(view) = controller.view().await
        {
            return Ok(Some(view));
        }
        Ok(self.past(id)?.view())
    }

    /// Everything that happened in a session after a fact, then what happens. Of a session that is
    /// over and has left the memory: everything that happened, and the end.
    pub async fn subscribe(
        &self,
        id: &SessionId,
        after: u64,
    ) -> Result<Subscription, RequestError> {
        if let Some(controller) = self.controller(id).await
            && let Ok(subscription) = controller.subscribe(after).await
        {
            return Ok(subscription);
        }
        self.past(id)?.subscribe(id, after)
    }

    /// Stops following all sessions. Their agents go on under their holders, and whoever opens the
    /// base directory next takes them up.
    pub async fn close(&self) {
        // First, so that nothing starts in the places of those that are let go.
        self.shared.executor.close();
        self.shared.closing.store(true, Ordering::Relaxed);
        self.leave_house().await;
        self.shared.once.stop().await;
        let controllers: Vec<_> = self.shared.controllers.write().await.drain().collect();
        for (_, controller) in controllers {
            controller.close().await;
        }
    }

    /// Closes; if wanted, ends everything first: sessions that are under way are cancelled, and
    /// agents that were left alive are stopped.
    pub async fn shutdown(&self, stop_agents: bool) {
        if stop_agents {
            // Without the lock: a session that ends may start another.
            let controllers: Vec<_> =
                self.shared.controllers.read().await.values().cloned().collect();
            let (mut ending, mut stuck) = (Vec::new(), Vec::new());
            for controller in &controllers {
                // One that is over, or about to be, refuses.
                let (by, why) = ("shutdown".to_owned(), "everything is being stopped".to_owned());
                match controller.input(Input::Cancel { by, why }).await {
                    Err(RequestError::NotWritten { .. }) => stuck.push(controller),
                    _ => ending.push(controller),
                }
            }
            for controller in ending {
                controller.wait(false).await;
                let _ = controller.release().await;
            }
            for controller in stuck {
                controller.stop_jobs().await;
            }
        }
        self.close().await;
    }
}

fn new_id() -> SessionId {
    loop {
        // A UUID in its usual form is always one; the loop only spares an unwrap.
        if let Ok(id) = SessionId::new(Uuid::now_v7().to_string()) {
            return id;
        }
    }
}
