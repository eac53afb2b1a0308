//! `coven resume`: a run that no daemon drives goes on.

use coven_api::workflow::ActionRequest;
use coven_model::WorkflowStatus;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::{find, output};

/// What `coven resume` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven resume brisk-otter   lets it go on, with the environment of this shell

A daemon that starts goes on with its runs by itself. This is for runs that were only made, or
whose environment should be this one from now on.")]
pub(crate) struct Arguments {
    /// The session that goes on.
    #[arg(value_name = "NAME", add = crate::complete::sessions())]
    session: String,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let workflow = find::own_workflow(&client, &arguments.session).await?;
        let item = &workflow.item;
        if item.status.is_final() {
            let message = format!("{} is {} and does not go on", item.name, item.status);
            let failure = CommandFailure::not_now(message);
            return Err(if item.status == WorkflowStatus::Failed {
                failure
                    .hint(format!("to try the step that failed again: coven retry {}", item.name))
            } else {
                failure.hint(format!("what it gave: coven output {}", item.name))
            });
        }
        let wish = ActionRequest { why: None, env: Some(connect::environment()) };
        let now = client.resume(workflow.item.id.as_str(), &wish).await?;
        if arguments.json {
            return output::as_json(&now.item);
        }
        output::line(&format!("{} is {}", now.item.name, now.item.status))
    })
}
