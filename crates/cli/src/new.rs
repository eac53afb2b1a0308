//! `coven new`: one agent, attached.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::ValueEnum;
use coven_adapters::AdapterConfigLoader;
use coven_api::ProblemCode;
use coven_api::workflow::{OneAgent, RunIsolation, StartWorkflow};
use coven_model::{AgentMode, PermissionLevel};

use crate::attach::{self, AttachEnd, TerminalView};
use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::run::{FollowMode, OnBlock, RunFollower};
use crate::{doctor, folders, output, tty};

/// The task that a session of one agent has.
const AGENT_TASK: &str = "agent";

/// What `coven new` takes.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven new claude                             an agent on this terminal
  coven new claude \"Fix the failing test\"      with something to do
  coven new codex \"Write docs\" --detach        in the background: coven attach NAME
  coven new gemini \"Summarise\" --mode headless one turn without a terminal
  coven new claude -t \"Fix the failing test\"   in a worktree of its own: coven diff, coven merge
  coven new demo                               an agent that needs nothing installed
  coven new claude -- --verbose                an argument of its own

Ctrl-] d leaves the agent alone; it goes on.")]
pub(crate) struct Arguments {
    /// The type of agent: `coven adapter ls`.
    #[arg(value_name = "ADAPTER", add = crate::complete::adapters())]
    adapter: String,
    /// What it is told first.
    prompt: Option<String>,
    /// Only start it, and print its name.
    #[arg(short, long)]
    detach: bool,
    /// On a terminal, or one turn without one.
    #[arg(long, default_value = "interactive")]
    mode: ModeArgument,
    /// The model that the agent uses.
    #[arg(long)]
    model: Option<String>,
    /// What it may do without asking.
    #[arg(long, value_name = "LEVEL")]
    permissions: Option<PermissionArgument>,
    /// Let its adapter answer what it knows how to answer.
    #[arg(long)]
    auto_approve: bool,
    /// Let it work in a git worktree of its own, on a branch `coven/NAME`.
    #[arg(short, long)]
    tree: bool,
    /// The folder it works in; the current one unless said.
    #[arg(short = 'C', long, value_name = "FOLDER")]
    base_dir: Option<PathBuf>,
    /// Print JSON; implies --detach.
    #[arg(long)]
    json: bool,
    /// Arguments of its own.
    #[arg(last = true, value_name = "ARGS")]
    extra: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeArgument {
    Interactive,
    Headless,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PermissionArgument {
    ReadOnly,
    Ask,
    Edits,
    All,
}

impl From<PermissionArgument> for PermissionLevel {
    fn from(level: PermissionArgument) -> Self {
        match level {
            PermissionArgument::ReadOnly => Self::ReadOnly,
            PermissionArgument::Ask => Self::Ask,
            PermissionArgument::Edits => Self::Edits,
            PermissionArgument::All => Self::All,
        }
    }
}

pub(crate) fn run(arguments: Arguments) -> Result {
    let headless = arguments.mode == ModeArgument::Headless;
    let detach = arguments.detach || arguments.json;
    if headless && arguments.prompt.is_none() {
        return Err(CommandFailure::usage("without a terminal an agent needs something to do")
            .hint(format!("coven new {} \"PROMPT\" --mode headless", arguments.adapter)));
    }
    if !headless && !detach {
        let terminal = tty::is_interactive() && std::io::stdin().is_terminal();
        if !terminal {
            return Err(CommandFailure::usage("there is no terminal to show the agent on").hint(
                "--detach starts it in the background, --mode headless lets it do one turn",
            ));
        }
    }
    installed(&arguments.adapter)?;
    block_on(start(arguments, headless, detach))
}

/// An agent that is not installed is told before anything is made of it. What else is wrong with
/// its name or its file, the daemon says.
fn installed(kind: &str) -> Result {
    let adapters = AdapterConfigLoader::new(folders::adapters());
    let Some(config) = adapters.load(kind, None).ok().map(|loaded| loaded.config) else {
        return Ok(());
    };
    let program = config.command.clone().unwrap_or_else(|| kind.to_owned());
    if doctor::BUNDLED_ADAPTERS.contains(&kind) || program.contains('/') {
        return Ok(());
    }
    if doctor::find(&program).is_some() {
        return Ok(());
    }
    let message = format!("there is no program `{program}` in your PATH");
    let failure = CommandFailure::not_found(ProblemCode::BadAdapter, message);
    Err(match &config.install {
        Some(install) => failure.hint(format!("install it: {install}")),
        None => failure.hint("install it, or name its path in the adapter's file as `command`"),
    })
}

async fn start(arguments: Arguments, headless: bool, detach: bool) -> Result {
    let base = folders::base_dir(arguments.base_dir.as_deref())?;
    let client = connect::daemon().await?;
    let goal = arguments.prompt.as_deref().map(output::one_line);
    let agent = OneAgent {
        adapter: arguments.adapter.clone(),
        prompt: arguments.prompt,
        mode: Some(if headless { AgentMode::Headless } else { AgentMode::Interactive }),
        model: arguments.model,
        permissions: arguments.permissions.map(Into::into),
        extra_args: arguments.extra,
        auto_approve: arguments.auto_approve,
    };
    let start = StartWorkflow {
        agent: Some(agent),
        goal: Some(goal.unwrap_or_else(|| arguments.adapter.clone())),
        isolation: arguments.tree.then_some(RunIsolation::Task),
        base_dir: Some(base.display().to_string()),
        env: Some(connect::environment()),
        ..StartWorkflow::default()
    };
    let started = client.start(&start, None).await;
    let started = started.map_err(|error| plain(error.into(), &arguments.adapter))?;
    if arguments.json {
        return output::as_json(&started);
    }
    if detach {
        output::line(&started.name)?;
        let look = if headless { "logs -f" } else { "attach" };
        output::say!("It runs. Look at it: coven {look} {}", started.name);
        return Ok(());
    }
    if headless {
        let how =
            FollowMode::usual(if tty::is_interactive() { OnBlock::Wait } else { OnBlock::Fail });
        return RunFollower::new(client, started.id, started.name, how).run().await;
    }
    output::say!("{} on {}: Ctrl-] d leaves it alone", arguments.adapter, started.name);
    let view = TerminalView::new(started.id.as_str(), &started.name, AGENT_TASK);
    let options = attach::Options::default();
    let seen = match attach::when_ready(&client, &started.id, &view, options).await? {
        AttachEnd::Lost => attach::again(&view, options).await?,
        seen => seen,
    };
    attach::tell(&view, &seen);
    if matches!(seen, AttachEnd::Ended(_)) {
        output::say!("What it did: coven show {0}   coven play {0}", started.name);
    }
    Ok(())
}

/// What is wrong with the agent, without places: they would lie in the definition that this
/// command generated, which the user has not seen.
fn plain(failure: CommandFailure, kind: &str) -> CommandFailure {
    let first = failure
        .problem()
        .and_then(|problem| Some((problem.code, problem.problems.first().cloned()?)));
    match first {
        Some((code, first)) => {
            let names_none =
                AdapterConfigLoader::new(folders::adapters()).load(kind, None).is_err();
            let code = if names_none { ProblemCode::BadAdapter } else { code };
            let failure = CommandFailure::not_found(code, output::one_line(&first.message));
            match first.help {
                Some(help) => failure.hint(output::one_line(&help)),
                None => failure,
            }
        }
        None => failure,
    }
}
