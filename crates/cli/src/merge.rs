//! `coven merge`: brings what was done in a tree onto a branch.

use coven_api::tree::{MergeAnswer, MergeMode, MergeOutcome, MergeRequest};

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::output;

/// How many files a message names.
const MAX_NAMED_FILES: usize = 10;

/// How many characters of a commit are shown.
const SHORT_COMMIT: usize = 10;

/// What `coven merge` takes.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven merge brisk-otter                  the tree of the run, onto the branch it was started from
  coven merge brisk-otter/build.2 --squash one commit
  coven merge brisk-otter --into next      onto another branch
  coven merge brisk-otter --dry-run        only say what would happen

Of a session with one task, NAME alone is that task's tree until it is landed and removed; the run
lands it on its own branch first, so while it is under way a merge waits for that, also with
--dry-run. What is not committed in the tree is committed first. A conflict is found before anything
is touched, and so is any change to tracked files in a checkout of the branch. It may be done again:
then only what is new is landed. Exit code 1 says that nothing was landed, also with --dry-run.")]
pub(crate) struct Arguments {
    /// The session, or the task whose tree it is.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::sessions())]
    target: SessionTarget,
    /// The branch; the one that the session was started from unless said.
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// With a merge commit, where one is needed; this is the usual.
    #[arg(long, group = "how")]
    merge: bool,
    /// As one commit.
    #[arg(long, group = "how")]
    squash: bool,
    /// Each commit again, on top of the branch.
    #[arg(long, group = "how")]
    rebase: bool,
    /// The message of the commit of a merge or a squash.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "rebase")]
    message: Option<String>,
    /// Only say what would happen.
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> Result {
    let mode = match (arguments.squash, arguments.rebase) {
        (true, _) => MergeMode::Squash,
        (_, true) => MergeMode::Rebase,
        _ => MergeMode::Merge,
    };
    block_on(async {
        let client = connect::daemon().await?;
        let (workflow, tree) = find::tree(&client, &arguments.target).await?;
        let name = &workflow.item.name;
        let request = MergeRequest {
            task: Some(tree),
            into: arguments.into,
            mode,
            message: arguments.message,
            dry_run: arguments.dry_run,
        };
        let merged = client.merge(workflow.item.id.as_str(), &request).await;
        let merged = merged.map_err(|error| {
            CommandFailure::from(error).may_be_done(&format!("coven trees {name}"))
        })?;
        if arguments.json {
            output::as_json(&merged)?;
            return if landed(&merged) { Ok(()) } else { Err(CommandFailure::told()) };
        }
        tell(name, &merged)
    })
}

/// Whether everything that was to be landed is, or could be.
fn landed(merged: &MergeAnswer) -> bool {
    match merged.outcome {
        MergeOutcome::Landed | MergeOutcome::WouldLand | MergeOutcome::Nothing => true,
        MergeOutcome::Conflict | MergeOutcome::DirtyCheckout => false,
    }
}

fn tell(name: &str, merged: &MergeAnswer) -> Result {
    let MergeAnswer { branch, into, tree, .. } = merged;
    let full = format!("{name}/{tree}");
    let files = named(&merged.paths);
    note_unlanded(name, merged);
    match merged.outcome {
        MergeOutcome::Landed => {
            let commit = merged.commit.as_deref().unwrap_or_default();
            let commit = commit.get(..SHORT_COMMIT).unwrap_or(commit);
            output::line(&format!("{branch} is on {into}: {} ({commit})", counted(merged)))
        }
        MergeOutcome::WouldLand => {
            output::line(&format!("{branch} would be on {into}: {}", counted(merged)))?;
            for path in &merged.paths {
                output::line(&format!("  {}", output::one_line(path)))?;
            }
            note_uncommitted(merged);
            Ok(())
        }
        MergeOutcome::Nothing => {
            output::line(&format!("{into} has everything of {branch} already"))?;
            note_uncommitted(merged);
            Ok(())
        }
        MergeOutcome::Conflict => {
            for message in &merged.messages {
                output::say!("{}", output::one_line(message));
            }
            let message = format!("{branch} and {into} both changed {files}; nothing was touched");
            Err(CommandFailure::failed(message).hint(format!(
                "look: coven diff {full} --against target; let its agent merge {into} into its \
                 branch and resolve it: coven review send {full} --summary \"merge {into}\""
            )))
        }
        MergeOutcome::DirtyCheckout => {
            let folder = merged.checkout.as_deref().unwrap_or("a checkout");
            let changed = merged.changed.unwrap_or_default();
            let way = if merged.paths.is_empty() {
                format!("{changed} changed {}", if changed == 1 { "file" } else { "files" })
            } else {
                format!("changes to {files}, which would be written")
            };
            let message =
                format!("{into} is checked out in {folder} with {way}; nothing was touched");
            Err(CommandFailure::failed(message).hint(format!(
                "commit or stash them there, or use another branch: coven merge {full} --into \
                 BRANCH, coven pr {full}"
            )))
        }
    }
}

/// Who merges the tree of the run may take it for all that the run did.
fn note_unlanded(name: &str, merged: &MergeAnswer) {
    if let Some(first) = merged.unlanded.first() {
        output::say!(
            "Not on {}, and so not counted: what was done in the trees of {}. `coven merge \
             {name}/{first}` lands one of them.",
            merged.branch,
            named(&merged.unlanded)
        );
    }
}

fn note_uncommitted(merged: &MergeAnswer) {
    if !merged.uncommitted.is_empty() {
        output::say!(
            "Not committed in the tree yet, and not counted: {}. A merge commits it first.",
            named(&merged.uncommitted)
        );
    }
}

fn counted(merged: &MergeAnswer) -> String {
    let (commits, files) = (merged.commits, merged.paths.len());
    let commits = if commits == 1 { "1 commit".to_owned() } else { format!("{commits} commits") };
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    format!("{commits}, {files}")
}

/// The first of some files.
fn named(paths: &[String]) -> String {
    let first: Vec<String> =
        paths.iter().take(MAX_NAMED_FILES).map(|path| output::one_line(path)).collect();
    let more = paths.len().saturating_sub(MAX_NAMED_FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}
