//! A session as a tree of steps and tasks: what is done, what runs and for how long, what waits.

use std::collections::BTreeMap;

use coven_api::workflow::{TaskItem, WorkflowDetails};
use coven_model::{
    AgentState, AgentVerdict, PlanLane, PlanRow, TaskStatus, Timestamp, TokenUsage, WorkflowStatus,
};

use crate::output::{self, OutputPaint};

/// The most tasks of one step that are shown.
const MAX_TREE_TASKS: usize = 20;

/// Names longer than this are cut.
const MAX_NAME_COLUMNS: usize = 28;

/// How much a line matters when there is no room for all; the least goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LineWeight {
    Later,
    /// A task that is over.
    Detail,
    /// A step that is over.
    Over,
    /// Is happening, or went wrong.
    Now,
    Head,
}

#[derive(Clone, Debug)]
pub(crate) struct TreeLine {
    pub(crate) weight: LineWeight,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeStyle {
    pub(crate) now: Timestamp,
    pub(crate) paint: OutputPaint,
    pub(crate) columns: usize,
    /// Whether the tasks of steps that are over are shown too.
    pub(crate) whole: bool,
    /// When the run was over, if it is: nothing of it happens any more.
    pub(crate) over: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TreeStage {
    Pending,
    Running,
    Waiting,
    Done,
    Failed,
    Skipped,
}

impl TreeStage {
    fn of_step(status: &str) -> Self {
        match status {
            "running" => Self::Running,
            "blocked" => Self::Waiting,
            "completed" => Self::Done,
            "failed" => Self::Failed,
            "skipped" => Self::Skipped,
            _ => Self::Pending,
        }
    }

    fn of_task(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Pending => Self::Pending,
            TaskStatus::Running => Self::Running,
            TaskStatus::WaitingForUser => Self::Waiting,
            TaskStatus::Done => Self::Done,
            TaskStatus::Error => Self::Failed,
            TaskStatus::Cancelled => Self::Skipped,
        }
    }

    fn weight(self, over: LineWeight) -> LineWeight {
        match self {
            Self::Pending => LineWeight::Later,
            Self::Running | Self::Waiting | Self::Failed => LineWeight::Now,
            Self::Done | Self::Skipped => over,
        }
    }

    fn mark(self, paint: OutputPaint) -> String {
        match self {
            Self::Pending => paint.dim("·"),
            Self::Running => paint.cyan("▶"),
            Self::Waiting => paint.yellow("?"),
            Self::Done => paint.green("✓"),
            Self::Failed => paint.red("✗"),
            Self::Skipped => paint.dim("-"),
        }
    }
}

/// One row before it is laid out.
struct TreeRow {
    depth: usize,
    stage: TreeStage,
    weight: LineWeight,
    name: String,
    time: String,
    what: String,
}

pub(crate) fn tree(workflow: &WorkflowDetails, style: TreeStyle) -> Vec<TreeLine> {
    let tasks: BTreeMap<&str, &TaskItem> =
        workflow.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let mut rows = Vec::new();
    let ended = workflow.session.ended_at.unwrap_or(style.now);
    let style = TreeStyle { over: workflow.item.status.is_final().then_some(ended), ..style };
    for step in &workflow.plan.rows {
        push_step(&mut rows, step, &tasks, style);
    }
    let names = rows.iter().map(|row| row.depth * 2 + output::width(&row.name)).max().unwrap_or(0);
    let names = names.min(MAX_NAME_COLUMNS);
    let mut lines = vec![TreeLine { weight: LineWeight::Head, text: head(workflow, style) }];
    if let Some(problem) = workflow.item.waits_for_disk.as_deref().filter(|_| !style.whole) {
        let text = output::shortened(&format!("  it {}", output::one_line(problem)), style.columns);
        lines.push(TreeLine { weight: LineWeight::Head, text: style.paint.yellow(&text) });
    }
    lines.extend(rows.iter().map(|row| laid(row, names, style)));
    lines
}

fn laid(row: &TreeRow, names: usize, style: TreeStyle) -> TreeLine {
    let indent = "  ".repeat(row.depth + 1);
    let room = names.saturating_sub(row.depth * 2);
    let name = output::shortened(&row.name, room);
    let fill = " ".repeat(room.saturating_sub(output::width(&name)));
    let begin = output::width(&indent) + 2 + room + 2 + 8 + 1;
    let room = style.columns.saturating_sub(begin + 1);
    // Less than a word says nothing.
    let what = if room < 4 { String::new() } else { output::shortened(&row.what, room) };
    let (name, what) = match row.stage {
        TreeStage::Pending | TreeStage::Skipped => (style.paint.dim(&name), style.paint.dim(&what)),
        TreeStage::Waiting => (style.paint.bold(&name), style.paint.yellow(&what)),
        TreeStage::Failed => (name, style.paint.red(&what)),
        TreeStage::Running | TreeStage::Done => (name, what),
    };
    let time = style.paint.dim(&format!("{:>8}", row.time));
    let mark = row.stage.mark(style.paint);
    let text = format!("{indent}{mark} {name}{fill} {time}  {what}");
    TreeLine { weight: row.weight, text: text.trim_end().to_owned() }
}

/// The first line: name, plan, how it stands, how far it is, what it cost.
fn head(workflow: &WorkflowDetails, style: TreeStyle) -> String {
    let (session, paint) = (&workflow.session, style.paint);
    let status = status(workflow.item.status, paint);
    let over = workflow.plan.rows.iter().filter(|row| {
        matches!(TreeStage::of_step(&row.status), TreeStage::Done | TreeStage::Skipped)
    });
    let mut parts = vec![format!("{} of {} steps", over.count(), workflow.plan.rows.len())];
    if let Some(began) = session.started_at {
        parts.push(output::age(session.ended_at.unwrap_or(style.now).since(began)));
    }
    parts.extend(spend(&session.usage));
    let name = &workflow.item.name;
    let plan = output::shortened(&output::one_line(&session.workflow), MAX_NAME_COLUMNS);
    let used = output::width(name) + output::width(&plan) + workflow.item.status.as_str().len() + 6;
    while used + output::width(&parts.join(" · ")) >= style.columns && !parts.is_empty() {
        parts.pop();
    }
    let plan = if used > style.columns { String::new() } else { plan + "  " };
    let text = format!("{}  {plan}{status}  {}", paint.bold(name), paint.dim(&parts.join(" · ")));
    text.trim_end().to_owned()
}

/// The status of a run in its colour.
pub(crate) fn status(status: WorkflowStatus, paint: OutputPaint) -> String {
    let text = status.as_str();
    match status {
        WorkflowStatus::Running => paint.cyan(text),
        WorkflowStatus::Blocked => paint.yellow(text),
        WorkflowStatus::Completed => paint.green(text),
        WorkflowStatus::Failed => paint.red(text),
        WorkflowStatus::Pending | WorkflowStatus::Cancelled => paint.dim(text),
    }
}

/// What was spent, where that is known.
pub(crate) fn spend(usage: &TokenUsage) -> Option<String> {
    if let Some(cost) = usage.cost_usd {
        return Some(cost.to_string());
    }
    let tokens = usage.input_tokens.unwrap_or(0) + usage.output_tokens.unwrap_or(0);
    match tokens {
        0 => None,
        1..10_000 => Some(format!("{tokens} tokens")),
        _ => Some(format!("{}k tokens", tokens / 1000)),
    }
}

fn push_step(
    rows: &mut Vec<TreeRow>,
    step: &PlanRow,
    tasks: &BTreeMap<&str, &TaskItem>,
    style: TreeStyle,
) {
    let asks = step.lanes.iter().any(|lane| lane.status == TaskStatus::WaitingForUser);
    let stage = match TreeStage::of_step(&step.status) {
        TreeStage::Running | TreeStage::Waiting if style.over.is_some() => TreeStage::Skipped,
        TreeStage::Running if asks => TreeStage::Waiting,
        stage => stage,
    };
    // A step with one task of its own name says nothing more by listing it.
    let alone = step.lanes.len() == 1 && step.lanes[0].task == step.step;
    let lanes = if alone { &[] } else { step.lanes.as_slice() };
    let only = step.lanes.first().filter(|_| alone);
    rows.push(TreeRow {
        depth: 0,
        stage,
        weight: stage.weight(LineWeight::Over),
        name: output::one_line(&step.step),
        // The end of a run is that of the steps which it cut off.
        time: time(step.started_at, step.ended_at.or(style.over), style.now),
        what: step_words(step, stage, only, tasks, style.now),
    });
    let open = matches!(stage, TreeStage::Running | TreeStage::Waiting | TreeStage::Failed);
    if !open && !style.whole || stage == TreeStage::Pending {
        return;
    }
    for lane in lanes.iter().take(MAX_TREE_TASKS) {
        let stage = TreeStage::of_task(lane.status);
        let task = tasks.get(lane.task.as_str()).copied();
        // An agent may be kept beyond the end of its run.
        let over = style.over.filter(|_| !task.is_some_and(|task| task.live));
        rows.push(TreeRow {
            depth: 1,
            stage,
            weight: stage.weight(LineWeight::Detail),
            name: lane.task.clone(),
            time: time(lane.started_at, lane.ended_at.or(over), style.now),
            what: lane_words(lane, task, style.now),
        });
    }
    if lanes.len() > MAX_TREE_TASKS {
        let more = format!("… and {} more", lanes.len() - MAX_TREE_TASKS);
        rows.push(TreeRow {
            depth: 1,
            stage: TreeStage::Pending,
            weight: LineWeight::Later,
            name: more,
            time: String::new(),
            what: String::new(),
        });
    }
}

fn time(began: Option<Timestamp>, ended: Option<Timestamp>, now: Timestamp) -> String {
    began.map_or_else(String::new, |began| output::age(ended.unwrap_or(now).since(began)))
}

fn step_words(
    step: &PlanRow,
    stage: TreeStage,
    only: Option<&PlanLane>,
    tasks: &BTreeMap<&str, &TaskItem>,
    now: Timestamp,
) -> String {
    let note = output::one_line(&step.note);
    match (stage, only) {
        (TreeStage::Running | TreeStage::Waiting, Some(lane)) => {
            lane_words(lane, tasks.get(lane.task.as_str()).copied(), now)
        }
        (TreeStage::Running | TreeStage::Waiting, None) => {
            let total: u32 = step.counts.values().sum();
            let done = step.counts.get(&TaskStatus::Done).copied().unwrap_or(0);
            let failed = step.counts.get(&TaskStatus::Error).copied().unwrap_or(0);
            let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
            if total > 0 { format!("{done} of {total} done{failed}") } else { step.kind.clone() }
        }
        (TreeStage::Pending, _) => match step.needs.as_deref() {
            None | Some([]) => step.kind.clone(),
            Some(needs) => format!("{}, needs {}", step.kind, output::one_line(&needs.join(", "))),
        },
        _ if note.is_empty() => step.kind.clone(),
        _ => note,
    }
}

fn lane_words(lane: &PlanLane, task: Option<&TaskItem>, now: Timestamp) -> String {
    let again =
        if lane.attempt > 1 { format!(", attempt {}", lane.attempt) } else { String::new() };
    let agent = format!("{}{again}", output::one_line(&lane.adapter));
    match lane.status {
        TaskStatus::Running if task.is_some_and(|task| task.queued) => {
            format!("{agent}: {}", queued_words(1))
        }
        TaskStatus::Running | TaskStatus::WaitingForUser => {
            if let Some(doing) = task.and_then(|task| task.doing.as_deref()) {
                return format!("{agent}: {}", output::one_line(doing));
            }
            let doing = task.and_then(|task| task.verdict.as_ref().map(|seen| (seen, task.since)));
            match doing {
                Some((seen, since)) => {
                    let since = since.map(|since| format!(" {}", output::age(now.since(since))));
                    format!("{agent}: {}{}", doing_words(seen), since.unwrap_or_default())
                }
                None => format!("{agent}: {}", lane_note(lane, "running")),
            }
        }
        TaskStatus::Pending => agent,
        _ => format!("{agent}: {}", lane_note(lane, lane.status.as_str())),
    }
}

fn lane_note(lane: &PlanLane, otherwise: &str) -> String {
    let note = output::one_line(&lane.note);
    if note.is_empty() { otherwise.to_lowercase() } else { note }
}

/// What so many jobs do that have not started, in words.
pub(crate) fn queued_words(jobs: u32) -> String {
    if jobs == 1 { "waits for a slot".to_owned() } else { format!("{jobs} wait for a slot") }
}

/// What a task does, in words.
pub(crate) fn task_words(task: &TaskItem) -> String {
    match &task.verdict {
        _ if task.queued => queued_words(1),
        _ if task.doing.is_some() => output::one_line(task.doing.as_deref().unwrap_or_default()),
        Some(verdict) => doing_words(verdict),
        None => task.status.to_string(),
    }
}

/// What an agent is doing, in words.
pub(crate) fn doing_words(verdict: &AgentVerdict) -> String {
    match (verdict.state, verdict.kind) {
        (AgentState::Awaiting, Some(kind)) => format!("waits for you ({kind})"),
        (AgentState::Awaiting, None) => "waits for you".to_owned(),
        (AgentState::Working, _) if verdict.retry.is_some() => {
            let retry = verdict.retry.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("working, {}", output::one_line(&retry))
        }
        (state, _) => state.as_str().to_owned(),
    }
}

/// At most so many lines: what matters least goes first, and its number is told.
pub(crate) fn fitted(mut lines: Vec<TreeLine>, rows: usize) -> Vec<String> {
    let mut gone = 0;
    for weight in [LineWeight::Later, LineWeight::Detail, LineWeight::Over, LineWeight::Now] {
        while lines.len() + usize::from(gone > 0) > rows.max(2) {
            let find = |line: &TreeLine| line.weight == weight;
            // The end of what comes later goes first, and the beginning of what is over.
            let place = match weight {
                LineWeight::Later => lines.iter().rposition(find),
                _ => lines.iter().position(find),
            };
            let Some(place) = place else { break };
            lines.remove(place);
            gone += 1;
        }
    }
    let mut texts: Vec<String> = lines.into_iter().map(|line| line.text).collect();
    if gone > 0 {
        texts.push(format!("  … {gone} more lines: coven show"));
    }
    texts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A run of one step that began at 10 s, with this status, looked at an hour later.
    fn shown(status: &str, ended: Option<u64>) -> Vec<String> {
        let at = |seconds: u64| Timestamp::from_millis(seconds * 1000);
        let lane = |task: &str| {
            json!({"task": task, "name": task, "status": "RUNNING", "attempt": 1,
                   "adapter": "demo", "startedAt": at(11)})
        };
        let row = json!({"step": "talk", "type": "agent", "status": "running",
                         "lanes": [lane("talk.0"), lane("talk.1")], "startedAt": at(10)});
        let session = json!({
            "v": 1, "sessionId": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "brisk-otter",
            "workflow": "g", "status": status, "workflowDefinition": {}, "currentStageIndex": 0,
            "taskStatus": {}, "history": [], "variables": {}, "errors": [], "interventions": [],
            "createdAt": at(9), "startedAt": at(10), "endedAt": ended.map(at),
        });
        let details = json!({
            "id": session["sessionId"], "name": "brisk-otter", "status": status,
            "state": "IDLE", "baseDir": "/p",
            "createdAt": at(9), "updatedAt": at(9), "waiting": 0, "running": 0, "live": false,
            "lastSeq": 1, "session": session, "tasks": [], "interventions": [],
            "plan": {"name": "g", "status": status, "rows": [row]},
        });
        let paint = OutputPaint::new(false);
        let style = TreeStyle { now: at(3610), paint, columns: 100, whole: true, over: None };
        let lines = tree(&serde_json::from_value(details).unwrap(), style);
        lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn the_clock_of_a_step_that_the_end_of_a_run_cut_off_stands_still() {
        let times = |lines: Vec<String>| {
            let lines = lines.into_iter().skip(1);
            let time = |line: String| line.split_whitespace().nth(2).unwrap().to_owned();
            lines.map(time).collect::<Vec<_>>()
        };
        assert_eq!(times(shown("cancelled", Some(22))), ["12s", "11s", "11s"]);
        assert_eq!(times(shown("running", None)), ["1h", "59m", "59m"]);
    }

    #[test]
    fn what_matters_least_goes_first() {
        let line = |weight, text: &str| TreeLine { weight, text: text.to_owned() };
        let lines = vec![
            line(LineWeight::Head, "head"),
            line(LineWeight::Over, "one"),
            line(LineWeight::Over, "two"),
            line(LineWeight::Now, "three"),
            line(LineWeight::Later, "four"),
            line(LineWeight::Later, "five"),
        ];
        assert_eq!(fitted(lines.clone(), 9).len(), 6);
        assert_eq!(
            fitted(lines.clone(), 5),
            ["head", "one", "two", "three", "  … 2 more lines: coven show"]
        );
        assert_eq!(fitted(lines, 3), ["head", "three", "  … 4 more lines: coven show"]);
    }
}
