//! What the shell offers on Tab: names of sessions, tasks, grimoires, adapters.
//! The daemon is asked if it runs, and not started for that.

use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use coven_adapters::AdapterConfigLoader;
use coven_api::intervention::InterventionQuery;
use coven_api::workflow::{ListQuery, TaskItem};
use coven_model::AgentMode;
use coven_notation::is_unprintable;
use coven_workflow::CheckEnvironment;
use coven_workflow::catalogue::GrimoireCatalogue;
use tokio::time::timeout;

use crate::connect::{self, block_on};
use crate::failure::CommandFailure;
use crate::{find, folders, output, question};

/// How long the shell is held up at most.
const COMPLETION_TIMEOUT: Duration = Duration::from_millis(500);

const MAX_OFFERED_SESSIONS: u32 = 200;

/// Sessions that can still be told something.
const LIVE_STATUSES: Option<&str> = Some("running,blocked");

/// Grimoires, where one is wanted.
pub(crate) fn grimoires() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let known = CheckEnvironment::new(AdapterConfigLoader::new(folders::adapters()).types());
        let catalogue = GrimoireCatalogue::load(&folders::grimoires(), &known);
        let usable = catalogue.entries().filter(|entry| entry.is_usable());
        let usable = usable.filter(|entry| !entry.name.contains(is_unprintable));
        usable.map(|entry| candidate(entry.name.clone(), entry.description())).collect()
    })
}

pub(crate) fn adapters() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let types = AdapterConfigLoader::new(folders::adapters()).types();
        types.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// Sessions, and their tasks.
pub(crate) fn sessions() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| targets(typed, None, |task| task.attempt > 0))
}

/// Sessions that run, and their agents.
pub(crate) fn live() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| targets(typed, LIVE_STATUSES, |task| task.live))
}

/// Sessions that run, and their agents on terminals.
pub(crate) fn terminals() -> ArgValueCompleter {
    let fits = |task: &TaskItem| task.live && task.mode == AgentMode::Interactive;
    ArgValueCompleter::new(move |typed: &OsStr| targets(typed, LIVE_STATUSES, fits))
}

/// The ids of the interventions that wait for a decision.
pub(crate) fn waiting() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        found(async {
            let Some((client, _)) = connect::running().await? else { return Ok(Vec::new()) };
            let open = client.interventions(&InterventionQuery::default()).await?.interventions;
            let all = open.iter().map(|item| {
                let asked = &item.intervention;
                let name = question::name(&item.workflow_name, asked, false);
                candidate(name, &question::asked(asked))
            });
            Ok(all.collect())
        })
    })
}

fn candidate(value: String, help: &str) -> CompletionCandidate {
    let help = output::shortened(&output::one_line(help), 60);
    CompletionCandidate::new(value).help(Some(help.into()))
}

type Candidates = Result<Vec<CompletionCandidate>, CommandFailure>;

/// What was found in time, otherwise nothing: an error would be printed into the line that is
/// being typed.
fn found(ask: impl Future<Output = Candidates>) -> Vec<CompletionCandidate> {
    let asked = block_on(async { Ok(timeout(COMPLETION_TIMEOUT, ask).await) });
    asked.ok().and_then(Result::ok).and_then(Result::ok).unwrap_or_default()
}

async fn names(status: Option<&str>) -> Candidates {
    let Some((client, _)) = connect::running().await? else { return Ok(Vec::new()) };
    let status = status.map(str::to_owned);
    let query = ListQuery { limit: Some(MAX_OFFERED_SESSIONS), status, ..ListQuery::default() };
    let page = client.workflows(&query).await?;
    let one = |item: &coven_api::workflow::WorkflowItem| {
        let goal = item.goal.clone().unwrap_or_default();
        candidate(item.name.clone(), &format!("{} {goal}", item.status))
    };
    let named = page.workflows.iter().filter(|item| !item.name.contains(is_unprintable));
    Ok(named.map(one).collect())
}

/// Before a slash sessions, after it the tasks of that one.
fn targets(
    typed: &OsStr,
    status: Option<&str>,
    wanted: fn(&TaskItem) -> bool,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy().into_owned();
    found(async {
        let Some((session, _)) = typed.split_once('/') else {
            let all = names(status).await?;
            let begins = |found: &CompletionCandidate| {
                found.get_value().to_string_lossy().starts_with(&typed)
            };
            return Ok(all.into_iter().filter(begins).collect());
        };
        let Some((client, _)) = connect::running().await? else { return Ok(Vec::new()) };
        let workflow = find::workflow(&client, session).await?;
        let tasks = workflow.tasks.iter().filter(|task| wanted(task));
        let all = tasks.map(|task| candidate(format!("{session}/{}", task.id), &task.adapter));
        let begins =
            |found: &CompletionCandidate| found.get_value().to_string_lossy().starts_with(&typed);
        Ok(all.filter(begins).collect())
    })
}
