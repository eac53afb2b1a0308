//! `coven wait`: scripts wait for a session or an agent.

use std::time::Duration;

use clap::ValueEnum;
use coven_api::Client;
use coven_api::client::Streamed;
use coven_api::workflow::Workflow;
use coven_model::{AgentState, InterventionKind, TaskStatus, WorkflowStatus};
use coven_notation::HumanDuration;
use serde_json::json;

use crate::connect::{self, block_on};
use crate::events::Pump;
use crate::failure::{Code, Failure, Result};
use crate::find::{self, Target};
use crate::signals::{Signals, Told};
use crate::{output, question};

/// What `coven wait` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven wait brisk-otter                            until it is over
  coven wait brisk-otter --until blocked --timeout 10m
  coven wait brisk-otter/build.3 --until idle

Exit codes: 0 it is completed (or idle, as asked), 1 failed, 3 it waits for somebody, 4 cancelled,
124 the time was up. `--until done` goes on waiting while somebody has to be asked.")]
pub(crate) struct Arguments {
    /// The session, or a task of it.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::live())]
    target: Target,
    #[arg(long, default_value = "done")]
    until: Until,
    /// How long at most, such as `90s` or `10m`.
    #[arg(long, value_name = "TIME")]
    timeout: Option<HumanDuration>,
    /// Print how it stands as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Until {
    /// It waits for a person, or is over.
    Blocked,
    /// Every agent is idle; or one asks something, or it is over.
    Idle,
    /// It is over.
    Done,
}

/// How it stands when waiting is over.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stands {
    Idle,
    Blocked(String),
    Over(WorkflowStatus),
    TaskOver(TaskStatus),
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let waiting = wait(&client, arguments);
        let stands = match arguments.timeout {
            Some(limit) => {
                tokio::time::timeout(Duration::from(limit), waiting).await.unwrap_or_else(|_| {
                    Err(Failure::new(Code::TimedOut, "the time is up")
                        .hint(format!("coven show {}", arguments.target.session)))
                })
            }
            None => waiting.await,
        }?;
        tell(&stands, arguments.json)
    })
}

async fn wait(client: &Client, arguments: &Arguments) -> Result<Stands> {
    let mut workflow = find::own_workflow(client, &arguments.target.session).await?;
    if let Some(task) = &arguments.target.task {
        find::choose(&workflow, Some(task), find::Wanted::Started)?;
    }
    let id = workflow.item.id.clone();
    let mut events = Pump::session(client, &id, Some(workflow.last_seq));
    let mut signals = Signals::listen()?;
    loop {
        if let Some(stands) = stands(&workflow, arguments) {
            return Ok(stands);
        }
        let streamed = tokio::select! {
            told = signals.next() => match told {
                Told::Resized => continue,
                _ => return Err(Failure::silent(Code::Interrupted)),
            },
            streamed = events.next() => streamed?,
        };
        match streamed {
            Some(Streamed::Event(envelope)) if envelope.kind == "task.output" => continue,
            Some(Streamed::Reconnecting(_)) => drop(connect::daemon().await?),
            Some(Streamed::End) | None if !workflow.item.status.is_final() => {
                workflow = client.workflow(id.as_str()).await?;
                return stands(&workflow, arguments).ok_or_else(|| {
                    Failure::failed(format!("{} does not run", workflow.item.name))
                        .hint(format!("coven resume {}", workflow.item.name))
                });
            }
            _ => {}
        }
        // What is behind is taken in with one look.
        while events.more() {
            events.next().await?;
        }
        workflow = client.workflow(id.as_str()).await?;
    }
}

/// How it stands, if that is what is waited for.
fn stands(workflow: &Workflow, arguments: &Arguments) -> Option<Stands> {
    let task = arguments.target.task.as_deref();
    let tasks: Vec<_> = workflow
        .tasks
        .iter()
        .filter(|found| task.is_none_or(|task| found.id.as_str() == task))
        .collect();
    if let (Some(_), [only]) = (task, tasks.as_slice())
        && only.status.is_final()
    {
        return Some(Stands::TaskOver(only.status));
    }
    if workflow.item.status.is_final() {
        return Some(Stands::Over(workflow.item.status));
    }
    let asked = workflow.interventions.iter().find(|asked| {
        let of_it = |task: &str| asked.task.as_ref().is_some_and(|found| found.as_str() == task);
        // An agent that has finished its turn is what is meant by idle.
        let idle = arguments.until == Until::Idle && asked.kind == InterventionKind::EndedTurn;
        task.is_none_or(of_it) && !idle
    });
    match (arguments.until, asked) {
        (Until::Done, _) | (Until::Blocked, None) => None,
        (_, Some(asked)) => Some(Stands::Blocked(question::asked(asked))),
        (Until::Idle, None) => {
            let live: Vec<_> = tasks.iter().filter(|task| task.live).collect();
            // One that asks is waited for until what it asks is known.
            let all = live.iter().all(|task| {
                task.verdict.as_ref().is_some_and(|seen| seen.state == AgentState::Idle)
            });
            (!live.is_empty() && all).then_some(Stands::Idle)
        }
    }
}

fn tell(stands: &Stands, as_json: bool) -> Result {
    let (word, result) = match stands {
        Stands::Idle => ("idle", Ok(())),
        Stands::Blocked(_) => ("blocked", Err(Failure::silent(Code::Blocked))),
        Stands::Over(status) => (
            status.as_str(),
            match status {
                WorkflowStatus::Failed => Err(Failure::silent(Code::Failed)),
                WorkflowStatus::Cancelled => Err(Failure::silent(Code::Cancelled)),
                _ => Ok(()),
            },
        ),
        Stands::TaskOver(status) => (
            status.as_str(),
            match status {
                TaskStatus::Error => Err(Failure::silent(Code::Failed)),
                TaskStatus::Cancelled => Err(Failure::silent(Code::Cancelled)),
                _ => Ok(()),
            },
        ),
    };
    if as_json {
        let asked = if let Stands::Blocked(asked) = stands { Some(asked) } else { None };
        output::json(&json!({"stands": word, "asked": asked}))?;
    } else {
        output::line(word)?;
        if let Stands::Blocked(asked) = stands {
            eprintln!("{asked}");
        }
    }
    result
}
