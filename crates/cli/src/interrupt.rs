//! `coven interrupt`: an agent is to stop what it does, and stay.

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::find::{self, SessionTarget, TaskFilter};
use crate::output;

/// What `coven interrupt` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven interrupt brisk-otter/build.3   presses the key by which this agent is interrupted")]
pub(crate) struct Arguments {
    /// The session, or the task whose agent is interrupted.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::terminals())]
    target: SessionTarget,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let target = &arguments.target;
        // An agent without a terminal may have a protocol in which it can be interrupted.
        let (workflow, task) = match find::agent(&client, target, TaskFilter::Terminal).await {
            Ok(found) => found,
            Err(none) => {
                find::agent(&client, target, TaskFilter::Running).await.map_err(|_| none)?
            }
        };
        client.interrupt(workflow.item.id.as_str(), task.id.as_str()).await?;
        if arguments.json {
            return output::json(&find::task_json(&workflow, &task));
        }
        output::line(&format!("{}/{} was interrupted", workflow.item.name, task.id))
    })
}
