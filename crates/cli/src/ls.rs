//! `coven ls`: the sessions there are.

use std::path::PathBuf;

use coven_api::workflow::{ListQuery, WorkflowItem};

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::output::PutText;
use crate::{folders, output, tree};

/// How many are shown unless said.
const DEFAULT_LIMIT: u32 = 20;

/// The largest page the daemon gives.
const MAX_PAGE_ITEMS: u32 = 1000;

/// How a session is shown that was not made by this user in its folder.
const FOREIGN: &str = "foreign";

/// How a session is shown that cannot be opened.
const DAMAGED: &str = "damaged";

/// What `coven ls` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven ls                           the newest twenty
  coven ls --status running,blocked  what is not over
  coven ls --search login --all      everything with `login` in its name or goal
  coven ls --json | jq -r '.workflows[].name'")]
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
        show(&found, total, arguments)
    })
}

fn show(found: &[WorkflowItem], total: u64, arguments: &Arguments) -> Result {
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
    output::write(&table(found))?;
    if found.iter().any(|item| item.foreign) {
        output::say!(
            "Foreign sessions were not made by you in their folder; they can be read and are \
             never run."
        );
        if let Some(folder) = &arguments.base_dir {
            let folder = output::one_line(&folder.display().to_string());
            output::say!("To read them by their names: coven open {folder}");
        }
    }
    for item in found {
        if let Some(problem) = &item.problem {
            output::say!("{}: {}", item.name, output::one_line(problem));
        }
    }
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

/// What a session is for, and what holds it up.
fn what(item: &WorkflowItem) -> String {
    match (&item.goal, &item.retrying) {
        (goal, None) => goal.clone().unwrap_or_else(|| "-".to_owned()),
        (None, Some(retrying)) => retrying.clone(),
        (Some(goal), Some(retrying)) => format!("{retrying} | {goal}"),
    }
}

/// Sessions as a table.
pub(crate) fn table(items: &[WorkflowItem]) -> String {
    let (now, paint) = (output::now(), output::paint());
    let mut rows = vec![["NAME", "STATUS", "AGE", "WHAT"].map(str::to_owned).to_vec()];
    for item in items {
        let status = match (item.waiting, item.running) {
            (0, 0) => String::new(),
            (0, running) => format!(" ({running})"),
            (waiting, _) => format!(" ({waiting})"),
        };
        let kept = if item.kept { " kept" } else { "" };
        let stands = if item.foreign {
            // What its files say about it is only what they say.
            FOREIGN.to_owned()
        } else if item.problem.is_some() {
            DAMAGED.to_owned()
        } else {
            format!("{}{status}{kept}", item.status)
        };
        rows.push(vec![
            item.name.clone(),
            stands,
            output::ago(item.created_at, now),
            output::one_line(&what(item)),
        ]);
    }
    let table = output::table(&rows, output::columns());
    // Painted last, because colours have no width.
    let mut lines = table.lines();
    let mut text = lines.next().map(|head| paint.bold(head) + "\n").unwrap_or_default();
    for (line, item) in lines.zip(items) {
        if item.foreign {
            text.put(format!("{}\n", paint.dim(line)));
            continue;
        }
        if item.problem.is_some() {
            text.put(format!("{}\n", paint.red(line)));
            continue;
        }
        let plain = item.status.as_str();
        text.push_str(&line.replacen(
            plain,
            &tree::status(item.status, paint),
            usize::from(!item.name.contains(plain)),
        ));
        text.push('\n');
    }
    text
}
