//! Resolves `brisk-otter`, `brisk-otter/build.3`, `@`, or the beginning of a name or id to a session
//! or task.

mod session;
mod tree;

use std::str::FromStr;
use std::time::{Duration, Instant};

use coven_api::workflow::{ListQuery, TaskItem, WorkflowDetails, WorkflowItem};
use coven_api::{ApiClient, ProblemCode};
use coven_model::{AgentMode, TaskStatus, WorkflowStatus};
use coven_notation::near;
use serde_json::{Value, json};

use crate::failure::{CommandFailure, Result};
use crate::output;

pub(crate) use session::NEWEST;
pub(crate) use tree::tree;

/// How many sessions are looked at for a name that is almost right.
const MAX_COMPARED_SESSIONS: u32 = 1000;

/// How long an agent that is being started is waited for, and how often it is looked for.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const START_LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How many names an error lists.
const MAX_LISTED_NAMES: usize = 8;

/// A session, or a task of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionTarget {
    /// An id, a name, the beginning of one, or `@`.
    pub(crate) session: String,
    pub(crate) task: Option<String>,
}

impl FromStr for SessionTarget {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (session, task) = match text.split_once('/') {
            Some((session, task)) => (session, Some(task.to_owned())),
            None => (text, None),
        };
        if session.is_empty() || task.as_deref() == Some("") {
            return Err("write NAME or NAME/TASK, such as brisk-otter/build.3".to_owned());
        }
        Ok(Self { session: session.to_owned(), task })
    }
}

/// The session of this id or name, or of the beginning of one; with `@` the newest here.
pub(crate) async fn workflow(client: &ApiClient, text: &str) -> Result<WorkflowDetails> {
    let address = session::address(client, text).await?;
    // What the daemon says about a text that means nothing names folders that it cannot read.
    match client.workflow(address.as_deref().unwrap_or(text)).await.map_err(CommandFailure::from) {
        Err(failure) if failure.is(ProblemCode::WorkflowNotFound) => {
            Err(nearly(client, text).await.unwrap_or(failure))
        }
        found => found,
    }
}

/// The same to do something with it, which a foreign session is refused.
pub(crate) async fn own_workflow(client: &ApiClient, text: &str) -> Result<WorkflowDetails> {
    let workflow = workflow(client, text).await?;
    refuse_foreign(client, &workflow).await?;
    Ok(workflow)
}

/// Nothing is done with a session that was not made by this user in its folder.
async fn refuse_foreign(client: &ApiClient, workflow: &WorkflowDetails) -> Result {
    let item = &workflow.item;
    if !item.foreign {
        return Ok(());
    }
    let (name, folder) = (&item.name, output::one_line(&item.base_dir));
    if let Some(original) = original(client, item).await {
        let original = output::one_line(&original.base_dir);
        let message =
            format!("{name} in {folder} is a copy: the session itself belongs to {original}");
        return Err(CommandFailure::failed(message).hint(format!(
            "go there, or name it by its whole id, {}; the copy can be read: coven show {name}",
            item.id
        )));
    }
    let message = format!("{name} is foreign: it was not made by you in {folder}");
    Err(CommandFailure::failed(message)
        .hint(format!("it can be read: coven show {name}, coven logs {name}, coven output {name}")))
}

/// The session of this user that a foreign one is a copy of.
pub(crate) async fn original(client: &ApiClient, item: &WorkflowItem) -> Option<WorkflowItem> {
    if !item.foreign {
        return None;
    }
    let original = client.workflow(item.id.as_str()).await.ok()?.item;
    (!original.foreign).then_some(original)
}

/// The same failure with the name that was probably meant.
async fn nearly(client: &ApiClient, text: &str) -> Option<CommandFailure> {
    let query = ListQuery { limit: Some(MAX_COMPARED_SESSIONS), ..ListQuery::default() };
    let page = client.workflows(&query).await.ok()?;
    let names: Vec<&str> = page.workflows.iter().map(|item| item.name.as_str()).collect();
    let message = format!("no session has the id or name `{text}`");
    let failure = CommandFailure::not_found(ProblemCode::WorkflowNotFound, message);
    Some(if names.is_empty() {
        failure.hint("there are no sessions yet; `coven run demo` makes one")
    } else {
        match near(text, &names).first() {
            Some(name) => failure.hint(format!("did you mean `{name}`? `coven ls` lists them all")),
            None => failure.hint("`coven ls` lists the sessions"),
        }
    })
}

/// Which tasks come into question when only a session is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskFilter {
    /// Those with a process that runs.
    Running,
    /// Those with an agent on a terminal.
    Terminal,
    /// Those that will have one in a moment.
    Starting,
    /// Those that have been started.
    Started,
    /// Those that have not ended.
    Unfinished,
}

impl TaskFilter {
    fn fits(self, task: &TaskItem) -> bool {
        match self {
            Self::Running => task.live,
            Self::Terminal => task.live && task.mode == AgentMode::Interactive,
            Self::Starting => task.mode == AgentMode::Interactive && !task.status.is_final(),
            Self::Started => task.attempt > 0,
            Self::Unfinished => !task.status.is_final(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Running => "running agent",
            Self::Terminal | Self::Starting => "agent on a terminal",
            Self::Started => "task that has begun",
            Self::Unfinished => "task that has not ended",
        }
    }
}

/// The task that is meant.
pub(crate) async fn task(
    client: &ApiClient,
    target: &SessionTarget,
    wanted: TaskFilter,
) -> Result<(WorkflowDetails, TaskItem)> {
    let workflow = workflow(client, &target.session).await?;
    if wanted != TaskFilter::Started {
        refuse_foreign(client, &workflow).await?;
    }
    let task = choose(&workflow, target.task.as_deref(), wanted)?.clone();
    Ok((workflow, task))
}

/// The task that is meant, for what needs its agent: one that is being started is waited for.
pub(crate) async fn agent(
    client: &ApiClient,
    target: &SessionTarget,
    wanted: TaskFilter,
) -> Result<(WorkflowDetails, TaskItem)> {
    let give_up = Instant::now() + START_TIMEOUT;
    let mut session = target.session.clone();
    let mut pause = tokio::time::interval(START_LOOK_INTERVAL);
    loop {
        pause.tick().await;
        let workflow = own_workflow(client, &session).await?;
        let found = choose(&workflow, target.task.as_deref(), wanted);
        let is_late = match &found {
            Ok(task) => !wanted.fits(task) && is_starting(&workflow, task),
            Err(none) => {
                let mut tasks = workflow.tasks.iter();
                none.is(ProblemCode::NoAgent) && tasks.any(|task| is_starting(&workflow, task))
            }
        };
        if !is_late || give_up <= Instant::now() {
            let task = found?.clone();
            return Ok((workflow, task));
        }
        // Another session may be the newest meanwhile.
        session = workflow.item.id.to_string();
    }
}

/// Whether a task will have its agent in a moment. Others wait for a person, for a slot, or for the
/// tasks before them.
fn is_starting(workflow: &WorkflowDetails, task: &TaskItem) -> bool {
    let is_first = workflow.tasks.len() == 1
        && task.attempt <= 1
        && matches!(workflow.item.status, WorkflowStatus::Pending | WorkflowStatus::Running);
    let is_begun = match task.status {
        TaskStatus::Running => true,
        TaskStatus::Pending => is_first,
        _ => false,
    };
    is_begun && !task.live && !task.queued
}

/// The agent on a terminal that is meant, or one that is being started and can be waited for.
pub(crate) async fn terminal_or_starting(
    client: &ApiClient,
    target: &SessionTarget,
    can_wait: impl Fn(&TaskItem) -> bool,
) -> Result<(WorkflowDetails, TaskItem)> {
    let workflow = workflow(client, &target.session).await?;
    refuse_foreign(client, &workflow).await?;
    let wanted = |filter| choose(&workflow, target.task.as_deref(), filter);
    let task = wanted(TaskFilter::Terminal).or_else(|none| {
        wanted(TaskFilter::Starting).ok().filter(|task| can_wait(task)).ok_or(none)
    })?;
    let task = task.clone();
    Ok((workflow, task))
}

/// The agent that a message is for: on a terminal, being started, or with an open input.
pub(crate) async fn reader(
    client: &ApiClient,
    target: &SessionTarget,
) -> Result<(WorkflowDetails, TaskItem)> {
    match terminal_or_starting(client, target, |_| true).await {
        Err(none) => match task(client, target, TaskFilter::Running).await {
            Err(_) => task(client, target, TaskFilter::Unfinished).await.map_err(|_| none),
            found => found,
        },
        found => found,
    }
}

/// The task of this name, or the only one that comes into question.
pub(crate) fn choose<'a>(
    workflow: &'a WorkflowDetails,
    task: Option<&str>,
    wanted: TaskFilter,
) -> Result<&'a TaskItem> {
    let name = &workflow.item.name;
    if let Some(text) = task {
        return workflow.tasks.iter().find(|task| task.id.as_str() == text).ok_or_else(|| {
            let ids: Vec<&str> = workflow.tasks.iter().map(|task| task.id.as_str()).collect();
            let message = format!("{name} has no task `{text}`");
            let failure = CommandFailure::not_found(ProblemCode::TaskNotFound, message);
            match near(text, &ids).first() {
                Some(id) => failure.hint(format!("did you mean {name}/{id}?")),
                None => failure.hint(listed(name, &ids)),
            }
        });
    }
    let fit: Vec<&TaskItem> = workflow.tasks.iter().filter(|task| wanted.fits(task)).collect();
    match fit.as_slice() {
        [only] => Ok(only),
        [] => {
            let mut queued = workflow.tasks.iter().filter(|task| task.queued);
            if let Some(queued) = queued.next().filter(|_| wanted != TaskFilter::Started) {
                return Err(waits_for_slot(name, queued));
            }
            let message = format!("{name} has no {} now", wanted.words());
            let failure = CommandFailure::not_found(ProblemCode::NoAgent, message);
            Err(failure.hint(format!("`coven show {name}` says how it stands")))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|task| task.id.as_str()).collect();
            let message = format!("{name} has {} of them", ids.len());
            Err(CommandFailure::usage(message).hint(listed(name, &ids)))
        }
    }
}

/// Which task something was done with, for programs.
pub(crate) fn task_json(workflow: &WorkflowDetails, task: &TaskItem) -> Value {
    json!({"id": workflow.item.id, "name": workflow.item.name, "task": task.id})
}

/// Why there is nothing to look at or to type to.
pub(crate) fn waits_for_slot(session: &str, task: &TaskItem) -> CommandFailure {
    let message = format!(
        "{session}/{} has not started yet: it waits for a slot, because as many agents run as may \
         at once",
        task.id
    );
    CommandFailure::failed(message).hint(
        "it starts as soon as another agent ends; `coven daemon status` says how many run, and \
         `maxAgents` in config.yaml how many may",
    )
}

fn listed(name: &str, ids: &[&str]) -> String {
    if ids.is_empty() {
        return format!("it has no tasks yet; `coven show {name}` says how it stands");
    }
    let named: Vec<String> =
        ids.iter().take(MAX_LISTED_NAMES).map(|id| format!("{name}/{id}")).collect();
    let more = ids.len().saturating_sub(MAX_LISTED_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("name one: {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_session_or_a_task_of_it() {
        let target = |text: &str| text.parse::<SessionTarget>();
        assert_eq!(
            target("brisk-otter/build.3"),
            Ok(SessionTarget {
                session: "brisk-otter".to_owned(),
                task: Some("build.3".to_owned())
            })
        );
        assert_eq!(target("0190").unwrap().task, None);
        for wrong in ["", "/", "a/", "/b"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
