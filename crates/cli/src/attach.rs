//! `coven attach`: the terminal of an agent, passed through to this one.

mod keys;
mod viewer_terminal;

use coven_api::attach::{AttachQuery, FromDaemon, FromViewer};
use coven_api::client::{FromTerminal, StreamedEvent, TerminalConnection};
use coven_api::{ApiClient, ProblemCode};
use coven_model::{AgentMode, SessionId, TaskStatus};

use tokio::time::{Duration, interval};

use self::keys::{PrefixFilter, TypedInput};
use self::viewer_terminal::ViewerTerminal;
use crate::connect::{self, block_on};
use crate::events::EventPump;
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::signals::{SignalEvent, SignalListener};
use crate::tty::{KeyMode, TerminalKeyboard};
use crate::{mirror, output, tty};

pub(crate) use viewer_terminal::LEAVE;

/// How often a new daemon is asked for an agent that it has not taken up yet, and how often at
/// most.
const ATTACH_RETRY_INTERVAL: Duration = Duration::from_millis(100);
const MAX_ATTACH_TRIES: u32 = 100;

/// What `coven attach` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven attach                          the newest session of this folder
  coven attach brisk-otter              its only agent on a terminal
  coven attach brisk-otter/build.3      this one
  coven attach brisk-otter --read-only  only look

Keys: Ctrl-] d leaves the agent alone and comes back here, Ctrl-] t takes the keyboard from
the viewer that has it, Ctrl-] Ctrl-] types Ctrl-]. Everything else goes to the agent.")]
pub(crate) struct Arguments {
    /// The session, or the task whose terminal is attached; the newest of this folder unless said.
    #[arg(value_name = "NAME[/TASK]", default_value = find::NEWEST, add = crate::complete::terminals())]
    target: SessionTarget,
    /// Only look; nothing that is typed reaches the agent.
    #[arg(short, long)]
    read_only: bool,
    /// Take the keyboard, also from another viewer.
    #[arg(long, conflicts_with = "read_only")]
    take: bool,
    /// The key that begins a command to `coven`, such as `ctrl-a`.
    #[arg(long, value_name = "KEY", default_value = "ctrl-]")]
    detach_key: keys::PrefixKey,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) read_only: bool,
    pub(crate) take: bool,
    pub(crate) prefix: keys::PrefixKey,
}

/// Whose terminal it is.
#[derive(Clone, Debug)]
pub(crate) struct TerminalView {
    id: String,
    task: String,
    /// What people call it.
    name: String,
}

impl TerminalView {
    pub(crate) fn new(id: &str, session: &str, task: &str) -> Self {
        Self { id: id.to_owned(), task: task.to_owned(), name: format!("{session}/{task}") }
    }
}

/// Why it came to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AttachEnd {
    /// The agent was left alone and goes on.
    Left,
    /// The agent's process has ended.
    Ended(String),
    /// The daemon was stopped.
    Stopped,
    Lost,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    needs_terminal()?;
    block_on(async {
        let client = connect::daemon().await?;
        let (workflow, task) =
            find::terminal_or_starting(&client, &arguments.target, |task| !task.queued).await?;
        let name = format!("{}/{}", workflow.item.name, task.id);
        if task.live && task.mode == AgentMode::Headless {
            return Err(CommandFailure::failed(format!("{name} runs without a terminal"))
                .hint(format!("coven logs -f {name}")));
        }
        let view =
            TerminalView::new(&workflow.item.address(), &workflow.item.name, task.id.as_str());
        let options = Options {
            read_only: arguments.read_only,
            take: arguments.take,
            prefix: arguments.detach_key,
        };
        let seen = match through(&client, &view, options).await {
            Ok(AttachEnd::Lost) => again(&view, options).await?,
            Err(failure) if !task.live && is_not_yet(&failure) => again(&view, options).await?,
            seen => seen?,
        };
        tell(&view, &seen);
        Ok(())
    })
}

/// Comes to an agent that is just being started, or back to one whose daemon died: the next daemon
/// takes it up.
pub(crate) async fn again(view: &TerminalView, options: Options) -> Result<AttachEnd> {
    let (mut tries, mut pause) = (0, interval(ATTACH_RETRY_INTERVAL));
    loop {
        pause.tick().await;
        let client = connect::daemon().await?;
        tries += 1;
        match through(&client, view, options).await {
            Ok(AttachEnd::Lost) => tries = 0,
            Err(failure) if is_not_yet(&failure) && tries < MAX_ATTACH_TRIES => {}
            seen => return seen,
        }
    }
}

/// Whether the agent may be there soon.
fn is_not_yet(failure: &CommandFailure) -> bool {
    failure.is(ProblemCode::NoAgent)
        || failure.is(ProblemCode::NotLive)
        || failure.is(ProblemCode::TaskNotFound)
}

/// Only a terminal can show a terminal.
pub(crate) fn needs_terminal() -> Result {
    tty::refuse_dumb(
        "coven show NAME/TASK shows its screen, coven send NAME/TASK TEXT types to it",
    )?;
    if tty::is_interactive() {
        return Ok(());
    }
    Err(CommandFailure::usage("this needs a terminal to show the agent on")
        .hint("coven logs shows what it printed, coven show NAME/TASK what its screen shows now"))
}

/// Says how it ended, and how to come back.
pub(crate) fn tell(view: &TerminalView, seen: &AttachEnd) {
    match seen {
        AttachEnd::Left => {
            output::say!("Detached; it goes on. Come back with: coven attach {}", view.name);
        }
        AttachEnd::Ended(why) => output::say!("{} has ended: {}", view.name, output::one_line(why)),
        AttachEnd::Stopped => {
            output::say!(
                "The daemon was stopped; the agent goes on. Come back with: coven attach {}",
                view.name
            );
        }
        AttachEnd::Lost => {
            output::say!(
                "The daemon died; the agent goes on. Come back with: coven attach {}",
                view.name
            );
        }
    }
}

/// Waits until the task has an agent on a terminal, then attaches to it.
pub(crate) async fn when_ready(
    client: &ApiClient,
    id: &SessionId,
    view: &TerminalView,
    options: Options,
) -> Result<AttachEnd> {
    let mut events = EventPump::session(client, id.as_str(), None);
    let mut told = false;
    loop {
        match through(client, view, options).await {
            Err(failure) if is_not_yet(&failure) => {
                let queued = not_failed(client, id, view).await?;
                if queued && !told {
                    told = true;
                    output::say!(
                        "{} waits for a slot, because as many agents run as may at once; it is \
                         shown when it has started (Ctrl-C leaves it alone)",
                        view.name
                    );
                }
                match events.next().await? {
                    Some(StreamedEvent::End) | None => return Err(failure),
                    Some(_) => {}
                }
            }
            other => return other,
        }
    }
}

/// An agent that could not be started is not waited for. Says whether it waits for a slot.
async fn not_failed(client: &ApiClient, id: &SessionId, view: &TerminalView) -> Result<bool> {
    let workflow = client.workflow(id.as_str()).await?;
    let Some(task) = workflow.tasks.iter().find(|task| task.id.as_str() == view.task) else {
        return Ok(false);
    };
    if task.status != TaskStatus::Error {
        return Ok(task.queued);
    }
    let message = format!("{} could not be started: {}", view.name, output::one_line(&task.note));
    let name = &workflow.item.name;
    Err(CommandFailure::failed(message).hint(format!("coven retry {name}, or coven cancel {name}")))
}

/// Shows a terminal and passes keys on, until the agent ends or is left alone.
pub(crate) async fn through(
    client: &ApiClient,
    view: &TerminalView,
    options: Options,
) -> Result<AttachEnd> {
    let (cols, rows) = tty::size().unwrap_or((80, 24));
    let query = AttachQuery {
        read_only: Some(options.read_only),
        take: Some(options.take),
        cols: Some(cols),
        rows: Some(rows),
    };
    let terminal = client.attach(&view.id, &view.task, query).await?;
    match pass(terminal, view, options, (cols, rows)).await {
        Err(failure) if failure.is_unreachable() => Ok(AttachEnd::Lost),
        seen => seen,
    }
}

async fn pass(
    mut terminal: TerminalConnection,
    view: &TerminalView,
    options: Options,
    size: (u16, u16),
) -> Result<AttachEnd> {
    let mut signals = SignalListener::listen()?;
    let clipboard = mirror::clipboard()?;
    let keyboard = TerminalKeyboard::take(KeyMode::Raw)?;
    let mut outside = ViewerTerminal::enter(&view.name, size, options.read_only, clipboard)?;
    let mut filter = PrefixFilter::new(options.prefix);
    loop {
        tokio::select! {
            told = terminal.next() => match told? {
                None => return Ok(AttachEnd::Stopped),
                Some(FromTerminal::Bytes(bytes)) => outside.show(&bytes)?,
                Some(FromTerminal::Said(FromDaemon::Ended { reason })) => {
                    outside.paint()?;
                    return Ok(AttachEnd::Ended(reason));
                }
                Some(FromTerminal::Said(said)) => {
                    if let Some((cols, rows)) = outside.told(&said)? {
                        terminal.sender.say(&FromViewer::Resize { cols, rows }).await?;
                    }
                }
            },
            () = outside.due() => outside.paint()?,
            bytes = keyboard.read() => {
                let bytes = bytes?;
                if bytes.is_empty() {
                    return Ok(AttachEnd::Left);
                }
                for typed in filter.feed(&bytes) {
                    match typed {
                        TypedInput::Detach => return Ok(AttachEnd::Left),
                        TypedInput::Take => terminal.sender.say(&FromViewer::Take).await?,
                        TypedInput::Bytes(_) if options.read_only => {}
                        TypedInput::Bytes(bytes) => terminal.sender.write(bytes).await?,
                    }
                }
            }
            told = signals.next() => match told {
                SignalEvent::Resized => {
                    if let Some((cols, rows)) = tty::size()
                        && outside.resized((cols, rows))?
                    {
                        terminal.sender.say(&FromViewer::Resize { cols, rows }).await?;
                    }
                }
                SignalEvent::Interrupt | SignalEvent::Terminate => return Ok(AttachEnd::Left),
            },
        }
    }
}
