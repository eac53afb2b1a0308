//! `coven ls`: the sessions there are.

mod sharing;
mod table;

use std::path::{Path, PathBuf};

use coven_api::ApiClient;
use coven_api::workflow::{ListQuery, WorkflowItem};

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::{folders, last_line, output};

pub(crate) use sharing::{note as note_sharing, words as sharing_words};
pub(crate) use table::{PrintedLines, cause_words, table};

/// How many are shown unless said.
const DEFAULT_LIMIT: u32 = 20;

/// The largest page the daemon gives.
const MAX_PAGE_ITEMS: u32 = 1000;

/// How many sessions are asked what they print; each takes a few requests.
const MAX_ASKED_SESSIONS: usize = 8;

/// What `coven ls` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven ls                           the newest twenty
  coven ls --status running,blocked  what is not over
  coven ls --search login --all      everything with `login` in its name or goal
  coven ls -C .                      only those of this folder
  coven ls --json | jq -r '.workflows[].name'

A run that an event started says which, and of which session. The folder is shown where not all
are of this one. The newest 50 of a folder that are over stay: coven rm --help.")]
pub(crate) struct Arguments {
    /// Only these statuses, with commas: pending, running, blocked, completed, failed, cancelled,
    /// foreign.
    #[arg(short, long, value_name = "STATUS")]
    status: Option<String>,
    /// Only with this in their name, goal or id.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only of this folder.
    #[arg(short = 'C', long, value_name = "FOLDER")]
    base_dir: Option<PathBuf>,
    /// How many at most.
    #[arg(short = 'n', long, value_name = "N", default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// List all sessions, not only the newest.
    #[arg(short, long, conflicts_with = "limit")]
    all: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let base_dir = match &arguments.base_dir {
            Some(path) => Some(folders::base_dir(Some(path))?.display().to_string()),
            None => None,
        };
        let client = connect::daemon().await?;
        let wanted = if arguments.all { u32::MAX } else { arguments.limit };
        let mut query = ListQuery {
            status: arguments.status.clone(),
            base_dir,
            search: arguments.search.clone(),
            ..ListQuery::default()
        };
        let mut found: Vec<WorkflowItem> = Vec::new();
        let total = loop {
            query.limit = Some((wanted - found.len() as u32).min(MAX_PAGE_ITEMS));
            let page = client.workflows(&query).await?;
            found.extend(page.workflows);
            query.after = page.next;
            if query.after.is_none() || found.len() as u32 >= wanted {
                break page.total;
            }
        };
        if arguments.json {
            return output::json(&serde_json::json!({"workflows": found, "total": total}));
        }
        let printed = printed(&client, &found).await;
        show(&found, &printed, total, arguments)
    })
}

/// The last line that a command of each session printed which runs now.
async fn printed(client: &ApiClient, found: &[WorkflowItem]) -> PrintedLines {
    let mut printed = PrintedLines::new();
    let runs = |item: &&WorkflowItem| item.running > 0 && !item.foreign;
    for item in found.iter().filter(runs).take(MAX_ASKED_SESSIONS) {
        let Ok(workflow) = client.workflow(item.id.as_str()).await else { continue };
        let lines = last_line::of(client, &workflow).await;
        if let Some((task, line)) = lines.into_iter().next_back() {
            printed.insert(item.id.clone(), format!("{task}: {line}"));
        }
    }
    printed
}

fn show(
    found: &[WorkflowItem],
    printed: &PrintedLines,
    total: u64,
    arguments: &Arguments,
) -> Result {
    if found.is_empty() {
        let narrowed = arguments.status.is_some()
            || arguments.search.is_some()
            || arguments.base_dir.is_some();
        output::say!(
            "{}",
            if narrowed {
                "No session is like that. All of them: coven ls --all"
            } else {
                "There are no sessions yet. Try: coven run demo"
            }
        );
        if !narrowed && brings_sessions() {
            output::say!("This folder has sessions that you did not make: coven ls -C .");
        }
        return Ok(());
    }
    output::write(&table(found, printed))?;
    if found.iter().any(|item| item.foreign) {
        output::say!(
            "Foreign sessions were not made by you in their folder, such as those of a copied \
             folder; they can be read and are never run."
        );
        let here = folders::base_dir(None).ok();
        let is_here = |folder: &Path| folders::base_dir(Some(folder)).ok() == here;
        if let Some(folder) = arguments.base_dir.as_deref().filter(|folder| !is_here(folder)) {
            let folder = output::one_line(&folder.display().to_string());
            output::say!("To read them by their names: coven open {folder}");
        }
    }
    for item in found {
        if let Some(problem) = &item.problem {
            output::say!("{}: {}", item.name, output::one_line(problem));
        }
        if let Some(problem) = &item.waits_for_disk {
            output::say!("{} {}", item.name, output::one_line(problem));
        }
    }
    sharing::note(found);
    let more = total - found.len() as u64;
    if more > 0 {
        output::say!("{more} more: coven ls --all, or -n {}", found.len() * 5);
    }
    Ok(())
}

/// Whether there are session folders here, though the daemon knows of none.
fn brings_sessions() -> bool {
    let base = folders::base_dir(None).ok();
    let sessions = base.map(|base| base.join(".coven/sessions"));
    let entries = sessions.and_then(|sessions| std::fs::read_dir(sessions).ok());
    entries.is_some_and(|entries| {
        entries.flatten().any(|entry| entry.path().join("journal.jsonl").exists())
    })
}
