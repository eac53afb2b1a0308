//! Runs the built-in workflows `review-loop` and `implement-bead` with the real agent CLIs, offline,
//! against a model server with a script.
//!
//! `cargo xtask real-agents` installs the CLIs and starts this in a network namespace that has
//! nothing but loopback; by hand it is of little use. What it found goes to standard output as
//! JSON, one line per CLI; what it does is told on standard error.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to the terminal")]

mod channels;
mod project;
mod trees;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use channels::ChannelRow;
use coven_adapters::{Options as AdapterOptions, default_registry};
use coven_model::event::{LoopVerdict, SessionEvent};
use coven_model::{SessionId, SessionView, WorkflowStatus};
use coven_orchestrator::{Orchestrator, PublishedEvent};
use coven_testkit::model::{DATA, ModelScene};
use coven_testkit::namespace as left;
use coven_testkit::real_cli::Cli;
use project::Project;
use serde_json::{Value, json};
use trees::TreeRow;

/// How long a whole workflow may take: nine agents one after the other, each of which needs half a
/// minute to start on a busy machine.
const WORKFLOW_TIMEOUT: Duration = Duration::from_mins(10);

/// How long what was left may take to go.
const LEFTOVER_TIMEOUT: Duration = Duration::from_secs(10);

/// The argument for the rows of [`channels`].
const CHANNELS: &str = "--channels";

/// The argument for the rows of [`trees`].
const TREES: &str = "--trees";

/// What a row found: a note, or why it failed.
type Found = Result<String, Box<dyn Error>>;

/// `real_workflows INSTALLED HOLDER EVIDENCE [--channels|--trees] CLI…`: the folder the CLIs are
/// installed in, the program that holds them, the folder for what failed rows left, and whether the
/// CLIs are spoken to in their own protocols or work in worktrees instead. With `row=NAME` only that
/// row is run.
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|first| first == channels::KEEP).is_some() {
        return channels::keep(arguments);
    }
    let mut path = || arguments.next().map(PathBuf::from);
    let (Some(installed), Some(holder), Some(evidence)) = (path(), path(), path()) else {
        eprintln!("usage: real_workflows INSTALLED HOLDER EVIDENCE CLI…");
        return ExitCode::from(2);
    };
    let names: Vec<String> = arguments.filter_map(|name| name.into_string().ok()).collect();
    let asks = |mode: &str| names.iter().any(|name| name == mode);
    let kinds = RowKind::of(asks(CHANNELS), asks(TREES));
    if !left::only_loopback() {
        eprintln!("error: there is more than loopback here; real CLIs are not started");
        return ExitCode::from(2);
    }
    let Ok(reactor) = tokio::runtime::Runtime::new() else { return ExitCode::FAILURE };
    for cli in Cli::ALL.into_iter().filter(|cli| names.iter().any(|name| name == cli.name())) {
        let mut rows = Vec::new();
        for asked in kinds.iter().copied() {
            if !names
                .iter()
                .filter_map(|name| name.strip_prefix("row="))
                .all(|row| row == asked.name())
            {
                continue;
            }
            let found = Project::new(cli, &installed, &holder);
            let (result, text) = match (found, asked) {
                (Ok(project), RowKind::Workflow(workflow)) => {
                    reactor.block_on(row(&project, workflow, &evidence))
                }
                (Ok(project), RowKind::Channel(row)) => {
                    reactor.block_on(channels::row(&project, row, &evidence))
                }
                (Ok(project), RowKind::Tree(row)) => {
                    reactor.block_on(trees::row(project, row, &evidence))
                }
                (Err(error), _) => ("FAIL", error.to_string()),
            };
            eprintln!("  {result:>6}  {}: {text}", asked.name());
            rows.push(json!({"row": asked.name(), "result": result, "text": text}));
        }
        println!("{}", json!({"cli": cli.name(), "rows": rows}));
    }
    ExitCode::SUCCESS
}

/// A row of either kind.
#[derive(Clone, Copy)]
enum RowKind {
    Workflow(Workflow),
    Channel(ChannelRow),
    Tree(TreeRow),
}

impl RowKind {
    fn of(channels: bool, trees: bool) -> Vec<Self> {
        if channels {
            ChannelRow::ALL.map(Self::Channel).to_vec()
        } else if trees {
            TreeRow::ALL.map(Self::Tree).to_vec()
        } else {
            Workflow::ALL.map(Self::Workflow).to_vec()
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Workflow(workflow) => workflow.name(),
            Self::Channel(row) => row.name(),
            Self::Tree(row) => row.name(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Workflow {
    /// One step on a terminal that must answer with JSON.
    Answer,
    ReviewLoop,
    ImplementBead,
}

impl Workflow {
    const ALL: [Self; 3] = [Self::Answer, Self::ReviewLoop, Self::ImplementBead];

    fn name(self) -> &'static str {
        match self {
            Self::Answer => "json on a terminal",
            Self::ReviewLoop => "review-loop",
            Self::ImplementBead => "implement-bead",
        }
    }

    /// How many times an agent that may change the work runs the tool.
    fn runs(self) -> usize {
        match self {
            Self::Answer => 0,
            Self::ReviewLoop => 2,
            Self::ImplementBead => 3,
        }
    }

    fn input(self, project: &Project) -> std::io::Result<Value> {
        let adapter = project.cli.name();
        Ok(match self {
            Self::Answer => json!({}),
            Self::ReviewLoop => {
                project.change()?;
                json!({"base": "main", "focus": project::TASK, "adapter": adapter})
            }
            Self::ImplementBead => {
                project.bead()?;
                json!({"checks": "test -e README.md", "adapter": adapter})
            }
        })
    }
}

async fn row(project: &Project, workflow: Workflow, evidence: &Path) -> (&'static str, String) {
    let before = left::processes();
    let (found, view) = match project.open().await {
        Ok(orchestrator) => {
            let found = run(project, &orchestrator, workflow).await;
            let list = orchestrator.list();
            let view = match list.first() {
                Some(entry) => orchestrator.view(&entry.id).await.ok().flatten(),
                None => None,
            };
            orchestrator.close().await;
            (found, view)
        }
        Err(error) => (Err(error), None),
    };
    let found = found.and_then(|note| nothing_left(&before).map(|()| note).map_err(Into::into));
    match found {
        Ok(note) => ("pass", note),
        Err(error) => {
            let name = format!("{}.txt", workflow.name());
            let folder = evidence.join(project.cli.name());
            let text = format!("{error}\n\n{view:#?}\n\n{:#?}", project.server.exchanges());
            let kept = std::fs::create_dir_all(&folder)
                .and_then(|()| std::fs::write(folder.join(name), text));
            if let Err(error) = kept {
                eprintln!("the evidence could not be kept: {error}");
            }
            ("FAIL", error.to_string())
        }
    }
}

/// Waits until nothing is left that was not there before. Holders take a moment to go.
fn nothing_left(before: &std::collections::BTreeSet<u32>) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        let left = left::since(before);
        if left.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > LEFTOVER_TIMEOUT {
            return Err(format!("left behind: {}", left.join("; ")));
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Runs a workflow to its end, and looks at what came of it: the verdicts, what the tool left in
/// the project, what reached the model, and the bead.
async fn run(project: &Project, orchestrator: &Orchestrator, workflow: Workflow) -> Found {
    let new = match workflow {
        Workflow::Answer => project.definition(&answer_step(project)),
        _ => project.session(workflow.name(), &workflow.input(project)?),
    };
    let commit = project.head()?;
    let id = orchestrator.execute_workflow(new).await?;
    let controller = orchestrator.controller(&id).ok_or("the session is not live")?;
    let status = tokio::time::timeout(WORKFLOW_TIMEOUT, controller.wait(true)).await;
    let view = controller.snapshot().view().cloned().ok_or("the session has no view")?;
    let Ok(status) = status else {
        orchestrator.cancel(&id, "real-agents", "it took too long").await?;
        controller.wait(false).await;
        return Err(format!("still at {:?} after {WORKFLOW_TIMEOUT:?}", view.current_step).into());
    };
    if status != WorkflowStatus::Completed {
        let asked: Vec<_> = view.interventions.iter().map(|asked| &asked.reason).collect();
        if !status.is_final() {
            orchestrator.cancel(&id, "real-agents", "it asks").await?;
            controller.wait(false).await;
        }
        return Err(format!("it is {status}: {:?} {asked:?}", view.errors).into());
    }
    if workflow == Workflow::Answer {
        return answered(project, &view.variables["said"]);
    }
    let verdicts = verdicts(orchestrator, &id).await?;
    if verdicts != [LoopVerdict::Actionable, LoopVerdict::Done] {
        return Err(format!("the verdicts were {verdicts:?}").into());
    }
    let (ran, wanted) = (project.ran()?, workflow.runs());
    if ran != wanted {
        return Err(format!("the tool changed the project {ran} times instead of {wanted}").into());
    }
    if project.head()? != commit {
        return Err("something was committed".into());
    }
    told_of_the_verdict(project)?;
    let arbiter = match project.refused() {
        0 => "the arbiter was offered no shell".to_owned(),
        calls => format!("the arbiter called it {calls} times and changed nothing"),
    };
    let mut note = format!(
        "two rounds, the second told of the verdict; {} agents, {ran} calls of the tool; {arbiter}",
        view.task_status.len() - scripts(&view)
    );
    if workflow == Workflow::ImplementBead {
        let bead = project.bead_status()?;
        if bead != "closed" {
            return Err(format!("the bead is {bead}").into());
        }
        note += "; the bead is closed";
    }
    Ok(note)
}

/// A step on a terminal whose output must be JSON, where the CLI can be read so far.
fn answer_step(project: &Project) -> String {
    let expect = if reads_answers(project.cli) { "json" } else { "text" };
    format!(
        "name: answer\ndescription: A row.\nsteps:\n  - {{name: one, type: agent, adapter: {}, mode: \
         interactive, prompt: {} please, output: said, expect: {expect}}}\n",
        project.cli.name(),
        ModelScene::Data,
    )
}

fn reads_answers(cli: Cli) -> bool {
    let config = default_registry().create(cli.name(), AdapterOptions::default());
    config.is_ok_and(|adapter| adapter.config().answer.is_some())
}

/// The output is exactly what the model said.
fn answered(project: &Project, said: &Value) -> Found {
    let wanted: Value = serde_json::from_str(DATA)?;
    if !reads_answers(project.cli) {
        return Ok("its output is all that its screen shows".to_owned());
    }
    if *said != wanted {
        return Err(format!("its output is {said}").into());
    }
    Ok("its output is the JSON that the model said, to the letter".to_owned())
}

/// How many tasks are no agents: those of the steps that are scripts and gates.
fn scripts(view: &SessionView) -> usize {
    let steps = view.workflow_definition["steps"].as_array().cloned().unwrap_or_default();
    let scripts =
        steps.iter().filter(|step| step["type"] == "script" || step["type"] == "gate").count();
    scripts.min(view.task_status.len())
}

async fn verdicts(
    orchestrator: &Orchestrator,
    id: &SessionId,
) -> Result<Vec<LoopVerdict>, Box<dyn Error>> {
    let mut events = orchestrator.subscribe(id, 0).await?;
    let mut verdicts = Vec::new();
    while let Some(envelope) = events.next().await? {
        let PublishedEvent::Fact { event, .. } = &envelope.what else { continue };
        match &**event {
            SessionEvent::LoopJudged { verdict, .. } => verdicts.push(*verdict),
            SessionEvent::WorkflowCompleted { .. } => break,
            _ => {}
        }
    }
    Ok(verdicts)
}

/// The model must have been told in the second round what the arbiter said of the first.
fn told_of_the_verdict(project: &Project) -> Result<(), Box<dyn Error>> {
    let said = project.server.exchanges().into_iter().flat_map(|exchange| exchange.said);
    let told = said
        .filter(|said| said.contains(project::TASK))
        .any(|said| said.contains(coven_testkit::model::REASON));
    if told { Ok(()) } else { Err("the second round was not told of the verdict".into()) }
}
