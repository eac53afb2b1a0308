//! `coven send`: typing to an agent.

use coven_api::task::TypeRequest;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget, TaskFilter};
use crate::{output, tty};

/// What `coven send` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven send brisk-otter \"Now write the tests\"   typed, verified to have arrived, sent off
  git diff | coven send brisk-otter -            the text from stdin
  coven send brisk-otter --paste \"a draft\"       put into its input box, and not sent off
  coven send brisk-otter --key Esc --key Esc     keys by name

An agent without a terminal gets the text as a line on its standard input, where its adapter leaves
that open (\"stdin\": \"pipe\").")]
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
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> Result {
    let text = match arguments.text.as_deref() {
        Some("-") => Some(tty::all_input()?.trim_end().to_owned()),
        text => text.map(str::to_owned),
    };
    if text.as_deref() == Some("") {
        return Err(
            CommandFailure::usage("there is nothing to send").hint("coven send NAME \"TEXT\"")
        );
    }
    block_on(async {
        let client = connect::daemon().await?;
        let target = &arguments.target;
        let is_message = text.is_some() && !arguments.paste;
        let (workflow, task) = if is_message {
            find::reader(&client, target).await?
        } else {
            find::agent(&client, target, TaskFilter::Terminal).await?
        };
        let typing = match (text, arguments.paste) {
            (None, _) => TypeRequest { keys: Some(arguments.key), ..TypeRequest::default() },
            (Some(text), true) => TypeRequest { paste: Some(text), ..TypeRequest::default() },
            (Some(text), false) => TypeRequest { message: Some(text), ..TypeRequest::default() },
        };
        let typed = client.input(workflow.item.id.as_str(), task.id.as_str(), &typing).await;
        let typed = typed.map_err(|error| {
            CommandFailure::from(error).may_be_done(&format!("coven show {}", workflow.item.name))
        })?;
        if arguments.json {
            let mut sent = find::task_json(&workflow, &task);
            sent["delivered"] = typed.delivered.into();
            sent["queued"] = (!typed.delivered).into();
            return output::json(&sent);
        }
        let name = format!("{}/{}", workflow.item.name, task.id);
        if typed.delivered {
            return output::line(&format!("sent to {name}"));
        }
        if typed.queued {
            return output::line(&format!(
                "queued for {name}: the agent waits for a slot, because as many agents run as may \
                 at once; it is typed when the agent has started"
            ));
        }
        output::line(&format!("queued for {name}: it is typed as soon as the agent takes it"))
    })
}
