//! `coven wait`: scripts wait for a session or an agent.

use std::time::Duration;

use clap::ValueEnum;
use coven_api::ApiClient;
use coven_api::client::StreamedEvent;
use coven_api::workflow::WorkflowDetails;
use coven_model::{
    AgentState, AgentVerdict, InterventionId, InterventionKind, TaskStatus, WorkflowStatus,
};
use coven_notation::HumanDuration;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use crate::connect::{self, block_on};
use crate::events::EventPump;
use crate::failure::{CommandFailure, FailureCode, Result};
use crate::find::{self, SessionTarget};
use crate::signals::{SignalEvent, SignalListener};
use crate::{output, question};

/// How often the session is looked at though nothing was told.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What `coven wait` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven wait brisk-otter                            until it is over
  coven wait brisk-otter --until blocked --timeout 10m
  coven wait brisk-otter/build.3 --until idle

Exit codes: 0 it is completed (or idle, as asked), 1 failed, 3 it waits for a person, 4 cancelled,
124 the time was up. `--until done` goes on waiting while a person has to be asked.")]
pub(crate) struct Arguments {
    /// The session, or a task of it.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::live())]
    target: SessionTarget,
    /// What is waited for.
    #[arg(long, default_value = "done")]
    until: WaitUntil,
    /// How long at most, such as `90s` or `10m`.
    #[arg(long, value_name = "TIME")]
    timeout: Option<HumanDuration>,
    /// Print how it stands as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WaitUntil {
    /// It waits for a person, or is over.
    Blocked,
    /// Every agent is idle; or one asks something, or it is over.
    Idle,
    /// It is over.
    Done,
}

/// How it stands when waiting is over.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WaitResult {
    Idle,
    Blocked(String),
    Over(WorkflowStatus),
    TaskOver(TaskStatus),
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let workflow = find::own_workflow(&client, &arguments.target.session).await?;
        if let Some(task) = &arguments.target.task {
            find::choose(&workflow, Some(task), find::TaskFilter::Started)?;
        }
        // However short the time is: what is there already is not waited for.
        if let Some(stands) = stands(&workflow, arguments) {
            return tell(&stands, arguments.json);
        }
        let waiting = wait(&client, arguments, workflow);
        let stands = match arguments.timeout {
            Some(limit) => {
                tokio::time::timeout(Duration::from(limit), waiting).await.unwrap_or_else(|_| {
                    Err(CommandFailure::new(FailureCode::TimedOut, "the time is up")
                        .hint(format!("coven show {}", arguments.target.session)))
                })
            }
            None => waiting.await,
        }?;
        tell(&stands, arguments.json)
    })
}

async fn wait(
    client: &ApiClient,
    arguments: &Arguments,
    mut workflow: WorkflowDetails,
) -> Result<WaitResult> {
    let id = workflow.item.id.clone();
    let mut events = EventPump::session(client, id.as_str(), Some(workflow.last_seq));
    let mut signals = SignalListener::listen()?;
    let mut said = SaidReasons::default();
    let mut looks = interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        if let Some(stands) = stands(&workflow, arguments) {
            return Ok(stands);
        }
        said.say(&workflow, arguments.until == WaitUntil::Done);
        let streamed = tokio::select! {
            // What an agent does is told and not kept: it may have been told before the stream of
            // events was open.
            _ = looks.tick() => {
                // A daemon that does not answer now is waited for with its events.
                if let Ok(now) = client.workflow(id.as_str()).await {
                    workflow = now;
                }
                continue;
            }
            told = signals.next() => match told {
                SignalEvent::Resized => continue,
                _ => return Err(CommandFailure::silent(FailureCode::Interrupted)),
            },
            streamed = events.next() => streamed?,
        };
        match streamed {
            Some(StreamedEvent::Event(envelope)) if envelope.kind == "task.output" => continue,
            Some(StreamedEvent::Reconnecting(_)) => drop(connect::daemon().await?),
            Some(StreamedEvent::End) | None if !workflow.item.status.is_final() => {
                workflow = client.workflow(id.as_str()).await?;
                return stands(&workflow, arguments).ok_or_else(|| {
                    let message = format!("{} does not run", workflow.item.name);
                    CommandFailure::not_live(message)
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

/// Why nothing goes on, said once each on stderr, so that who waits knows what to do.
#[derive(Default)]
struct SaidReasons {
    asked: Option<InterventionId>,
    disk: bool,
}

impl SaidReasons {
    fn say(&mut self, workflow: &WorkflowDetails, waits_for_end: bool) {
        let name = &workflow.item.name;
        let alone = workflow.interventions.len() == 1;
        if let Some(asked) = workflow.left_to_person().next()
            && waits_for_end
            && self.asked.as_ref() != Some(&asked.id)
        {
            self.asked = Some(asked.id.clone());
            output::say!("{name} is blocked: {}", question::asked(asked));
            let of = question::name(name, asked, alone);
            output::say!("To go on: {}", question::commands(&of, asked).join(", or "));
        }
        let problem = workflow.item.waits_for_disk.as_deref();
        if let Some(problem) = problem.filter(|_| !self.disk) {
            output::say!("{name} {}", output::one_line(problem));
        }
        self.disk = problem.is_some();
    }
}

/// How it stands, if that is what is waited for.
fn stands(workflow: &WorkflowDetails, arguments: &Arguments) -> Option<WaitResult> {
    let task = arguments.target.task.as_deref();
    let tasks: Vec<_> = workflow
        .tasks
        .iter()
        .filter(|found| task.is_none_or(|task| found.id.as_str() == task))
        .collect();
    if let (Some(_), [only]) = (task, tasks.as_slice())
        && only.status.is_final()
    {
        return Some(WaitResult::TaskOver(only.status));
    }
    if workflow.item.status.is_final() {
        return Some(WaitResult::Over(workflow.item.status));
    }
    // An answer that comes by itself is not waited for by anybody.
    let asked = workflow.left_to_person().find(|asked| {
        let of_it = |task: &str| asked.task.as_ref().is_some_and(|found| found.as_str() == task);
        // An agent that has finished its turn is what is meant by idle.
        let idle = arguments.until == WaitUntil::Idle && asked.kind == InterventionKind::EndedTurn;
        task.is_none_or(of_it) && !idle
    });
    match (arguments.until, asked) {
        (WaitUntil::Done, _) | (WaitUntil::Blocked, None) => None,
        (_, Some(asked)) => Some(WaitResult::Blocked(question::asked(asked))),
        (WaitUntil::Idle, None) => {
            let live: Vec<_> = tasks.iter().filter(|task| task.live).collect();
            // One that asks is waited for until what it asks is known.
            // One that was given something is idle when it has done that.
            let all = live.iter().all(|task| {
                let idle = |seen: &AgentVerdict| seen.state == AgentState::Idle;
                !task.turn_open && task.verdict.as_ref().is_some_and(idle)
            });
            (!live.is_empty() && all).then_some(WaitResult::Idle)
        }
    }
}

fn tell(stands: &WaitResult, as_json: bool) -> Result {
    let (word, result) = match stands {
        WaitResult::Idle => ("idle", Ok(())),
        WaitResult::Blocked(_) => ("blocked", Err(CommandFailure::silent(FailureCode::Blocked))),
        WaitResult::Over(status) => (
            status.as_str(),
            match status {
                WorkflowStatus::Failed => Err(CommandFailure::silent(FailureCode::Failed)),
                WorkflowStatus::Cancelled => Err(CommandFailure::silent(FailureCode::Cancelled)),
                _ => Ok(()),
            },
        ),
        WaitResult::TaskOver(status) => (
            status.as_str(),
            match status {
                TaskStatus::Error => Err(CommandFailure::silent(FailureCode::Failed)),
                TaskStatus::Cancelled => Err(CommandFailure::silent(FailureCode::Cancelled)),
                _ => Ok(()),
            },
        ),
    };
    if as_json {
        let mut told = json!({"stands": word});
        if let WaitResult::Blocked(asked) = stands {
            told["asked"] = json!(asked);
        }
        output::json(&told)?;
    } else {
        output::line(word)?;
        if let WaitResult::Blocked(asked) = stands {
            output::say!("{asked}");
        }
    }
    result
}
