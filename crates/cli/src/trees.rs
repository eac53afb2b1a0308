//! `coven trees`: the worktrees that agents work in.

mod prune;
mod restore;

use coven_api::tree::{TreeItem, TreeLanding, TreeState, TreesQuery};
use coven_model::TreeWork;

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::output::PutText;
use crate::{find, output};

/// What `coven trees` takes.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  coven trees                         all trees there are
  coven trees brisk-otter --size      those of one session, with how much room they take
  coven trees prune                   remove those that are landed or empty
  coven trees restore brisk-otter/build.2    bring back what its last checkpoint holds

A tree is removed only when it is landed or empty and no process works in it; what was in it is kept
in a checkpoint, but for build output (`coven trees prune --help`). Why one stays stands behind it."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only those of this session.
    #[arg(value_name = "NAME", add = crate::complete::sessions())]
    session: Option<String>,
    /// Count the bytes of their files.
    #[arg(long)]
    size: bool,
    /// List those too that were removed.
    #[arg(short, long)]
    all: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Remove the trees that are landed or empty.
    Prune(prune::Arguments),
    /// Bring back what a checkpoint holds, as a new tree.
    Restore(restore::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> Result {
    match arguments.command {
        Some(Command::Prune(prune)) => prune::run(prune),
        Some(Command::Restore(restore)) => restore::run(&restore),
        None => block_on(list(&arguments)),
    }
}

async fn list(arguments: &Arguments) -> Result {
    let client = connect::daemon().await?;
    let id = match &arguments.session {
        Some(session) => Some(find::workflow(&client, session).await?.item.address()),
        None => None,
    };
    let query =
        TreesQuery { size: arguments.size.then_some(true), removed: arguments.all.then_some(true) };
    let list = client.trees(id.as_deref(), &query).await?;
    if arguments.json {
        return output::as_json(&list);
    }
    if list.trees.is_empty() {
        output::say!("There are no trees. `coven new -t` and `coven run --tree` make them.");
        return Ok(());
    }
    output::write(&table(&list.trees))
}

/// Trees as a table, with their folders and why they stay below each.
fn table(trees: &[TreeItem]) -> String {
    let paint = output::paint();
    let with_size = trees.iter().any(|tree| tree.size.is_some());
    let mut head = ["TREE", "STATE", "FILES"].map(str::to_owned).to_vec();
    head.extend(with_size.then(|| "SIZE".to_owned()));
    head.push("BRANCH".to_owned());
    let mut rows = vec![head];
    for tree in trees {
        let mut row = vec![
            format!("{}/{}", tree.workflow_name, tree.tree),
            stands(tree),
            tree.changed.to_string(),
        ];
        row.extend(with_size.then(|| tree.size.map_or("-".to_owned(), in_units)));
        row.push(output::one_line(&tree.branch));
        rows.push(row);
    }
    let table = output::table(&rows, usize::MAX);
    let mut lines = table.lines();
    let mut text = lines.next().map(|head| paint.bold(head) + "\n").unwrap_or_default();
    for (line, tree) in lines.zip(trees) {
        text.put(format!("{line}\n"));
        let mut below =
            |what: &str| text.put(format!("  {}\n", paint.dim(&output::one_line(what))));
        if tree.state != TreeState::Removed {
            below(&tree.path);
        }
        if let TreeLanding::Conflict { onto, paths } = &tree.landing {
            below(&format!("it and {onto} both changed {}", paths.join(", ")));
        }
        if let Some(why) = tree.kept.as_ref().filter(|_| tree.state != TreeState::Removed) {
            below(&format!("it stays: {why}"));
        }
        if let Some(problem) = &tree.problem {
            below(&format!("it could not be {}: {}", problem.work.as_participle(), problem.error));
        }
    }
    text
}

/// Where a tree stands, in a word or two.
fn stands(tree: &TreeItem) -> String {
    let is_failed = || tree.problem.as_ref().is_some_and(|problem| problem.work == TreeWork::Make);
    let state = match tree.state {
        TreeState::Wanted if is_failed() => return "not made".to_owned(),
        TreeState::Wanted => return "being made".to_owned(),
        TreeState::Gone => return "gone".to_owned(),
        TreeState::Removed => "removed",
        TreeState::Ready => "",
    };
    let landing = match &tree.landing {
        TreeLanding::Landed { newer: true, .. } => "landed, newer since",
        TreeLanding::Landed { .. } => "landed",
        TreeLanding::Conflict { .. } => "conflict",
        TreeLanding::Open if tree.state == TreeState::Removed => "",
        TreeLanding::Open => "open",
    };
    [state, landing].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A number of bytes in units that can be read.
fn in_units(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes >> shift > 0);
    match unit {
        Some((unit, shift)) => {
            let tenths = (bytes * 10) >> shift;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_units_that_can_be_read() {
        let told = [0, 1023, 1536, 20 << 20, (3 << 30) + (512 << 20)].map(in_units);
        assert_eq!(told, ["0 B", "1023 B", "1.5 KiB", "20.0 MiB", "3.5 GiB"]);
    }
}
