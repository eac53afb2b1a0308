//! Making sessions: from what is asked for to a session on the disk, and to one that runs.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use coven_folder::best_effort;
use coven_model::event::SessionCause;
use coven_model::{AutoAnswer, RepositoryRecord, SessionId};
use coven_notation::{FileProblem, ProblemReport, SourceFile};
use coven_runtime::installed;
use coven_workflow::input::SessionSpec;
use coven_workflow::{
    CheckEnvironment, SessionInput, WorkflowPlan, bind_inputs, check, inabilities, settle,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Orchestrator;
use crate::engine::SessionStart;
use crate::engine::trees::find_repository;
use crate::error::{ExecuteError, NoRepository};
use crate::event::PublishedEvent;
use crate::options::{NewSession, SessionContent};
use crate::state::blocking::blocking;
use crate::state::{ClaimError, Environment, WorkflowSession, caller};

/// A session about to be made: everything about it was checked.
pub(super) struct Prepared {
    plan: WorkflowPlan,
    input: Map<String, Value>,
    goal: Option<String>,
    env: Environment,
    auto: Option<AutoAnswer>,
    cause: Option<SessionCause>,
    /// Where its trees begin, if not where the checkout is.
    origin: Option<TreeOrigin>,
}

impl Prepared {
    /// The same with trees that begin at a commit.
    pub(super) fn from(self, origin: TreeOrigin) -> Self {
        Self { origin: Some(origin), ..self }
    }
}

/// A commit that the trees of a session begin at.
pub(super) struct TreeOrigin {
    pub(super) head: String,
    /// The branch that its work is for.
    pub(super) branch: Option<String>,
}

/// The repository in whose trees a plan works; nothing if it works in none, and why, if it would.
#[derive(Default)]
struct SessionRepository {
    record: Option<Box<RepositoryRecord>>,
    no_trees: Option<String>,
}

impl Orchestrator {
    /// What a session would do, checked against `known`: [`Self::known`], or the same with another
    /// default adapter. Reads the catalogue, so this waits on the disk.
    pub fn plan(
        &self,
        what: SessionContent,
        known: &CheckEnvironment,
    ) -> Result<WorkflowPlan, ExecuteError> {
        match what {
            SessionContent::Plan(plan) => Ok(*plan),
            SessionContent::Grimoire(name) => Ok(self.catalogue_for(known).plan(&name)?.clone()),
            SessionContent::Definition { name, text } => {
                let source = SourceFile::new(name, text);
                let checked = check(&source, known);
                checked.plan.ok_or_else(|| {
                    ExecuteError::Definition(Box::new(ProblemReport::new(source, checked.problems)))
                })
            }
        }
    }

    /// Makes a session that has not begun, with a controller that waits until it is told to.
    pub async fn create_session(&self, new: NewSession) -> Result<SessionId, ExecuteError> {
        let orchestrator = self.clone();
        blocking(move || {
            if let Some(key) = new.key.clone() {
                return Ok(orchestrator.make_once_for_key(&key, false, new)?.id);
            }
            let id = new_id();
            let prepared = orchestrator.prepare(new)?;
            orchestrator.make_with_controller(prepared, &id, SessionStart::Wait)?;
            Ok(id)
        })
        .await
    }

    /// Removes the `.coven` that was made for a session that was then refused, if it has nothing
    /// else in it. The base directory stays open; the next session makes it again.
    pub async fn remove_unused_folder(&self) {
        let orchestrator = self.clone();
        let removed = blocking(move || orchestrator.shared.manager.remove_unused()).await;
        best_effort("remove the folder of a session that was refused", removed);
    }

    pub(super) fn prepare(&self, new: NewSession) -> Result<Prepared, ExecuteError> {
        let mut plan = self.plan(new.what, &self.known())?;
        let inputs = |problems: Vec<FileProblem>| {
            ExecuteError::Inputs(problems.into_iter().map(|problem| problem.message).collect())
        };
        let input = bind_inputs(&plan, &new.input).map_err(inputs)?;
        settle(&mut plan, &input, &self.known()).map_err(inputs)?;
        self.check_agents(&plan, &input, &new.env)?;
        if let Some(isolation) = new.isolation {
            plan.isolate(isolation);
        }
        let NewSession { goal, env, auto, cause, .. } = new;
        Ok(Prepared { plan, input, goal, env, auto, cause, origin: None })
    }

    /// Refuses a plan with an agent that could not be started, before anything of it runs.
    fn check_agents(
        &self,
        plan: &WorkflowPlan,
        input: &Map<String, Value>,
        env: &Environment,
    ) -> Result<(), ExecuteError> {
        let registry = self.shared.executor.registry();
        let path = env.get(OsStr::new("PATH")).map(OsString::as_os_str);
        let finds = |program: &str| installed::may_start(program, path);
        let abilities = |adapter: &str| registry.abilities(adapter);
        let unable: Vec<String> = inabilities(plan, input, abilities, finds)
            .into_iter()
            .filter(|unable| unable.fatal)
            .map(|unable| unable.to_string())
            .collect();
        if unable.is_empty() { Ok(()) } else { Err(ExecuteError::Unable(unable)) }
    }

    /// The repository in whose trees a plan works; nothing if it works in none.
    fn repository_for(
        &self,
        plan: &WorkflowPlan,
        base: &Path,
        name: &str,
    ) -> Result<SessionRepository, ExecuteError> {
        if !plan.wants_trees() {
            return Ok(SessionRepository::default());
        }
        let options = &self.shared.options;
        let data = options.data_dir.as_ref().unwrap_or(&options.state_dir);
        let config = self.shared.trees.read().clone();
        let without = |why: String| SessionRepository { record: None, no_trees: Some(why) };
        match find_repository(base, data, name, &config) {
            Ok(Some(record)) => {
                Ok(SessionRepository { record: Some(Box::new(record)), no_trees: None })
            }
            Ok(None) if plan.needs_trees() => {
                Err(NoRepository::None(base.display().to_string()).into())
            }
            Ok(None) => Ok(without(format!("{} is in no git repository", base.display()))),
            Err(error) if plan.needs_trees() => Err(error.into()),
            Err(NoRepository::Git(error)) => Ok(without(error.to_string())),
            Err(error @ NoRepository::None(_)) => Ok(without(error.to_string())),
        }
    }

    fn make(&self, prepared: Prepared, id: &SessionId) -> Result<WorkflowSession, ExecuteError> {
        let Prepared { plan, input, goal, env, auto, cause, origin } = prepared;
        let manager = &self.shared.manager;
        let name = manager.new_name(id);
        let _making = manager.making();
        let base = manager.base_for_new().map_err(ExecuteError::BaseDir)?;
        let SessionRepository { record: mut repository, no_trees } =
            self.repository_for(&plan, base.path(), &name)?;
        if let (Some(origin), Some(repository)) = (origin, &mut repository) {
            repository.head = origin.head;
            repository.branch = origin.branch;
        }
        // Registered before its folder is there: a folder without this is not ours.
        manager.register(id).map_err(ExecuteError::Registry)?;
        let created = WorkflowSession::create(&base, manager.authority(), id);
        let mut session = created.inspect_err(|_| manager.unregister(id))?;
        let base_dir = Some(base.path().display().to_string());
        let session_id = id.clone();
        let creation = SessionSpec {
            session: session_id,
            name,
            plan,
            input,
            goal,
            base_dir,
            auto,
            cause,
            repository,
            no_trees,
        };
        let now = manager.now();
        let (facts, _) = session.decide(SessionInput::Create(Box::new(creation)), now);
        // The environment comes first: a session that is there can be gone on with.
        let claims = self.shared.once.claims();
        let recorded = caller::keep(session.jobs_path(), &env)
            .map_err(ExecuteError::Environment)
            .and_then(|()| Ok(claims.follow(id, 0).map_err(ClaimError::from)?))
            .and_then(|()| Ok(session.record_here(&facts, now)?));
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                drop(session);
                // It was not published, so what is left of it belongs to nothing.
                best_effort("remove a session that was not made", manager.remove(id));
                return Err(error);
            }
        };
        if let Some(entry) = manager.list_entry(&session) {
            manager.try_note(entry, session.files().lock().journal_bytes())?;
        }
        let feed = &self.shared.options.feed;
        feed.locate(base.path(), manager.authority(), [id]);
        for (seq, fact) in recorded.seqs.zip(facts) {
            feed.tell(id, now, PublishedEvent::Fact { seq, event: Arc::new(fact) });
        }
        Ok(session)
    }

    /// Makes a session and lets it run.
    pub async fn execute_workflow(&self, new: NewSession) -> Result<SessionId, ExecuteError> {
        Ok(self.execute(new).await?.0)
    }

    pub(super) async fn execute_new(&self, new: NewSession) -> Result<SessionId, ExecuteError> {
        let orchestrator = self.clone();
        blocking(move || {
            let id = new_id();
            let prepared = orchestrator.prepare(new)?;
            orchestrator.make_with_controller(prepared, &id, SessionStart::Begin)?;
            Ok(id)
        })
        .await
    }

    /// Makes a session and hands it on to its actor. Nothing opens it in between. Waits on the
    /// disk.
    pub(super) fn make_with_controller(
        &self,
        prepared: Prepared,
        id: &SessionId,
        start: SessionStart,
    ) -> Result<(), ExecuteError> {
        let _turn = self.shared.controllers.turn_here(id);
        let env = prepared.env.clone();
        let session = self.make(prepared, id)?;
        self.shared.controllers.insert(id, || self.control(session, env, start))?;
        Ok(())
    }
}

pub(super) fn new_id() -> SessionId {
    loop {
        // A UUID in its usual form is always one; the loop only spares an unwrap.
        if let Ok(id) = SessionId::new(Uuid::now_v7().to_string()) {
            return id;
        }
    }
}
