//! `coven send`: typing to an agent.

use std::io::Read;
use std::time::Duration;

use coven_api::client::StreamedEvent;
use coven_api::task::TypeRequest;
use tokio::time::timeout;

use crate::connect::{self, block_on};
use crate::events::EventPump;
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget, TaskFilter};
use crate::output;

/// How long a message may take until it is verified to have arrived.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(30);

/// What `coven send` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven send brisk-otter \"Now write the tests\"   typed, verified to have arrived, sent off
  git diff | coven send brisk-otter -            the text from stdin
  coven send brisk-otter --paste \"a draft\"       put into its input box, and not sent off
  coven send brisk-otter --key Esc --key Esc     keys by name")]
pub(crate) struct Arguments {
    /// The session, or the task whose agent gets the text.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::terminals())]
    target: SessionTarget,
    /// The text; `-` reads stdin.
    #[arg(required_unless_present = "key", conflicts_with = "key")]
    text: Option<String>,
    /// Only put the text into the input box.
    #[arg(long, conflicts_with = "key")]
    paste: bool,
    /// Press this key instead, such as `Enter`, `Esc`, `Ctrl+C`, `y`; may be given more than once.
    #[arg(short, long, value_name = "KEY")]
    key: Vec<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result {
    let text = match arguments.text.as_deref() {
        Some("-") => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|error| CommandFailure::failed(format!("could not read stdin: {error}")))?;
            Some(text.trim_end().to_owned())
        }
        text => text.map(str::to_owned),
    };
    if text.as_deref() == Some("") {
        return Err(
            CommandFailure::usage("there is nothing to send").hint("coven send NAME \"TEXT\"")
        );
    }
    block_on(async {
        let client = connect::daemon().await?;
        let (workflow, task) = find::task(&client, &arguments.target, TaskFilter::Terminal).await?;
        let typing = match (text, arguments.paste) {
            (None, _) => TypeRequest { keys: Some(arguments.key), ..TypeRequest::default() },
            (Some(text), true) => TypeRequest { paste: Some(text), ..TypeRequest::default() },
            (Some(text), false) => TypeRequest { message: Some(text), ..TypeRequest::default() },
        };
        let mut events = EventPump::session(&client, &workflow.item.id, Some(workflow.last_seq));
        client.input(workflow.item.id.as_str(), task.id.as_str(), &typing).await?;
        if typing.message.is_some() {
            let arrived = timeout(DELIVERY_TIMEOUT, arrived(&mut events, task.id.as_str())).await;
            arrived.unwrap_or_else(|_| Err(late(&workflow.item.name)))?;
        }
        output::line(&format!("sent to {}/{}", workflow.item.name, task.id))
    })
}

/// Waits for the fact that the message reached the agent. A `coven wait` right after this
/// command would otherwise find the agent still idle.
async fn arrived(events: &mut EventPump, task: &str) -> Result {
    loop {
        let Some(streamed) = events.next().await? else {
            return Err(CommandFailure::failed(
                "the agent has ended before the message reached it",
            ));
        };
        let StreamedEvent::Event(envelope) = streamed else { continue };
        if envelope.data.get("task").and_then(|task| task.as_str()) != Some(task) {
            continue;
        }
        match envelope.kind.as_str() {
            "input.delivered" => return Ok(()),
            "input.refused" => {
                let why = envelope.data.get("reason").and_then(|why| why.as_str());
                let why = output::one_line(why.unwrap_or("the agent shows something else by now"));
                return Err(CommandFailure::failed(format!("the message was not typed: {why}")));
            }
            _ => {}
        }
    }
}

fn late(name: &str) -> CommandFailure {
    let seconds = DELIVERY_TIMEOUT.as_secs();
    CommandFailure::failed(format!(
        "after {seconds} seconds it is not known whether the message arrived"
    ))
    .hint(format!("coven show {name}, or coven attach {name}"))
}
