//! `coven trees restore`: what was in a tree, as a new tree.

use coven_api::tree::RestoreTree;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::output;

/// What `coven trees restore` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven trees restore brisk-otter/build.2                  its last checkpoint
  coven trees restore brisk-otter/build.2 --checkpoint 3   an earlier one
  coven diff brisk-otter/build.2 --against checkpoint:3    what has changed since

The files are written into a new tree with a branch of its own, so nothing is written over.")]
pub(super) struct Arguments {
    /// The session, or the task whose tree it was.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::sessions())]
    target: SessionTarget,
    /// Which checkpoint; the newest unless said. 0 is what the tree was made with.
    #[arg(long, value_name = "N")]
    checkpoint: Option<u32>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let (workflow, tree) = find::tree(&client, &arguments.target).await?;
        let (id, name) = (workflow.item.id.to_string(), &workflow.item.name);
        let restore = RestoreTree {
            workflow: id,
            task: Some(tree.clone()),
            checkpoint: arguments.checkpoint,
        };
        let restored = client.restore_tree(&restore).await.map_err(|error| {
            CommandFailure::from(error).may_be_done(&format!("coven trees {name}"))
        })?;
        if arguments.json {
            return output::as_json(&restored);
        }
        output::line(&restored.path)?;
        output::say!(
            "{name}/{} has checkpoint {} of {name}/{tree} ({} files), on the branch {}. What is not \
             committed there was not committed then.",
            restored.tree,
            restored.checkpoint,
            restored.written,
            output::one_line(&restored.branch)
        );
        for file in &restored.failed {
            let (path, why) = (output::one_line(&file.path), output::one_line(&file.why));
            output::say!("{path} could not be written: {why}");
        }
        Ok(())
    })
}
