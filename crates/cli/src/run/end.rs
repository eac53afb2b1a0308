//! How a run ended: what was done, and where to look.

use coven_api::workflow::WorkflowDetails;
use coven_model::{AgentMode, TaskStatus, WorkflowStatus};
use serde_json::Value;

use crate::failure::{CommandFailure, FailureCode, Result};
use crate::large_value::LargeValue;
use crate::output::PutText;
use crate::tree::{self, TreeStyle};
use crate::{output, question};

/// The most lines of a result that are shown.
const MAX_RESULT_LINES: usize = 12;

pub(crate) fn tree(workflow: &WorkflowDetails) -> Result {
    let (paint, columns) = (output::paint(), output::columns());
    let style = TreeStyle { now: output::now(), paint, columns, whole: true, over: None };
    let lines = tree::tree(workflow, style).into_iter().map(|line| line.text + "\n");
    output::write(&lines.collect::<String>())
}

/// What was done and where to look.
pub(crate) fn words(workflow: &WorkflowDetails) -> Result {
    let (item, session, paint) = (&workflow.item, &workflow.session, output::paint());
    let mut text = String::new();
    let took = match (session.started_at, session.ended_at) {
        (Some(began), Some(ended)) => format!(" after {}", output::age(ended.since(began))),
        _ => String::new(),
    };
    let done = session.task_status.values().filter(|status| **status == TaskStatus::Done).count();
    let spend = tree::spend(&session.usage).map_or(String::new(), |spend| format!(", {spend}"));
    let has = if item.status == WorkflowStatus::Failed { "has" } else { "is" };
    let (steps, tasks) = (workflow.plan.rows.len(), session.task_status.len());
    let many = |count: usize| if count == 1 { "" } else { "s" };
    text.put(format!(
        "\n{} {has} {}{took}: {steps} step{}, {done} of {tasks} task{} done{spend}\n",
        paint.bold(&item.name),
        tree::status(item.status, paint),
        many(steps),
        many(tasks),
    ));
    for error in &session.errors {
        let error = format!("{}: {}", error.step, output::one_line(&error.error));
        text.put(format!("  {}\n", paint.red(&error)));
    }
    if let Some((name, lines)) = result(workflow) {
        text.put(format!("\n{name}:\n"));
        text.extend(lines.iter().map(|line| format!("  {line}\n")));
    }
    text.push_str("\nWhere to look:\n");
    for (command, what) in places(workflow) {
        // On a narrow terminal the commands speak for themselves.
        let line = format!("  {command:<34}  {what}");
        text.put(if output::width(&line) > output::columns() {
            format!("  {command}\n")
        } else {
            format!("  {command:<34}  {}\n", paint.dim(&what))
        });
    }
    output::write(&text)
}

fn places(workflow: &WorkflowDetails) -> Vec<(String, String)> {
    let name = &workflow.item.name;
    let mut places = vec![(format!("coven show {name}"), "what happened, step by step".to_owned())];
    let failed = |status: TaskStatus| status == TaskStatus::Error;
    let broken = workflow.tasks.iter().find(|task| failed(task.status));
    let begun = || workflow.tasks.iter().filter(|task| task.attempt > 0);
    let agent = || begun().find(|task| task.adapter != "shell").or_else(|| begun().next());
    let some = broken.or_else(agent);
    if let Some(task) = some {
        places.push((format!("coven logs {name}/{}", task.id), "what a task printed".to_owned()));
    }
    let seen = |mode: AgentMode| mode == AgentMode::Interactive;
    if let Some(task) = workflow.tasks.iter().find(|task| seen(task.mode) && task.attempt > 0) {
        places
            .push((format!("coven play {name}/{}", task.id), "a terminal, played back".to_owned()));
    }
    let missing =
        |task: &coven_api::workflow::TaskItem| task.note.contains("was not found in PATH");
    if broken.is_some_and(missing) {
        places.push((
            "coven doctor".to_owned(),
            "which agents are installed, and how to install them".to_owned(),
        ));
    }
    if workflow.item.status == WorkflowStatus::Failed {
        places.push((format!("coven retry {name}"), "try what failed again".to_owned()));
    }
    let folder = format!("{}/.coven/sessions/{}", workflow.item.base_dir, workflow.item.id);
    places.push((folder, "journal, logs, session.json".to_owned()));
    places
}

/// The output of the last step that has one, by the name it was given.
fn result(workflow: &WorkflowDetails) -> Option<(String, Vec<String>)> {
    let steps = workflow.session.workflow_definition.get("steps")?.as_array()?;
    let names = steps.iter().rev().filter_map(|step| step.get("output")?.as_str());
    let (name, value) = names
        .filter_map(|name| Some((name, workflow.session.variables.get(name)?)))
        .find(|(_, value)| !value.is_null())?;
    if let Some(large) = LargeValue::of(value) {
        let beginning = large.beginning.lines().take(MAX_RESULT_LINES).map(str::to_owned);
        let rest = large.rest(&workflow.item.name, name);
        return Some((name.to_owned(), beginning.chain([rest]).collect()));
    }
    let text = match value {
        Value::String(text) => output::clean(text),
        value => format!("{value:#}"),
    };
    let mut lines: Vec<String> = text.lines().take(MAX_RESULT_LINES).map(str::to_owned).collect();
    if text.lines().nth(MAX_RESULT_LINES).is_some() {
        lines.push("…".to_owned());
    }
    (!lines.is_empty()).then(|| (name.to_owned(), lines))
}

/// The exit code of a run.
pub(crate) fn code(workflow: &WorkflowDetails) -> Result {
    let item = &workflow.item;
    match item.status {
        WorkflowStatus::Completed => Ok(()),
        WorkflowStatus::Failed => Err(CommandFailure::silent(FailureCode::Failed)),
        WorkflowStatus::Cancelled => Err(CommandFailure::silent(FailureCode::Cancelled)),
        WorkflowStatus::Blocked => {
            let first = workflow.interventions.first().map(question::asked).unwrap_or_default();
            Err(CommandFailure::new(FailureCode::Blocked, format!("{} waits: {first}", item.name))
                .hint(format!("coven inbox, or coven resume {}", item.name)))
        }
        WorkflowStatus::Pending | WorkflowStatus::Running => {
            let message =
                format!("{} is {} and not looked after by the daemon", item.name, item.status);
            Err(CommandFailure::failed(message).hint(format!("coven resume {}", item.name)))
        }
    }
}
