//! Starting a run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use coven_api::workflow::{OneAgent, StartWorkflow, Started, WorkflowDefinition};
use coven_api::{Code, Problem};
use coven_model::{Mode, WorkflowStatus};
use coven_notation::{Report, Source};
use coven_orchestrator::{ExecuteError, NewSession, What};
use serde_json::{Map, Value, json};

use super::House;
use crate::clock::now;
use crate::problems;
use crate::route::Shelf;

/// The longest idempotency key.
const LONGEST_KEY: usize = 200;

impl House {
    /// Starts a run. `key` makes the same request twice the same run.
    pub(crate) async fn start(
        &self,
        start: StartWorkflow,
        key: Option<String>,
    ) -> Result<Started, Problem> {
        check_key(key.as_deref())?;
        let begun = now();
        let path = self.owned(&self.folder(start.base_dir.as_deref())?)?;
        let env = environment(start.env)?;
        let what = what(start.grimoire, start.definition, start.agent)?;
        let orchestrator = self.orchestrator(&path).await?;
        // What a folder brings along is looked at anew for every run.
        self.trust_of(&path)?;
        let what = match &start.default_adapter {
            Some(adapter) => self.planned(&path, what, adapter, &start.input)?,
            None => what,
        };
        let new = NewSession {
            what,
            input: start.input,
            goal: start.goal,
            env: env.clone(),
            key: key.clone(),
            auto: start.auto,
        };
        let id = orchestrator.create_session(new).map_err(problems::execute)?;
        let entry = orchestrator.entry(&id).ok_or_else(|| {
            let detail = format!("the session {id} that was made with this key was deleted");
            Problem::new(Code::KeyReused, detail).with_hint("use a new key")
        })?;
        // With a key it may be an earlier request that made it, and that may have been cut short.
        let repeated = key.is_some() && entry.created_at < begun;
        let begins = entry.status == WorkflowStatus::Pending;
        if begins && !start.hold {
            let resumed = orchestrator.resume(&id, Some(env)).await;
            resumed.map_err(|error| problems::request(&error))?;
        }
        Ok(Started { id, name: entry.name, base_dir: path.display().to_string(), repeated })
    }

    /// What a run does whose steps have this adapter where they name none.
    fn planned(
        &self,
        path: &Path,
        what: What,
        adapter: &str,
        given: &Map<String, Value>,
    ) -> Result<What, Problem> {
        let folder = Shelf::of(self, path)?;
        let known = folder.known().with_default_adapter(adapter);
        if !known.adapters.iter().any(|kind| kind == adapter) {
            let detail = format!("there is no adapter `{}`", super::short(adapter));
            return Err(
                Problem::new(Code::BadAdapter, detail).with_hint("`GET /adapters` lists them")
            );
        }
        let mut plan = match what {
            What::Grimoire(name) => {
                let catalogue = folder.catalogue(&known);
                catalogue.plan(&name).map_err(|error| problems::grimoire(&error))?.clone()
            }
            What::Definition { name, text } => {
                let source = Source::new(name, text);
                let checked = coven_workflow::check(&source, &known);
                let wrong = || Report::new(source, checked.problems);
                checked
                    .plan
                    .ok_or_else(|| problems::execute(ExecuteError::Definition(Box::new(wrong()))))?
            }
            What::Plan(plan) => *plan,
        };
        // A step that leaves it to an input has it too, where the input says nothing. What is wrong
        // with the inputs is told when the session is made.
        if let Ok(input) = coven_workflow::bind_inputs(&plan, given) {
            let _ = coven_workflow::settle(&mut plan, &input, &known);
        }
        Ok(What::Plan(Box::new(plan)))
    }
}

fn check_key(key: Option<&str>) -> Result<(), Problem> {
    let Some(key) = key else { return Ok(()) };
    if (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    let detail = format!("an idempotency key has 1 to {LONGEST_KEY} visible ASCII characters");
    Err(Problem::new(Code::BadRequest, detail))
}

/// The environment of jobs: the caller's, or the daemon's own.
pub(crate) fn environment(
    given: Option<BTreeMap<String, String>>,
) -> Result<BTreeMap<OsString, OsString>, Problem> {
    let Some(given) = given else { return Ok(std::env::vars_os().collect()) };
    for (name, value) in &given {
        let wrong = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        if wrong {
            let name = super::short(name);
            let detail = format!("`{name}` cannot be a variable of an environment");
            return Err(Problem::new(Code::BadInput, detail));
        }
    }
    Ok(given.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
}

fn what(
    grimoire: Option<String>,
    definition: Option<WorkflowDefinition>,
    agent: Option<OneAgent>,
) -> Result<What, Problem> {
    match (grimoire, definition, agent) {
        (Some(name), None, None) => Ok(What::Grimoire(name)),
        (None, Some(definition), None) => {
            Ok(What::Definition { name: definition.name, text: definition.text })
        }
        (None, None, Some(agent)) => one_agent(agent),
        _ => {
            let detail = "exactly one of `grimoire`, `definition` and `agent` says what runs";
            Err(Problem::new(Code::BadRequest, detail))
        }
    }
}

/// One agent, as a stage workflow of one task.
fn one_agent(agent: OneAgent) -> Result<What, Problem> {
    let mut task = Map::from_iter([
        ("id".to_owned(), json!("agent")),
        ("adapter".to_owned(), json!(agent.adapter)),
        ("executionMode".to_owned(), json!(agent.mode.unwrap_or(Mode::Interactive))),
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
        .map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(What::Definition { name: "agent".to_owned(), text })
}
