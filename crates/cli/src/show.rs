//! `coven show`: one session, or one task of it.

use coven_api::ApiClient;
use coven_api::task::{AttemptQuery, TaskScreen, TranscriptQuery};
use coven_api::workflow::{TaskItem, WorkflowDetails, WorkflowItem};
use coven_model::view::HistoryKind;
use coven_model::{TaskStatus, TranscriptEntry};
use serde_json::{Value, json};

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget, TaskFilter};
use crate::large_value::LargeValue;
use crate::output::PutText;
use crate::run::{self, FollowMode, OnBlock, RunFollower};
use crate::transcript::TranscriptText;
use crate::{last_line, ls, output, question, transcript, tree};

/// How wide the names before values are.
const NAME_COLUMNS: usize = 9;

/// How much of a large value is shown at least, however narrow the terminal is.
const MIN_VALUE_COLUMNS: usize = 20;

/// The variable that holds all inputs.
const INPUT_VARIABLE: &str = "input";

/// How much of the history is shown.
const MAX_SHOWN_HISTORY: usize = 12;

/// How much is shown of what an agent without a terminal said and did.
const MAX_TRANSCRIPT_LINES: usize = 40;

/// How many of the last entries of it are asked for.
const MAX_ENTRIES: u64 = 1000;

/// What `coven show` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven show                       the newest session of this folder
  coven show brisk-otter           its steps, what waits, its outputs
  coven show brisk-otter --follow  the same, live; answers in place
  coven show brisk-otter/build.3   one task: what it does and what its screen shows
  coven show brisk-otter --json | jq .session.variables")]
pub(crate) struct Arguments {
    /// The session, or a task of it; the newest of this folder unless said.
    #[arg(value_name = "NAME[/TASK]", default_value = find::NEWEST, add = crate::complete::sessions())]
    target: SessionTarget,
    /// Follow it until it is over.
    #[arg(short, long)]
    follow: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let workflow = find::workflow(&client, &arguments.target.session).await?;
        if let Some(task) = &arguments.target.task {
            let task = find::choose(&workflow, Some(task), TaskFilter::Started)?;
            return one_task(&client, &workflow, task, arguments.json).await;
        }
        if arguments.follow && !workflow.item.foreign && !workflow.item.status.is_final() {
            let how = if arguments.json {
                FollowMode::Json(OnBlock::Wait)
            } else {
                FollowMode::usual(OnBlock::Wait)
            };
            let item = workflow.item;
            if let Some(problem) = &item.waits_for_disk {
                output::say!("{} {}", item.name, output::one_line(problem));
            }
            return RunFollower::new(client, item.id, item.name, how).run().await;
        }
        if arguments.json {
            return output::as_json(&workflow);
        }
        let mut workflow = workflow;
        last_line::put(&client, &mut workflow).await;
        let original = find::original(&client, &workflow.item).await;
        session(&workflow, original.as_ref())
    })
}

fn session(workflow: &WorkflowDetails, original: Option<&WorkflowItem>) -> Result {
    let (item, session, paint) = (&workflow.item, &workflow.session, output::paint());
    run::show_tree(workflow)?;
    let mut text = String::from("\n");
    let room = output::columns().saturating_sub(NAME_COLUMNS + 1);
    let mut say = |name: &str, value: &str| {
        text.put(format!("{} {value}\n", paint.dim(&format!("{name:<NAME_COLUMNS$}"))));
    };
    if let Some(cause) = &item.cause {
        say("started", &ls::cause_words(cause));
    }
    if let Some(goal) = &item.goal {
        say("goal", &output::one_line(goal));
    }
    say("id", item.id.as_str());
    say("folder", &output::one_line(&item.base_dir));
    if let Some(why) = &session.no_trees {
        say("trees", &format!("none: {}", output::one_line(why)));
    }
    say("files", &format!("{}/.coven/sessions/{}", output::one_line(&item.base_dir), item.id));
    say(
        "made",
        &format!(
            "{} ({} ago)",
            output::moment(item.created_at),
            output::ago(item.created_at, output::now())
        ),
    );
    for error in &session.errors {
        say("error", &paint.red(&format!("{}: {}", error.step, output::one_line(&error.error))));
    }
    let inputs = session.variables.get(INPUT_VARIABLE);
    if let Some(large) = inputs.and_then(LargeValue::of) {
        say("input", &with_rest(&output::one_line(&large.beginning), &large.size(), room));
    } else {
        for (name, value) in inputs.and_then(Value::as_object).into_iter().flatten() {
            say("input", &variable(name, value, room));
        }
    }
    for (name, value) in session.variables.iter().filter(|(name, _)| *name != INPUT_VARIABLE) {
        match LargeValue::of(value) {
            Some(large) => {
                let text = format!("{name} = {}", large.beginning);
                let rest = large.rest(&item.name, name);
                say("output", &with_rest(&output::one_line(&text), &rest, room));
            }
            None => say("output", &variable(name, value, room)),
        }
    }
    let is_cut = |task: &&TaskItem| task.status == TaskStatus::Done && !task.note.is_empty();
    for TaskItem { id, note, lost, .. } in workflow.tasks.iter().filter(is_cut) {
        let (note, name) = (output::one_line(note), &item.name);
        let rest =
            if *lost > 0 { String::new() } else { format!("; coven logs {name}/{id} has them") };
        say("note", &paint.yellow(&format!("{id}: {note}{rest}")));
    }
    if let Some(shared) = &item.sharing {
        say("note", &paint.yellow(&ls::sharing_words(shared)));
    }
    if let Some(original) = original {
        let folder = output::one_line(&original.base_dir);
        say(
            "note",
            &format!("it is a copy, and can only be read: the session belongs to {folder}"),
        );
    } else if item.foreign {
        say("note", "it is foreign: it was not made by you in this folder, and can only be read");
    } else if let Some(problem) = &item.waits_for_disk {
        say("note", &paint.yellow(&format!("it {}", output::one_line(problem))));
    } else if !item.status.is_final() && !workflow.live {
        say("note", &format!("the daemon does not run it: coven resume {}", item.name));
    }
    text.push_str(&waiting(workflow));
    text.push_str(&history(workflow));
    output::write(&text)
}

/// A text that is cut so that what is said of the rest of it has room.
fn with_rest(text: &str, rest: &str, room: usize) -> String {
    let room = room.saturating_sub(output::width(rest)).max(MIN_VALUE_COLUMNS);
    let text = output::shortened(text, room);
    format!("{}{rest}", text.trim_end_matches('…'))
}

fn variable(name: &str, value: &Value, room: usize) -> String {
    let value = match value {
        Value::String(text) => output::one_line(text),
        value => output::one_line(&value.to_string()),
    };
    output::shortened(&format!("{} = {value}", output::one_line(name)), room)
}

fn waiting(workflow: &WorkflowDetails) -> String {
    let paint = output::paint();
    let alone = workflow.interventions.len() == 1;
    let mut text = String::new();
    for asked in &workflow.interventions {
        let name = question::name(&workflow.item.name, asked, alone);
        text.put(format!("\n{}\n", paint.yellow(&format!("? {}", question::asked(asked)))));
        for line in question::excerpt(asked) {
            for part in output::folded(&line, output::columns().saturating_sub(4)) {
                text.put(format!("  {} {part}\n", paint.dim("│")));
            }
        }
        for command in question::commands(&name, asked) {
            text.put(format!("  {command}\n"));
        }
    }
    text
}

/// The newest of what was said and done.
fn history(workflow: &WorkflowDetails) -> String {
    let all = &workflow.session.history;
    if all.is_empty() {
        return String::new();
    }
    let mut text = "\n".to_owned();
    for entry in &all[all.len().saturating_sub(MAX_SHOWN_HISTORY)..] {
        let mark = match entry.what {
            HistoryKind::Prompt | HistoryKind::Input => ">",
            HistoryKind::Output => "<",
            HistoryKind::Question => "?",
            HistoryKind::Decision => "=",
            HistoryKind::Progress => "·",
        };
        let who = entry.task.as_ref().map_or("", |task| task.as_str());
        let line = format!(
            "{} {mark} {who:<14} {}",
            output::clock(entry.at),
            output::one_line(&entry.text)
        );
        text.push_str(&output::shortened(&line, output::columns()));
        text.push('\n');
    }
    text
}

/// What an agent without a terminal said and did; nothing for all others.
async fn said(client: &ApiClient, id: &str, task: &TaskItem) -> Option<Vec<TranscriptEntry>> {
    if !transcript::is_expected(task) || task.attempt == 0 {
        return None;
    }
    let query = TranscriptQuery { tail: Some(MAX_ENTRIES), ..TranscriptQuery::default() };
    let told = client.transcript(id, task.id.as_str(), &query).await.ok()?;
    (!told.entries.is_empty()).then_some(told.entries)
}

/// The last of what was said and done.
fn transcript_lines(entries: &[TranscriptEntry]) -> Vec<String> {
    let text = TranscriptText::new(output::paint()).of(entries);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let first = lines.len().saturating_sub(MAX_TRANSCRIPT_LINES);
    if first == 0 {
        return lines;
    }
    let more = format!("… {first} lines before these: coven logs");
    [more].into_iter().chain(lines[first..].iter().cloned()).collect()
}

/// What the screen shows, without the empty lines at its end.
fn screen_lines(screen: &TaskScreen) -> Vec<String> {
    let mut lines: Vec<String> = screen.lines.iter().map(|line| output::clean(line)).collect();
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    lines.truncate(end);
    lines
}

async fn one_task(
    client: &ApiClient,
    workflow: &WorkflowDetails,
    task: &TaskItem,
    as_json: bool,
) -> Result {
    let (id, name) = (workflow.item.address(), task.id.as_str());
    let id = id.as_str();
    let screen = match client.screen(id, name, AttemptQuery::default()).await {
        Ok(screen) => Some(screen),
        Err(_) if task.attempt == 0 || task.queued => None,
        Err(error) => return Err(error.into()),
    };
    let entries = said(client, id, task).await;
    if as_json {
        return output::json(&json!({"task": task, "screen": screen, "transcript": entries}));
    }
    let paint = output::paint();
    let doing = tree::task_words(task);
    let mut text = format!(
        "{}  {}  {doing}\n",
        paint.bold(&format!("{}/{name}", workflow.item.name)),
        task.adapter
    );
    let mut say = |what: &str, value: String| {
        text.put(format!("{} {value}\n", paint.dim(&format!("{what:<9}"))));
    };
    say("step", task.step.clone());
    say("attempt", task.attempt.to_string());
    say("mode", task.mode.to_string());
    if let Some(tree) = &task.tree {
        let full = format!("{}/{name}", workflow.item.name);
        let whose = if tree == name { "its own".to_owned() } else { format!("that of {tree}") };
        say("tree", format!("{whose}: coven diff {full}"));
    }
    if let Some(began) = task.started_at {
        // The end of a run cuts off what it does not keep.
        let over = workflow.session.ended_at.filter(|_| !task.live);
        let ended = task.ended_at.or(over).unwrap_or_else(output::now);
        say("time", format!("{}, {}", output::moment(began), output::age(ended.since(began))));
    }
    if !task.note.is_empty() {
        say("note", output::one_line(&task.note));
    }
    // What such an agent prints is for programs; what it said and did is for people.
    let lines = entries.map(|entries| transcript_lines(&entries));
    let lines = lines.or_else(|| screen.as_ref().map(screen_lines)).unwrap_or_default();
    for (place, line) in lines.iter().enumerate() {
        let gap = if place == 0 { "\n" } else { "" };
        text.put(format!("{gap}{} {}\n", paint.dim("│"), line.trim_end()));
    }
    text.push('\n');
    let full = format!("{}/{name}", workflow.item.name);
    let next = if task.live && task.mode == coven_model::AgentMode::Interactive {
        format!("coven attach {full}   coven send {full} \"TEXT\"   coven explain {full}\n")
    } else {
        format!("coven logs {full}   coven play {full}\n")
    };
    text.push_str(&next);
    output::write(&text).map_err(|_| CommandFailure::told())
}
