//! `coven diff`: what changed in a tree.

mod pager;
mod patch;
mod stat;

use std::io::IsTerminal;

use coven_api::changes::{AgentCommentsQuery, ChangesQuery, TreeChanges};
use serde_json::json;

use crate::agent_comments;
use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::find::{self, SessionTarget};
use crate::output;

/// What `coven diff` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven diff brisk-otter                     the tree of the run, against what it was made from
  coven diff brisk-otter/build.2             that of one task
  coven diff brisk-otter/@run                that of the run, also where there is one task
  coven diff brisk-otter/build.2 --stat      only which files, and how many lines
  coven diff brisk-otter --against target    against the branch it is to be brought onto
  coven diff brisk-otter --against checkpoint:3
  coven diff brisk-otter | git apply --stat  to another program exactly as git writes it

Of a session with one task, NAME alone is that task's tree until it is landed and removed.
New files are in it, ignored ones are not. On a terminal it goes through $PAGER, with everything
made visible that would act on the terminal or turn the direction of text. Below it, and
below the list of --stat, stand the comments of agents that review (`expect: comments`).")]
pub(crate) struct Arguments {
    /// The session, or the task whose tree is meant; `@run` is the tree of the run.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::sessions())]
    target: SessionTarget,
    /// What it is compared with: base, target or checkpoint:N; base unless said.
    #[arg(long, value_name = "WHAT", value_parser = against)]
    against: Option<String>,
    /// Only list the files, with how many lines were added and removed.
    #[arg(long)]
    stat: bool,
    /// Print the lines, which is the usual.
    #[arg(short, long, conflicts_with = "stat")]
    patch: bool,
    /// Print the list of files as JSON.
    #[arg(long, conflicts_with = "patch")]
    json: bool,
}

/// What something may be compared with.
pub(crate) fn against(text: &str) -> std::result::Result<String, String> {
    let number = text.strip_prefix("checkpoint:");
    let fits = matches!(text, "base" | "target")
        || number.is_some_and(|number| {
            (1..=9).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
        });
    if fits {
        Ok(text.to_owned())
    } else {
        Err("there are base, target and checkpoint:N".to_owned())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let (workflow, tree) = find::tree(&client, &arguments.target).await?;
        let id = &workflow.item.address();
        let query = ChangesQuery { against: arguments.against.clone() };
        if arguments.json || arguments.stat {
            let changes = client.changes(id, &tree, &query).await?;
            let comments = client.agent_comments(id, &tree, &AgentCommentsQuery::default()).await?;
            if arguments.json {
                let mut answer = json!(changes);
                answer["agentComments"] = json!(comments.comments);
                answer["agentSummaries"] = json!(comments.summaries);
                return output::json(&answer);
            }
            note(&workflow.item.name, &changes);
            let (files, comments) = (stat::table(&changes), agent_comments::list(&comments));
            return output::write(&format!("{files}{comments}"));
        }
        let patch = client.patch(id, &tree, &query).await?;
        note_left_out(&patch);
        if !std::io::stdout().is_terminal() {
            return output::bytes(&patch);
        }
        if patch.is_empty() {
            let changes = client.changes(id, &tree, &query).await?;
            note(&workflow.item.name, &changes);
            return Ok(());
        }
        let comments = client.agent_comments(id, &tree, &AgentCommentsQuery::default()).await?;
        let (patch, comments) =
            (patch::painted(&patch, output::paint()), agent_comments::list(&comments));
        pager::show(&format!("{patch}{comments}")).await
    })
}

/// Says on stderr that a patch is not the whole: who applies it would not see that.
fn note_left_out(patch: &[u8]) {
    let comments = patch.split(|byte| *byte == b'\n').take_while(|line| line.starts_with(b"# "));
    let words: Vec<String> =
        comments.map(|line| output::one_line(&String::from_utf8_lossy(&line[2..]))).collect();
    if let Some((about, files)) = words.split_first() {
        output::say!("{about}");
        for file in files {
            output::say!("  {file}");
        }
    }
}

/// Says on stderr what the list itself does not.
fn note(name: &str, changes: &TreeChanges) {
    let (tree, against) = (&changes.tree, &changes.against);
    if changes.files.is_empty() {
        output::say!("Nothing changed in {name}/{tree} against {against}.");
    }
    if !changes.present {
        output::say!("The tree is not there any more; this is what its last checkpoint holds.");
    }
}
