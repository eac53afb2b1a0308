//! Starting a run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coven_api::system::FolderTrust;
use coven_api::workflow::{
    OneAgent, RunIsolation, StartWorkflow, StartedSession, WorkflowDefinition,
};
use coven_model::{AgentMode, WorkflowStatus};
use coven_orchestrator::{NewSession, Orchestrator, RequestError, SessionContent};
use coven_workflow::plan::{Isolation, OnFailure};
use serde_json::{Map, Value, json};

use crate::blocking::{blocking, checking};
use crate::clock::now;
use crate::error::ServiceError;
use crate::folder;
use crate::service::Service;
use crate::text::{excerpt, printable};

/// The longest idempotency key.
const MAX_KEY_BYTES: usize = 200;

impl Service {
    /// Starts a run. `key` makes the same request twice the same run.
    pub async fn start(
        &self,
        start: StartWorkflow,
        key: Option<String>,
    ) -> Result<StartedSession, ServiceError> {
        check_key(key.as_deref())?;
        let (context, base_dir) = (self.context().clone(), start.base_dir.clone());
        let path = blocking(move || folder::to_run_in(&context, base_dir.as_deref())).await?;
        let orchestrator = self.orchestrator(&path).await?;
        let started = self.start_in(&orchestrator, path, start, key).await;
        if started.is_err() {
            // What is refused leaves nothing behind in the folder.
            orchestrator.remove_unused_folder().await;
        }
        started
    }

    async fn start_in(
        &self,
        orchestrator: &Orchestrator,
        path: PathBuf,
        start: StartWorkflow,
        key: Option<String>,
    ) -> Result<StartedSession, ServiceError> {
        let begun = now();
        let env = environment(start.env)?;
        let is_one_agent = start.agent.is_some();
        let what = what(start.grimoire, start.definition, start.agent)?;
        // What a folder brings along is looked at anew for every run.
        let trust = self.trust_of(path.clone()).await?;
        self.check_trees_config(&path, &trust).await?;
        let what = if is_one_agent {
            let orchestrator = orchestrator.clone();
            checking(move || ending_with_its_agent(&orchestrator, what)).await?
        } else {
            what
        };
        let what = match &start.default_adapter {
            Some(adapter) => {
                let (orchestrator, adapter) = (orchestrator.clone(), adapter.clone());
                let given = start.input.clone();
                checking(move || with_default_adapter(&orchestrator, what, &adapter, &given))
                    .await?
            }
            None => what,
        };
        let isolation = start.isolation.or(self.context().config.defaults.isolation);
        let new = NewSession {
            what,
            input: start.input,
            goal: start.goal,
            env: env.clone(),
            key: key.clone(),
            auto: start.auto,
            cause: None,
            isolation: isolation.map(|isolation| match isolation {
                RunIsolation::Auto => Isolation::Auto,
                RunIsolation::Shared => Isolation::Shared,
                RunIsolation::Run => Isolation::Run,
                RunIsolation::Task => Isolation::Task,
            }),
        };
        let id = orchestrator.create_session(new).await?;
        let notice = orchestrator.take_notice();
        let without_trees = orchestrator.snapshot(&id).await.ok().and_then(|made| {
            let why = made.state().run()?.identity.no_trees.as_deref()?;
            Some(format!(
                "there are no trees, and agents that write take turns: {}",
                printable(why)
            ))
        });
        let note = [notice, without_trees].into_iter().flatten();
        let note = note.reduce(|one, other| format!("{one}; {other}"));
        let entry = orchestrator.entry(&id);
        let entry = entry.ok_or_else(|| ServiceError::KeyOfDeleted(id.clone()))?;
        // With a key an earlier request may have made it, and that may have been cut short.
        let repeated = key.is_some() && entry.created_at < begun;
        let mut waits_for_disk = None;
        if entry.status == WorkflowStatus::Pending && !start.hold {
            match orchestrator.resume(&id, Some(env)).await {
                Ok(controller) => {
                    waits_for_disk = controller.storage_problem().as_deref().map(printable);
                }
                // The session is there, and begins as soon as its disk takes it.
                Err(RequestError::NotWritten { problem }) => {
                    waits_for_disk = Some(printable(&problem));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let base_dir = path.display().to_string();
        tracing::info!(workflow = %id, base = base_dir, "a run was started");
        Ok(StartedSession { id, name: entry.name, base_dir, repeated, waits_for_disk, note })
    }
}

impl Service {
    /// A file of the project about trees must have no errors: without its set-up commands agents
    /// would work in trees that lack what they need.
    async fn check_trees_config(
        &self,
        path: &Path,
        trust: &FolderTrust,
    ) -> Result<(), ServiceError> {
        let (context, path, trust) = (self.context().clone(), path.to_owned(), trust.clone());
        blocking(move || {
            let project = context.trust.project(&path, &trust);
            crate::context::ServiceContext::trees_of(&path, &project)
                .map(drop)
                .map_err(ServiceError::ProjectConfig)
        })
        .await
    }
}

/// A session of one agent, which is over when its agent is, also if that was stopped or failed:
/// there is nothing left for a person to decide about.
fn ending_with_its_agent(
    orchestrator: &Orchestrator,
    what: SessionContent,
) -> Result<SessionContent, ServiceError> {
    let mut plan = orchestrator.plan(what, &orchestrator.known())?;
    for step in &mut plan.steps {
        step.on_failure = OnFailure::Fail;
    }
    Ok(SessionContent::Plan(Box::new(plan)))
}

/// What a run does whose steps have this adapter where they name none.
fn with_default_adapter(
    orchestrator: &Orchestrator,
    what: SessionContent,
    adapter: &str,
    given: &Map<String, Value>,
) -> Result<SessionContent, ServiceError> {
    let known = orchestrator.known().with_default_adapter(adapter);
    if !known.adapters.iter().any(|kind| kind == adapter) {
        return Err(ServiceError::UnknownAdapter(excerpt(adapter, 80)));
    }
    let mut plan = orchestrator.plan(what, &known)?;
    // A step that leaves its adapter to an input has it too, where the input says nothing. What is
    // wrong with the inputs is an error when the session is made.
    if let Ok(input) = coven_workflow::bind_inputs(&plan, given)
        && let Err(problems) = coven_workflow::settle(&mut plan, &input, &known)
    {
        tracing::debug!("{} problems with the inputs", problems.len());
    }
    Ok(SessionContent::Plan(Box::new(plan)))
}

fn check_key(key: Option<&str>) -> Result<(), ServiceError> {
    let Some(key) = key else { return Ok(()) };
    if (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    let detail = format!("an idempotency key has 1 to {MAX_KEY_BYTES} visible ASCII characters");
    Err(ServiceError::BadRequest(detail))
}

/// The environment of jobs: the caller's, or the daemon's own.
pub(crate) fn environment(
    given: Option<BTreeMap<String, String>>,
) -> Result<BTreeMap<OsString, OsString>, ServiceError> {
    let Some(given) = given else { return Ok(std::env::vars_os().collect()) };
    for (name, value) in &given {
        let wrong = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        if wrong {
            let name = excerpt(name, 80);
            let detail = format!("`{name}` cannot be a variable of an environment");
            return Err(ServiceError::BadInput(detail));
        }
    }
    Ok(given.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
}

fn what(
    grimoire: Option<String>,
    definition: Option<WorkflowDefinition>,
    agent: Option<OneAgent>,
) -> Result<SessionContent, ServiceError> {
    match (grimoire, definition, agent) {
        (Some(name), None, None) => Ok(SessionContent::Grimoire(name)),
        (None, Some(definition), None) => {
            Ok(SessionContent::Definition { name: definition.name, text: definition.text })
        }
        (None, None, Some(agent)) => one_agent(agent),
        _ => {
            let detail = "exactly one of `grimoire`, `definition` and `agent` says what runs";
            Err(ServiceError::BadRequest(detail.to_owned()))
        }
    }
}

/// One agent, as a stage workflow of one task.
fn one_agent(agent: OneAgent) -> Result<SessionContent, ServiceError> {
    let mut task = Map::from_iter([
        ("id".to_owned(), json!("agent")),
        ("adapter".to_owned(), json!(agent.adapter)),
        ("executionMode".to_owned(), json!(agent.mode.unwrap_or(AgentMode::Interactive))),
    ]);
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            task.insert(name.to_owned(), value);
        }
    };
    put("prompt", agent.prompt.map(Value::from));
    put("model", agent.model.map(Value::from));
    put("permissions", agent.permissions.map(|permissions| json!(permissions)));
    put(
        "extraArgs",
        Some(agent.extra_args).filter(|args| !args.is_empty()).map(|args| json!(args)),
    );
    put("autoApprove", Some(agent.auto_approve).filter(|auto| *auto).map(Value::from));
    let workflow = json!({ "id": "agent", "stages": [{ "id": "agent", "tasks": [task] }] });
    let text = serde_json::to_string_pretty(&workflow)
        .map_err(|error| ServiceError::Internal(error.to_string()))?;
    Ok(SessionContent::Definition { name: "agent".to_owned(), text })
}
