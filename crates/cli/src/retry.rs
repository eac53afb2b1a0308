//! `coven retry`: what failed is tried again.

use coven_api::workflow::ActionRequest;

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::run::{FollowMode, OnBlock, RunFollower};
use crate::{find, output, tty};

/// What `coven retry` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven retry brisk-otter            tries the step that failed again, and follows
  coven retry brisk-otter --detach   only that")]
pub(crate) struct Arguments {
    /// The session whose step is tried again.
    #[arg(value_name = "NAME", add = crate::complete::sessions())]
    session: String,
    /// Why, for the record.
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Do not follow it.
    #[arg(short, long)]
    detach: bool,
    /// Print every event as a line of JSON; with --detach only the session.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let workflow = find::own_workflow(&client, &arguments.session).await?;
        let wish = ActionRequest { why: arguments.why, env: Some(connect::environment()) };
        let now = client.retry(workflow.item.id.as_str(), &wish).await?;
        if arguments.detach && arguments.json {
            return output::as_json(&now.item);
        }
        if arguments.detach {
            return output::line(&format!("{} is {}", now.item.name, now.item.status));
        }
        let on_block = if tty::is_interactive() { OnBlock::Wait } else { OnBlock::Fail };
        let how =
            if arguments.json { FollowMode::Json(on_block) } else { FollowMode::usual(on_block) };
        // From before it was tried again: what it does at once is not missed.
        let before = workflow.last_seq;
        RunFollower::after(client, now.item.id, now.item.name, how, before).run().await
    })
}
