//! `coven rm`: sessions that are over are deleted.

use serde_json::json;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::{find, output};

/// What `coven rm` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven rm brisk-otter                          its journal, tapes and outcomes are deleted
  coven ls --json --all --status completed | jq -r '.workflows[].name' | xargs coven rm

Of the sessions that are over, the 50 of each folder that changed last stay; older ones are deleted
by themselves, which the daemon's log tells. `retention` in config.yaml says another number or age.")]
pub(crate) struct Arguments {
    /// The sessions that are removed.
    #[arg(required = true, value_name = "NAME", add = crate::complete::sessions())]
    sessions: Vec<String>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        for session in &arguments.sessions {
            let workflow = find::own_workflow(&client, session).await?;
            let item = &workflow.item;
            if !item.status.is_final() {
                return Err(CommandFailure::not_now(format!("{} is {}", item.name, item.status))
                    .hint(format!("coven cancel {0}, then coven rm {0}", item.name)));
            }
            client.purge(item.id.as_str()).await?;
            if arguments.json {
                output::json_line(&json!({"id": item.id, "name": item.name, "deleted": true}))?;
            } else {
                output::line(&format!("{} is deleted", item.name))?;
            }
        }
        Ok(())
    })
}
