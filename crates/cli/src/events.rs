//! `coven events`, and following events from inside other commands.

use coven_api::client::{EventScope, StreamedEvent};
use coven_api::{ApiClient, ClientError};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::run::FactPrinter;
use crate::signals::{SignalEvent, SignalListener};
use crate::{find, output};

/// How many events are buffered before stdout takes them; more hold the stream up, which the daemon
/// tolerates.
const MAX_BUFFERED_EVENTS: usize = 256;

/// A stream of events that goes on while its reader does something else.
#[derive(Debug)]
pub(crate) struct EventPump {
    events: mpsc::Receiver<std::result::Result<StreamedEvent, ClientError>>,
    task: JoinHandle<()>,
}

impl EventPump {
    pub(crate) fn session(client: &ApiClient, id: &str, after: Option<u64>) -> Self {
        Self::new(client, &EventScope::Workflow(id.to_owned()), after)
    }

    pub(crate) fn new(client: &ApiClient, scope: &EventScope, after: Option<u64>) -> Self {
        let mut stream = client.events(scope, after);
        let (sender, events) = mpsc::channel(MAX_BUFFERED_EVENTS);
        let task = tokio::spawn(async move {
            loop {
                let next = match stream.next().await {
                    Ok(Some(streamed)) => Ok(streamed),
                    Ok(None) => return,
                    Err(error) => Err(error),
                };
                if sender.send(next).await.is_err() {
                    return;
                }
            }
        });
        Self { events, task }
    }

    /// What comes next; nothing at the end. Nothing is lost if the caller stops waiting.
    pub(crate) async fn next(&mut self) -> Result<Option<StreamedEvent>> {
        Ok(self.events.recv().await.transpose()?)
    }

    /// Whether something is ready.
    pub(crate) fn more(&self) -> bool {
        !self.events.is_empty()
    }
}

impl Drop for EventPump {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What `coven events` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven events brisk-otter                what happened in a session
  coven events brisk-otter --json -f      the same as JSON lines, and what happens from now on
  coven events --follow                   everything that happens anywhere")]
pub(crate) struct Arguments {
    /// The session; with --follow or --after all of them unless said.
    #[arg(value_name = "NAME", add = crate::complete::sessions())]
    session: Option<String>,
    /// Only what comes after this number: `seq` of a session, `pos` of all.
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// Go on with what happens from now on.
    #[arg(short, long)]
    follow: bool,
    /// Tell what is live too: output and what agents do, not only facts.
    #[arg(long)]
    live: bool,
    /// Print lines of JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> Result {
    if arguments.session.is_none() && !arguments.follow && arguments.after.is_none() {
        return Err(CommandFailure::usage("name a session, or follow all of them")
            .hint("coven events NAME, or coven events --follow"));
    }
    block_on(show(arguments))
}

/// The position of the last fact of all sessions.
async fn last_position(client: &ApiClient) -> Result<Option<u64>> {
    let mut events = EventPump::new(client, &EventScope::Everything, None);
    match events.next().await? {
        Some(StreamedEvent::Snapshot(now)) => Ok(now.get("pos").and_then(Value::as_u64)),
        _ => Ok(None),
    }
}

async fn show(arguments: Arguments) -> Result {
    let client = connect::daemon().await?;
    let (scope, after, last) = match &arguments.session {
        Some(text) => {
            let workflow = find::workflow(&client, text).await?;
            let after = Some(arguments.after.unwrap_or(0));
            (EventScope::Workflow(workflow.item.address()), after, Some(workflow.last_seq))
        }
        None if arguments.follow => (EventScope::Everything, arguments.after, None),
        None => (EventScope::Everything, arguments.after, last_position(&client).await?),
    };
    let last = last.filter(|_| !arguments.follow);
    if last.is_some_and(|last| last <= after.unwrap_or(0)) {
        return Ok(());
    }
    let mut events = EventPump::new(&client, &scope, after);
    let mut signals = SignalListener::listen()?;
    let mut lines = FactPrinter::default();
    loop {
        let streamed = tokio::select! {
            told = signals.next() => match told {
                SignalEvent::Resized => continue,
                _ => return Ok(()),
            },
            streamed = events.next() => streamed?,
        };
        match streamed {
            Some(StreamedEvent::Event(envelope)) => {
                if envelope.seq.is_some() || arguments.live {
                    if arguments.json {
                        output::json_line(&envelope)?;
                    } else {
                        output::line(&lines.any(&envelope))?;
                    }
                }
                let place = if arguments.session.is_some() { envelope.seq } else { envelope.pos };
                let is_last = last.is_some() && place.is_some() && place >= last;
                if is_last || output::is_reader_gone() {
                    return Ok(());
                }
            }
            Some(StreamedEvent::Gap(gap)) if gap.oldest > gap.after.saturating_add(1) => {
                output::say!("note: events before {} are no longer kept", gap.oldest);
            }
            Some(StreamedEvent::Gap(_)) => {
                output::say!("note: some events are left out: their session is gone");
            }
            Some(StreamedEvent::Reconnecting(_)) => drop(connect::daemon().await?),
            Some(StreamedEvent::End) | None => return Ok(()),
            Some(StreamedEvent::Snapshot(_) | StreamedEvent::Lagged) => {}
        }
    }
}
