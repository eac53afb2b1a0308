//! The facade: every session of a base directory, by id.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use coven_model::event::Decision;
use coven_model::{Digest, InterventionId, SessionId, SessionView, TaskId, WorkflowStatus};
use coven_notation::{Problem, Report, Source};
use coven_runner::AgentRunner;
use coven_store::Entry;
use coven_workflow::catalogue::Catalogue;
use coven_workflow::input::Creation;
use coven_workflow::{Input, Known, Plan, bind_inputs, check, settle};
use tokio::sync::RwLock;
use uuid::Uuid;

use crate::engine::{Fresh, SessionController, WorkflowExecutor};
use crate::error::{ExecuteError, OpenError, RequestError};
use crate::event::Subscription;
use crate::options::{NewSession, Options, What};
use crate::state::{SessionManager, WorkflowSession, now};

/// Keeps any number of sessions, and hands what is asked of one to its controller.
#[derive(Clone, Debug)]
pub struct Orchestrator {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    manager: Arc<SessionManager>,
    executor: WorkflowExecutor,
    controllers: RwLock<HashMap<SessionId, SessionController>>,
    pos: Arc<AtomicU64>,
}

impl Orchestrator {
    /// Takes a base directory over and goes on with every session that is not over. Must be called
    /// within a tokio runtime that has I/O and time.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let manager = Arc::new(SessionManager::open(&options.base_dir, &options.keeper)?);
        let executor = WorkflowExecutor::new(&options);
        let shared = Shared {
            options,
            manager,
            executor,
            controllers: RwLock::default(),
            pos: Arc::default(),
        };
        let orchestrator = Self { shared: Arc::new(shared) };
        for entry in orchestrator.list() {
            let open = matches!(entry.status, WorkflowStatus::Running | WorkflowStatus::Blocked);
            if open {
                // One session that cannot be read keeps no other from going on.
                let _ = orchestrator.resume(&entry.id).await;
            }
        }
        Ok(orchestrator)
    }

    /// What definitions are checked against.
    pub fn known(&self) -> Known {
        let known = Known::new(self.shared.executor.adapters());
        match &self.shared.options.default_adapter {
            Some(adapter) => known.or_else(adapter),
            None => known,
        }
    }

    /// The grimoires there are.
    pub fn catalogue(&self) -> Catalogue {
        Catalogue::load(&self.shared.options.grimoire_places(), &self.known())
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
        Ok(self.create(new)?.id().clone())
    }

    fn create(&self, new: NewSession) -> Result<WorkflowSession, ExecuteError> {
        let mut plan = self.plan(new.what)?;
        let inputs = |problems: Vec<Problem>| {
            ExecuteError::Inputs(problems.into_iter().map(|problem| problem.message).collect())
        };
        let input = bind_inputs(&plan, &new.input).map_err(inputs)?;
        settle(&mut plan, &input, &self.known()).map_err(inputs)?;
        let manager = &self.shared.manager;
        let id = new_id();
        let name = manager.new_name(&id);
        let mut session = WorkflowSession::create(manager.base(), &id)?;
        let base_dir = Some(manager.base().path().display().to_string());
        let creation = Creation { session: id, name, plan, input, goal: new.goal, base_dir };
        let (facts, _) = session.decide(Input::Create(Box::new(creation)), now());
        session.record(&facts, now())?;
        manager.note(&session)?;
        Ok(session)
    }

    /// Makes a session and lets it run.
    pub async fn execute_workflow(&self, mut new: NewSession) -> Result<SessionId, ExecuteError> {
        let env = std::mem::take(&mut new.env);
        let session = self.create(new)?;
        let id = session.id().clone();
        let executor = self.shared.executor.for_caller(env);
        self.control(session, executor, Fresh::Begin).await;
        Ok(id)
    }

    async fn control(
        &self,
        session: WorkflowSession,
        executor: WorkflowExecutor,
        fresh: Fresh,
    ) -> SessionController {
        let id = session.id().clone();
        let (manager, pos) = (self.shared.manager.clone(), self.shared.pos.clone());
        let mut controllers = self.shared.controllers.write().await;
        let controller = SessionController::start(session, manager, executor, pos, fresh);
        controllers.insert(id, controller.clone());
        controller
    }

    /// Goes on with a session from where its journal ends.
    pub async fn resume(&self, id: &SessionId) -> Result<SessionController, RequestError> {
        if let Some(controller) = self.controller(id).await {
            return Ok(controller);
        }
        let session = WorkflowSession::open(self.shared.manager.base(), id)?;
        let executor = self.shared.executor.for_caller(std::env::vars_os().collect());
        let pending = session.status() == WorkflowStatus::Pending;
        let fresh = if pending { Fresh::Begin } else { Fresh::Recover };
        Ok(self.control(session, executor, fresh).await)
    }

    /// The controller of a session, if it is live.
    pub async fn controller(&self, id: &SessionId) -> Option<SessionController> {
        self.shared.controllers.read().await.get(id).cloned()
    }

    async fn live(&self, id: &SessionId) -> Result<SessionController, RequestError> {
        self.controller(id).await.ok_or_else(|| RequestError::NotLive(id.clone()))
    }

    /// The session that an id, the beginning of an id, or a name means.
    pub fn resolve(&self, text: &str) -> Result<SessionId, RequestError> {
        Ok(self.shared.manager.resolve(text)?)
    }

    /// All sessions, newest first.
    pub fn list(&self) -> Vec<Entry> {
        self.shared.manager.list()
    }

    /// What a session looks like, live or not.
    pub async fn view(&self, id: &SessionId) -> Result<Option<SessionView>, RequestError> {
        match self.controller(id).await {
            Some(controller) => Ok(controller.view().await),
            None => Ok(WorkflowSession::open(self.shared.manager.base(), id)?.view()),
        }
    }

    /// Everything that happened in a session after a fact, then what happens.
    pub async fn subscribe(
        &self,
        id: &SessionId,
        after: u64,
    ) -> Result<Subscription, RequestError> {
        self.live(id).await?.subscribe(after).await
    }

    /// Ends a session: nothing new starts, its agents are stopped, then it is cancelled.
    pub async fn cancel(&self, id: &SessionId, by: &str, why: &str) -> Result<(), RequestError> {
        let input = Input::Cancel { by: by.to_owned(), why: why.to_owned() };
        self.live(id).await?.input(input).await
    }

    /// Tries a failed or blocked step again.
    pub async fn retry(&self, id: &SessionId, by: &str, why: &str) -> Result<(), RequestError> {
        let controller = self.resume(id).await?;
        let run = controller.view().await.map_or(0, |view| view.retries);
        let input = Input::Retry { run, by: by.to_owned(), why: why.to_owned() };
        controller.input(input).await
    }

    /// Says that an interactive task is done.
    pub async fn complete_task(
        &self,
        id: &SessionId,
        task: &TaskId,
        by: &str,
    ) -> Result<(), RequestError> {
        let input = Input::Complete { task: task.clone(), by: by.to_owned() };
        self.live(id).await?.input(input).await
    }

    /// Stops the agent of a task; the task has failed then.
    pub async fn stop_task(
        &self,
        id: &SessionId,
        task: &TaskId,
        by: &str,
    ) -> Result<(), RequestError> {
        let input = Input::StopTask { task: task.clone(), by: by.to_owned() };
        self.live(id).await?.input(input).await
    }

    /// Decides an intervention. `digest` is what the decider saw, where it is about a screen.
    pub async fn answer(
        &self,
        intervention: &InterventionId,
        decision: Decision,
        digest: Option<Digest>,
    ) -> Result<(), RequestError> {
        let session = intervention.session();
        let intervention = intervention.clone();
        let input = Input::Resolve { intervention, decision: Box::new(decision), digest };
        self.live(&session).await?.input(input).await
    }

    /// The agent of a task, to look at and to type to.
    pub async fn agent(&self, id: &SessionId, task: &TaskId) -> Result<AgentRunner, RequestError> {
        let agent = self.live(id).await?.agent(task).await;
        agent.ok_or_else(|| RequestError::NoAgent(task.clone()))
    }

    /// Stops following all sessions. Their agents go on under their holders, and whoever opens the
    /// base directory next takes them up.
    pub async fn close(&self) {
        let controllers: Vec<_> = self.shared.controllers.write().await.drain().collect();
        for (_, controller) in controllers {
            controller.close().await;
        }
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
