//! `coven finish`: a task is done, as a person says.

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::find::{self, SessionTarget, TaskFilter};
use crate::output;

/// What `coven finish` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven finish brisk-otter         its only agent has done what it should
  coven finish brisk-otter/review")]
pub(crate) struct Arguments {
    /// The session, or the task that is done.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::live())]
    target: SessionTarget,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let (workflow, task) = find::agent(&client, &arguments.target, TaskFilter::Running).await?;
        client.complete(workflow.item.id.as_str(), task.id.as_str()).await?;
        if arguments.json {
            return output::json(&find::task_json(&workflow, &task));
        }
        output::line(&format!("{}/{} is done", workflow.item.name, task.id))
    })
}
