//! `coven stop`: an agent and everything it started are ended.

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::find::{self, SessionTarget, TaskFilter};
use crate::output;

/// What `coven stop` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven stop brisk-otter/build.3   this task fails; the run goes on as its definition says
  coven stop brisk-otter           the agent of `coven new`: the session ends with it
  coven cancel brisk-otter         ends the whole run instead")]
pub(crate) struct Arguments {
    /// The session, or the task that is stopped.
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
        client.stop(workflow.item.id.as_str(), task.id.as_str()).await?;
        if arguments.json {
            return output::json(&find::task_json(&workflow, &task));
        }
        output::line(&format!("{}/{} is being stopped", workflow.item.name, task.id))
    })
}
