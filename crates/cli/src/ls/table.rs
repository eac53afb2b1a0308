//! Sessions as a table. It fits the terminal: what there is no room for is left out, the workflow and
//! the folder first.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use coven_api::workflow::WorkflowItem;
use coven_model::SessionId;
use coven_model::event::SessionCause;

use crate::output::PutText;
use crate::{folders, output, tree};

/// How a session is shown that was not made by this user in its folder.
const FOREIGN: &str = "foreign";

/// How a session is shown that cannot be opened.
const DAMAGED: &str = "damaged";

/// The widest columns for the workflow and for the folder.
const MAX_GRIMOIRE_COLUMNS: usize = 16;
const MAX_FOLDER_COLUMNS: usize = 24;

/// How much room there must be beside the first columns for the workflow, and for both.
const MIN_COLUMNS_FOR_GRIMOIRE: usize = 30;
const MIN_COLUMNS_FOR_FOLDER: usize = 40;

/// What a command of a session printed last.
pub(crate) type PrintedLines = BTreeMap<SessionId, String>;

/// How the event that started a session is told.
pub(crate) fn cause_words(cause: &SessionCause) -> String {
    let event = output::one_line(&cause.event);
    match &cause.name {
        Some(name) => format!("by {event} of {}", output::one_line(name)),
        None => format!("by the event {event}"),
    }
}

/// What holds a session up.
fn hindrances(item: &WorkflowItem) -> impl Iterator<Item = String> {
    let queued = (item.queued > 0).then(|| tree::queued_words(item.queued));
    let disk = item.waits_for_disk.as_deref().and_then(|problem| problem.split(':').next());
    let doing = item.doing.as_deref().map(output::one_line);
    [disk.map(str::to_owned), queued, doing, item.retrying.clone()].into_iter().flatten()
}

/// What holds a session up, and what it is for.
fn what(item: &WorkflowItem, printed: Option<&String>) -> String {
    let cause = item.cause.as_ref().map(|cause| format!("started {}", cause_words(cause)));
    let parts = hindrances(item).map(Some).chain([printed.cloned(), item.goal.clone(), cause]);
    let parts: Vec<String> = parts.flatten().collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(" | ") }
}

/// Where a session stands, in a word or two.
fn stands(item: &WorkflowItem) -> String {
    if item.foreign {
        // What its files say about it is only what they say.
        return FOREIGN.to_owned();
    }
    if item.problem.is_some() {
        return DAMAGED.to_owned();
    }
    let count = match (item.waiting, item.running) {
        (0, 0) => String::new(),
        (0, running) => format!(" ({running})"),
        (waiting, _) => format!(" ({waiting})"),
    };
    let kept = if item.kept { " kept" } else { "" };
    format!("{}{count}{kept}", item.status)
}

/// A folder in few columns: the end of its path, which tells it from others.
fn folder(path: &str, here: Option<&Path>, columns: usize) -> String {
    if here.is_some_and(|here| here == Path::new(path)) {
        return ".".to_owned();
    }
    let home = env::var("HOME").ok().filter(|home| !home.is_empty());
    let below = home.and_then(|home| Some(Path::new(path).strip_prefix(home).ok()?.to_owned()));
    let path = below.map_or_else(|| path.to_owned(), |below| format!("~/{}", below.display()));
    let path = output::one_line(&path);
    if output::width(&path) <= columns {
        return path;
    }
    let backwards: String = path.chars().rev().collect();
    output::shortened(&backwards, columns).chars().rev().collect()
}

/// Which columns there is room for, and how wide they may be.
struct TableLayout {
    grimoire: Option<usize>,
    folder: Option<usize>,
}

impl TableLayout {
    /// `used` columns are taken by what is always shown, and `urgent` ones are needed behind them.
    fn new(columns: usize, used: usize, urgent: usize, folders: bool) -> Self {
        let rest = columns.saturating_sub(used);
        let wide = |room: usize, most: usize| {
            let columns = most.min(rest / 3);
            (rest >= room && rest >= urgent + columns + 2).then_some(columns)
        };
        let folder = wide(MIN_COLUMNS_FOR_FOLDER, MAX_FOLDER_COLUMNS).filter(|_| folders);
        Self { grimoire: wide(MIN_COLUMNS_FOR_GRIMOIRE, MAX_GRIMOIRE_COLUMNS), folder }
    }
}

/// Sessions as a table.
pub(crate) fn table(items: &[WorkflowItem], printed: &PrintedLines) -> String {
    let here = folders::base_dir(None).ok();
    let rows = rows(items, printed, here.as_deref(), output::columns());
    painted(&output::table(&rows, output::columns()), items)
}

fn rows(
    items: &[WorkflowItem],
    printed: &PrintedLines,
    here: Option<&Path>,
    columns: usize,
) -> Vec<Vec<String>> {
    let now = output::now();
    let first: Vec<[String; 3]> = items
        .iter()
        .map(|item| [item.name.clone(), stands(item), output::ago(item.created_at, now)])
        .chain([["NAME", "STATUS", "AGE"].map(str::to_owned)])
        .collect();
    let widest = |at: usize| first.iter().map(|row| output::width(&row[at]) + 2).max();
    let used = (0..3).filter_map(widest).sum();
    let is_elsewhere =
        |item: &WorkflowItem| here.is_none_or(|here| here != Path::new(&item.base_dir));
    let urgent = |item: &WorkflowItem| {
        output::width(&output::one_line(&hindrances(item).collect::<Vec<_>>().join(" | ")))
    };
    let urgent = items.iter().map(urgent).max().unwrap_or(0);
    let layout = TableLayout::new(columns, used, urgent, items.iter().any(is_elsewhere));
    let mut head = ["NAME", "STATUS", "AGE"].map(str::to_owned).to_vec();
    head.extend(layout.grimoire.map(|_| "GRIMOIRE".to_owned()));
    head.extend(layout.folder.map(|_| "FOLDER".to_owned()));
    head.push("WHAT".to_owned());
    let mut rows = vec![head];
    for (item, first) in items.iter().zip(first) {
        let mut row = first.to_vec();
        row.extend(layout.grimoire.map(|columns| {
            let name = item.grimoire.as_deref().map_or("-".to_owned(), output::one_line);
            output::shortened(&name, columns)
        }));
        row.extend(layout.folder.map(|columns| folder(&item.base_dir, here, columns)));
        row.push(output::one_line(&what(item, printed.get(&item.id))));
        rows.push(row);
    }
    rows
}

/// The table in colour. Painted last, because colours have no width.
fn painted(table: &str, items: &[WorkflowItem]) -> String {
    let paint = output::paint();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_by_the_end_of_its_path() {
        assert_eq!(folder("/work/app", Some(Path::new("/work/app")), 20), ".");
        assert_eq!(folder("/work/app", None, 20), "/work/app");
        assert_eq!(folder("/srv/projects/app", None, 8), "…cts/app");
    }

    #[test]
    fn a_narrow_terminal_gets_the_first_columns_alone() {
        let narrow = TableLayout::new(50, 33, 0, true);
        assert!(narrow.grimoire.is_none() && narrow.folder.is_none());
        let usual = TableLayout::new(80, 33, 0, true);
        assert_eq!((usual.grimoire, usual.folder), (Some(15), Some(15)));
        assert_eq!(TableLayout::new(80, 33, 0, false).folder, None);
        assert_eq!(
            TableLayout::new(80, 33, 40, true).grimoire,
            None,
            "what holds a run up comes first"
        );
    }
}
