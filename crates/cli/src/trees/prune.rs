//! `coven trees prune`: trees that are landed or empty are removed.

use coven_api::tree::{PruneTrees, PrunedTree, PrunedTrees};

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::output;

/// What `coven trees prune` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven trees prune                             of all sessions
  coven trees prune brisk-otter                 of one
  coven trees prune --dry-run                   only say which would go, and why others stay
  coven trees prune --force brisk-otter/build.2 this one, whatever is in it

--force takes the whole name, so that nothing is meant by accident. What is in the tree is kept in a
checkpoint (`coven trees restore`), and a branch with commits that are nowhere else stays.

Files that git ignores are kept as well, up to 2000 files and 64 MiB; a tree with more stays unless
--force says otherwise. Build output is never kept: node_modules, target, __pycache__, .venv and
other folders of tools, and each that has a CACHEDIR.TAG. What goes without being kept is named, also
with --dry-run.")]
pub(super) struct Arguments {
    /// Only the trees of this session.
    #[arg(value_name = "NAME", add = crate::complete::sessions())]
    session: Option<String>,
    /// Remove this tree, also if it is not landed.
    #[arg(long, value_name = "NAME/TASK", conflicts_with = "session")]
    force: Option<SessionTarget>,
    /// Only say what would go.
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let mut prune = PruneTrees { dry_run: arguments.dry_run, ..PruneTrees::default() };
        if let Some(session) = &arguments.session {
            prune.workflow = Some(find::own_workflow(&client, session).await?.item.id.to_string());
        }
        if let Some(target) = arguments.force {
            let (workflow, tree) = find::tree(&client, &target).await?;
            let whole = format!("{}/{tree}", workflow.item.name);
            if target.session != workflow.item.name || target.task.as_deref() != Some(&tree) {
                return Err(CommandFailure::usage("--force takes the whole name of a tree")
                    .hint(format!("coven trees prune --force {whole}")));
            }
            prune.workflow = Some(workflow.item.id.to_string());
            prune.force = Some(tree);
        }
        let pruned = client.prune_trees(&prune).await?;
        let refused = prune.force.is_some() && pruned.removed.is_empty();
        if arguments.json {
            output::as_json(&pruned)?;
        } else {
            tell(&pruned, arguments.dry_run)?;
        }
        if refused { Err(CommandFailure::told()) } else { Ok(()) }
    })
}

fn tell(pruned: &PrunedTrees, dry_run: bool) -> Result {
    let name = |tree: &PrunedTree| format!("{}/{}", tree.workflow_name, tree.tree);
    for tree in &pruned.removed {
        let what = if dry_run { "would be removed" } else { "is removed" };
        output::line(&format!("{} {what}", name(tree)))?;
        for note in &tree.notes {
            output::say!("  {}", output::one_line(note));
        }
    }
    for tree in &pruned.kept {
        let why = tree.why.as_deref().map(output::one_line).unwrap_or_default();
        output::say!("{} stays: {why}", name(tree));
    }
    if pruned.removed.is_empty() && pruned.kept.is_empty() {
        output::say!("There are no trees.");
    }
    Ok(())
}
