//! What is wrong with a run that is only shown.

use std::path::Path;

use coven_api::ApiProblem;
use coven_workflow::{CheckEnvironment, WorkflowPlan, bind_inputs, lacking_elements, settle};
use serde::Serialize;
use serde_json::{Map, Value};

use super::jobs::PlannedJob;
use crate::failure::Result;
use crate::{abilities, folders};

/// The code of an agent that nothing names.
const NO_ADAPTER: &str = "no-adapter";

/// What would keep a run from starting, or what it would begin without.
#[derive(Debug, Serialize)]
pub(super) struct RunProblem {
    pub(super) severity: &'static str,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<String>,
}

/// What would keep a run from starting, and what would fail in it. One that is only shown needs no
/// inputs; one that is started does.
pub(super) fn find(
    plan: &WorkflowPlan,
    given: &Map<String, Value>,
    inputs: &Map<String, Value>,
    known: &CheckEnvironment,
) -> Vec<RunProblem> {
    let missing = bind_inputs(plan, given).err().unwrap_or_default();
    let missing = missing.into_iter().map(|problem| RunProblem {
        severity: "warning",
        message: problem.message,
        help: problem.help,
    });
    let unable = abilities::unknown_adapters(plan, inputs, known)
        .into_iter()
        .chain(abilities::unable(plan, inputs));
    let unable = unable.map(|problem| RunProblem {
        severity: if problem.fatal { "error" } else { "warning" },
        message: problem.message,
        help: Some(problem.help),
    });
    let mut found: Vec<RunProblem> = missing.chain(without_agent(plan, inputs, known)).collect();
    found.extend(unable);
    found.extend(lacking_elements(plan, inputs).into_iter().map(|problem| RunProblem {
        severity: "warning",
        message: problem.message,
        help: Some(problem.help),
    }));
    found
}

/// Why nothing would run in the folder.
pub(super) fn of_folder(base: &Path) -> Result<Option<RunProblem>> {
    let problem = coven_daemon::folder_problem(&folders::places()?, base);
    let problem = problem.map(|ApiProblem { detail, hint, .. }| RunProblem {
        severity: "error",
        message: detail,
        help: hint,
    });
    Ok(problem)
}

/// Why agents that are to be kept apart would share the folder.
pub(super) fn of_trees(plan: &WorkflowPlan, base: &Path) -> Option<RunProblem> {
    if !plan.wants_trees() {
        return None;
    }
    let why = match coven_git::Git::new().discover(base) {
        Ok(Some(_)) => return None,
        Ok(None) => format!("{} is in no git repository", base.display()),
        Err(error) => error.to_string(),
    };
    let is_needed = plan.needs_trees();
    let help = if is_needed { "use `isolation: shared`" } else { "agents that write take turns" };
    Some(RunProblem {
        severity: if is_needed { "error" } else { "warning" },
        message: format!("no trees can be made: {why}"),
        help: Some(help.to_owned()),
    })
}

/// Adds what keeps jobs from starting, such as a program that is missing, unless that is told of
/// their agent already.
pub(super) fn add_of_jobs<'a>(
    found: &mut Vec<RunProblem>,
    jobs: impl Iterator<Item = &'a PlannedJob>,
) {
    for PlannedJob { task, problem, argv, adapter, mode, .. } in jobs {
        let Some(problem) = problem else { continue };
        let agent = mode.is_some().then_some(adapter);
        let names = argv.first().into_iter().chain(agent);
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let is_told = found.iter().any(|told| {
            told.message.contains(problem.as_str())
                || names.iter().any(|name| told.message.contains(name.as_str()))
        });
        if !is_told {
            let message = format!("task `{task}`: {problem}");
            found.push(RunProblem { severity: "warning", message, help: None });
        }
    }
}

/// Agents that no input names. An input that has to be given is told as missing already.
fn without_agent(
    plan: &WorkflowPlan,
    inputs: &Map<String, Value>,
    known: &CheckEnvironment,
) -> Vec<RunProblem> {
    let is_told = |message: &str| {
        let missing = |name: &str| message.starts_with(&format!("`input.{name}`"));
        let mut required = plan.inputs.iter().filter(|input| input.required);
        required.any(|input| !inputs.contains_key(&input.name) && missing(&input.name))
    };
    let problems = settle(&mut plan.clone(), inputs, known).err().unwrap_or_default().into_iter();
    problems
        .filter(|problem| problem.code == NO_ADAPTER && !is_told(&problem.message))
        .map(|problem| RunProblem {
            severity: "warning",
            message: problem.message,
            help: problem.help,
        })
        .collect()
}
