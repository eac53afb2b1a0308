//! `coven attach`: the terminal of an agent, passed through to this one.

mod keys;
mod outside;

use coven_api::attach::{AttachQuery, FromDaemon, FromViewer};
use coven_api::client::{FromTerminal, Streamed, Terminal};
use coven_api::workflow::TaskItem;
use coven_api::{Client, Code as Wrong};
use coven_model::{Mode, SessionId, TaskStatus};

use tokio::time::{Duration, interval};

use self::keys::{Filter, Typed};
use self::outside::Outside;
use crate::connect::{self, block_on};
use crate::events::Pump;
use crate::failure::{Failure, Result};
use crate::find::{self, Target, Wanted};
use crate::signals::{Signals, Told};
use crate::tty::{Keyboard, Keys};
use crate::{output, tty};

pub(crate) use outside::LEAVE;

/// How often a new daemon is asked for an agent that it has not taken up yet, and how often at most.
const AGAIN: Duration = Duration::from_millis(100);
const TRIES: u32 = 100;

/// What `coven attach` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven attach brisk-otter              its only agent on a terminal
  coven attach brisk-otter/build.3      this one
  coven attach brisk-otter --read-only  only look

Keys: Ctrl-] d leaves the agent alone and comes back here, Ctrl-] t takes the keyboard from
whoever has it, Ctrl-] Ctrl-] types Ctrl-]. Everything else goes to the agent.")]
pub(crate) struct Arguments {
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::terminals())]
    target: Target,
    /// Only look; nothing that is typed reaches the agent.
    #[arg(short, long)]
    read_only: bool,
    /// Take the keyboard, also from another viewer.
    #[arg(long, conflicts_with = "read_only")]
    take: bool,
    /// The key that begins a command to `coven`, such as `ctrl-a`.
    #[arg(long, value_name = "KEY", default_value = "ctrl-]")]
    detach_key: keys::Prefix,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) read_only: bool,
    pub(crate) take: bool,
    pub(crate) prefix: keys::Prefix,
}

/// Whose terminal it is.
#[derive(Clone, Debug)]
pub(crate) struct View {
    id: String,
    task: String,
    /// What people call it.
    name: String,
}

impl View {
    pub(crate) fn new(id: &str, session: &str, task: &str) -> Self {
        Self { id: id.to_owned(), task: task.to_owned(), name: format!("{session}/{task}") }
    }
}

/// Why it came to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
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
        let (workflow, task) = find::task(&client, &arguments.target, Wanted::Terminal).await?;
        let name = format!("{}/{}", workflow.item.name, task.id);
        if task.live && task.mode == Mode::Headless {
            return Err(Failure::failed(format!("{name} runs without a terminal"))
                .hint(format!("coven logs -f {name}")));
        }
        let view = View::new(workflow.item.id.as_str(), &workflow.item.name, task.id.as_str());
        let options = Options {
            read_only: arguments.read_only,
            take: arguments.take,
            prefix: arguments.detach_key,
        };
        let seen = match through(&client, &view, options).await? {
            Seen::Lost => again(&view, options).await?,
            seen => seen,
        };
        tell(&view, &seen);
        Ok(())
    })
}

/// Comes back to an agent whose daemon died: the next one takes it up.
pub(crate) async fn again(view: &View, options: Options) -> Result<Seen> {
    let (mut tries, mut pause) = (0, interval(AGAIN));
    loop {
        pause.tick().await;
        let client = connect::daemon().await?;
        tries += 1;
        match through(&client, view, options).await {
            Ok(Seen::Lost) => tries = 0,
            Err(failure) if is_not_yet(&failure) && tries < TRIES => {}
            seen => return seen,
        }
    }
}

/// Whether the agent may be there soon.
fn is_not_yet(failure: &Failure) -> bool {
    failure.is(Wrong::NoAgent) || failure.is(Wrong::NotLive) || failure.is(Wrong::TaskNotFound)
}

/// Only a terminal can show a terminal.
pub(crate) fn needs_terminal() -> Result {
    if tty::is_interactive() {
        return Ok(());
    }
    Err(Failure::usage("this needs a terminal to show the agent on")
        .hint("coven logs shows what it printed, coven show NAME/TASK what its screen shows now"))
}

/// Says how it ended, and how to come back.
pub(crate) fn tell(view: &View, seen: &Seen) {
    match seen {
        Seen::Left => {
            eprintln!("Detached; it goes on. Come back with: coven attach {}", view.name);
        }
        Seen::Ended(why) => eprintln!("{} has ended: {}", view.name, output::one_line(why)),
        Seen::Stopped => {
            eprintln!(
                "The daemon was stopped; the agent goes on. Come back with: coven attach {}",
                view.name
            );
        }
        Seen::Lost => {
            eprintln!(
                "The daemon died; the agent goes on. Come back with: coven attach {}",
                view.name
            );
        }
    }
}

/// Waits until the task has an agent on a terminal, then attaches to it.
pub(crate) async fn when_ready(
    client: &Client,
    id: &SessionId,
    view: &View,
    options: Options,
) -> Result<Seen> {
    let mut events = Pump::session(client, id, None);
    loop {
        match through(client, view, options).await {
            Err(failure) if is_not_yet(&failure) => {
                not_failed(client, id, view).await?;
                match events.next().await? {
                    Some(Streamed::End) | None => return Err(failure),
                    Some(_) => {}
                }
            }
            other => return other,
        }
    }
}

/// An agent that could not be started is not waited for.
async fn not_failed(client: &Client, id: &SessionId, view: &View) -> Result {
    let workflow = client.workflow(id.as_str()).await?;
    let failed =
        |task: &&TaskItem| task.id.as_str() == view.task && task.status == TaskStatus::Error;
    let Some(task) = workflow.tasks.iter().find(failed) else { return Ok(()) };
    let message = format!("{} could not be started: {}", view.name, output::one_line(&task.note));
    let name = &workflow.item.name;
    Err(Failure::failed(message).hint(format!("coven retry {name}, or coven cancel {name}")))
}

/// Shows a terminal and passes keys on, until the agent ends or is left alone.
pub(crate) async fn through(client: &Client, view: &View, options: Options) -> Result<Seen> {
    let (cols, rows) = tty::size().unwrap_or((80, 24));
    let query = AttachQuery {
        read_only: Some(options.read_only),
        take: Some(options.take),
        cols: Some(cols),
        rows: Some(rows),
    };
    let terminal = client.attach(&view.id, &view.task, query).await?;
    match pass(terminal, view, options, (cols, rows)).await {
        Err(failure) if failure.is_unreachable() => Ok(Seen::Lost),
        seen => seen,
    }
}

async fn pass(
    mut terminal: Terminal,
    view: &View,
    options: Options,
    size: (u16, u16),
) -> Result<Seen> {
    let mut signals = Signals::listen()?;
    let keyboard = Keyboard::take(Keys::Raw)?;
    let mut outside = Outside::enter(&view.name, size, options.read_only)?;
    let mut filter = Filter::new(options.prefix);
    loop {
        tokio::select! {
            told = terminal.next() => match told? {
                None => return Ok(Seen::Stopped),
                Some(FromTerminal::Bytes(bytes)) => outside.show(&bytes)?,
                Some(FromTerminal::Said(FromDaemon::Ended { reason })) => {
                    outside.paint()?;
                    return Ok(Seen::Ended(reason));
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
                    return Ok(Seen::Left);
                }
                for typed in filter.feed(&bytes) {
                    match typed {
                        Typed::Detach => return Ok(Seen::Left),
                        Typed::Take => terminal.sender.say(&FromViewer::Take).await?,
                        Typed::Bytes(_) if options.read_only => {}
                        Typed::Bytes(bytes) => terminal.sender.write(bytes).await?,
                    }
                }
            }
            told = signals.next() => match told {
                Told::Resized => {
                    if let Some((cols, rows)) = tty::size()
                        && outside.resized((cols, rows))?
                    {
                        terminal.sender.say(&FromViewer::Resize { cols, rows }).await?;
                    }
                }
                Told::Interrupt | Told::Terminate => return Ok(Seen::Left),
            },
        }
    }
}
