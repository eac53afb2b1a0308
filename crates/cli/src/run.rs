//! `coven run`: a workflow, followed while it runs.

mod ask;
mod canvas;
mod dry;
mod end;
mod fact_words;
mod follow;
mod input;
mod key_input;
mod lines;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use coven_api::system::{TrustQuery, TrustState};
use coven_api::workflow::{RunIsolation, StartWorkflow, StartedSession, WorkflowDefinition};
use coven_api::{ApiClient, ApiProblem, ProblemCode};
use coven_model::AutoAnswer;

pub(crate) use dry::show as show_plan;
pub(crate) use end::tree as show_tree;
pub(crate) use follow::{FollowMode, OnBlock, RunFollower};
pub(crate) use lines::FactPrinter;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::{folders, output, trust, tty, written};

/// The grimoire that shows everything and needs nothing.
const DEMO_GRIMOIRE: &str = "demo";

/// What `coven run` takes.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven run demo                             a tour, with nothing installed
  coven run review-loop --input base=main    a grimoire with an input
  coven run ./nightly.yaml --detach          a file; only start it
  coven run demo --auto allow --json         every event as a line of JSON

Ctrl-C leaves the run alone and says how to come back. Without a terminal a run that
waits for a person ends this command with exit code 3; the run itself goes on waiting. That
holds with --auto too, for a question that it does not answer.")]
pub(crate) struct Arguments {
    /// A grimoire by its name, or a file (`.yaml`, `.json`, or with a `/`); `-` reads stdin.
    #[arg(value_name = "GRIMOIRE|FILE", add = crate::complete::grimoires())]
    what: String,
    /// An input of the workflow.
    #[arg(short, long = "input", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// Inputs from a file: an object in YAML or JSON.
    #[arg(long, value_name = "FILE")]
    input_file: Option<PathBuf>,
    /// What the run is for, in a sentence; lists show it.
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// Only start it, and print its name.
    #[arg(short, long)]
    detach: bool,
    /// Print every event as a line of JSON.
    #[arg(long)]
    json: bool,
    /// Only show what would be done.
    #[arg(long)]
    dry_run: bool,
    /// The folder to run in; the current one unless said.
    #[arg(short = 'C', long, value_name = "FOLDER")]
    base_dir: Option<PathBuf>,
    /// What to do when a person has to be asked: wait for it, or end with exit code 3.
    #[arg(long, value_name = "HOW")]
    on_block: Option<BlockArgument>,
    /// Answer the questions of this run without asking. What no rule of the adapter knows, what is
    /// not shown whole and what took no answer is still asked.
    #[arg(long, value_name = "HOW")]
    auto: Option<AutoArgument>,
    /// Let the run work in a git worktree of its own, so that this folder stays as it is.
    #[arg(long)]
    tree: bool,
    /// The adapter for steps that name none.
    #[arg(long, value_name = "TYPE", add = crate::complete::adapters())]
    adapter: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BlockArgument {
    /// Go on following.
    Wait,
    /// End with exit code 3.
    Fail,
}

/// How questions are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AutoArgument {
    /// Approve, proceed, complete.
    Allow,
    /// Deny, and end what cannot go on.
    Deny,
}

impl From<AutoArgument> for AutoAnswer {
    fn from(auto: AutoArgument) -> Self {
        match auto {
            AutoArgument::Allow => Self::Allow,
            AutoArgument::Deny => Self::Deny,
        }
    }
}

/// What is to run.
enum RunTarget {
    Grimoire(String),
    Definition(WorkflowDefinition),
}

pub(crate) fn run(arguments: Arguments) -> Result {
    let what = what(&arguments.what)?;
    if arguments.dry_run {
        return dry::run(&what, &arguments);
    }
    block_on(start_and_follow(arguments, what))
}

async fn start_and_follow(arguments: Arguments, what: RunTarget) -> Result {
    let base = folders::base_dir(arguments.base_dir.as_deref())?;
    let auto = auto(&arguments, &what);
    let client = connect::daemon().await?;
    let start = request(&client, &arguments, &what, &base, auto).await?;
    let started = match client.start(&start, None).await.map_err(CommandFailure::from) {
        Err(failure) if failure.is(ProblemCode::NotTrusted) && tty::is_interactive() => {
            if !trust::ask(&client, &base).await? {
                return Err(failure);
            }
            client.start(&start, None).await?
        }
        Err(failure) => return Err(shown(failure, &what)),
        Ok(started) => started,
    };
    if !arguments.json {
        note_untrusted(&client, &base).await;
        crate::policy::accept::note(&client, &base).await;
        if auto.is_some() && arguments.auto.is_none() {
            output::say!(
                "There is no terminal to ask on, so questions are answered by --auto allow."
            );
        }
    }
    if let Some(note) = &started.note {
        output::say!("note: {}", output::one_line(note));
    }
    if let Some(problem) = &started.waits_for_disk {
        output::say!("note: it cannot begin yet: {}", output::one_line(problem));
    }
    if arguments.detach {
        return detached(&started, arguments.json);
    }
    let how = how(&arguments);
    let following = RunFollower::new(client, started.id, started.name, how);
    following.run().await
}

/// How the run is answered without asking. The tour goes on by itself where it cannot ask.
fn auto(arguments: &Arguments, what: &RunTarget) -> Option<AutoArgument> {
    let demo = matches!(what, RunTarget::Grimoire(name) if name == DEMO_GRIMOIRE);
    let said = arguments.auto;
    let alone = !arguments.detach && arguments.on_block.is_none() && !tty::is_interactive();
    said.or((demo && alone).then_some(AutoArgument::Allow))
}

fn how(arguments: &Arguments) -> FollowMode {
    let asking = tty::is_interactive() && !arguments.json;
    let waits = arguments.on_block.map_or(asking, |block| block == BlockArgument::Wait);
    let on_block = if waits { OnBlock::Wait } else { OnBlock::Fail };
    if arguments.json { FollowMode::Json(on_block) } else { FollowMode::usual(on_block) }
}

fn detached(started: &StartedSession, as_json: bool) -> Result {
    if as_json {
        return output::as_json(started);
    }
    output::line(&started.name)?;
    output::say!("It runs. Look at it: coven show {0} -f   What waits: coven inbox", started.name);
    Ok(())
}

fn what(text: &str) -> Result<RunTarget> {
    let path = Path::new(text);
    let ending = path.extension().and_then(|ending| ending.to_str());
    if text == "-" {
        let text = tty::all_input()?;
        return Ok(RunTarget::Definition(WorkflowDefinition { name: "stdin".to_owned(), text }));
    }
    if !text.contains('/') && !matches!(ending, Some("yaml" | "yml" | "json")) {
        return Ok(RunTarget::Grimoire(text.to_owned()));
    }
    let (name, bytes) = written::read(path)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CommandFailure::failed(format!("{name} is not text (UTF-8)")))?;
    Ok(RunTarget::Definition(WorkflowDefinition { name, text }))
}

async fn request(
    client: &ApiClient,
    arguments: &Arguments,
    what: &RunTarget,
    base: &Path,
    auto: Option<AutoArgument>,
) -> Result<StartWorkflow> {
    let base_dir = base.display().to_string();
    let inputs = input::read(client, arguments, what, &base_dir).await?;
    let made_up = || (!input::has_goal(what)).then(|| input::goal(what, &arguments.inputs));
    let goal = arguments.goal.clone().or_else(made_up);
    let mut start = StartWorkflow {
        input: inputs,
        goal,
        base_dir: Some(base_dir),
        env: Some(connect::environment()),
        auto: auto.map(Into::into),
        default_adapter: arguments.adapter.clone(),
        isolation: arguments.tree.then_some(RunIsolation::Run),
        ..StartWorkflow::default()
    };
    match what {
        RunTarget::Grimoire(name) => start.grimoire = Some(name.clone()),
        RunTarget::Definition(definition) => start.definition = Some(definition.clone()),
    }
    Ok(start)
}

/// A definition with errors is shown with its places.
fn shown(failure: CommandFailure, what: &RunTarget) -> CommandFailure {
    if let (Some(problem), RunTarget::Definition(definition)) = (failure.problem(), what)
        && problem.code == ProblemCode::BadDefinition
        && !problem.problems.is_empty()
        && !CommandFailure::wants_json()
    {
        let report = written::placed(&definition.name, &definition.text, &problem.problems);
        output::report(&report);
        return CommandFailure::told();
    }
    let no_default = |problem: &ApiProblem| problem.detail.ends_with("there is no default");
    if failure.is(ProblemCode::BadInput) && failure.problem().is_some_and(no_default) {
        return failure.hint(
            "--adapter claude (or codex, gemini, ...); `coven doctor` says which are installed,\n      \
             and `defaultAdapter: claude` in ~/.config/coven/config.yaml is for all runs",
        );
    }
    failure
}

/// Says that what the folder brings along is not used, because another grimoire of the same name
/// may run instead.
async fn note_untrusted(client: &ApiClient, base: &Path) {
    let query = TrustQuery { base_dir: Some(base.display().to_string()), contents: false };
    let Ok(standing) = client.trust(&query).await else { return };
    let why = match standing.state {
        // What is not owned is refused, and that says why.
        TrustState::Nothing | TrustState::Trusted | TrustState::NotOwned => return,
        TrustState::Untrusted => "is not trusted, so it is not used",
        TrustState::Changed => "has changed since it was trusted, so the changes are not used",
    };
    output::say!("note: the .coven/ of this folder {why}: coven trust");
}
