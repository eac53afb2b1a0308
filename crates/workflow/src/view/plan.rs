//! A plan as rows and lanes: before it runs, and with the status of everything while it does.

use std::collections::BTreeMap;

use coven_model::event::TaskRole;
use coven_model::{
    AgentMode, JobOutcome, JobWork, PlanLane, PlanRow, PlanView, TaskId, TaskStatus, WorkflowStatus,
};

use crate::compile::adapter_names;
use crate::plan::{
    AgentSpec, LoopCheck, LoopContext, LoopEnd, PlanStep, StepAction, WorkflowPlan, stage_task,
};
use crate::scope::VariableScope;
use crate::state::{StepProgress, StepRun, TaskPhase, TaskRun, WorkflowRun};
use crate::template::TextTemplate;

/// How many lanes a row has at most; the rest is in the counts.
const MAX_LANES: usize = 100;
/// What stands for the adapter of a command.
const SHELL: &str = "shell";
/// How long a note is at most, in characters.
const MAX_NOTE_CHARS: usize = 160;

/// What a plan will do, without a run.
pub fn dry_run(plan: &WorkflowPlan) -> PlanView {
    let mut needs = plan.needs().into_iter();
    let rows = plan.steps.iter().map(|step| PlanRow {
        step: step.name.clone(),
        kind: step.action.kind().to_owned(),
        status: "pending".to_owned(),
        needs: None,
        note: step_note(step),
        lanes: planned(step),
        counts: BTreeMap::new(),
        started_at: None,
        ended_at: None,
    });
    let rows = rows.map(|row| with_needs(row, needs.next()));
    PlanView {
        name: plan.name.clone(),
        goal: plan.goal.clone(),
        status: WorkflowStatus::Pending,
        rows: rows.collect(),
    }
}

/// The plan of a run with the status of everything.
pub fn plan_view(run: &WorkflowRun) -> PlanView {
    let plan = &run.identity.plan;
    let mut needs = plan.needs().into_iter();
    let stuck = stuck_behind(run);
    let rows = plan.steps.iter().zip(run.steps.iter()).enumerate().map(|(place, (step, state))| {
        let row = plan_row(run, step, state);
        match stuck.get(&place) {
            Some(failed) => {
                let note = format!("does not start: `{failed}`, which it needs, failed");
                PlanRow { note, needs: needs.next(), ..row }
            }
            None if state.progress == StepProgress::Waiting => with_needs(row, needs.next()),
            None => PlanRow { needs: needs.next(), ..row },
        }
    });
    PlanView {
        name: plan.name.clone(),
        goal: run.identity.goal.clone(),
        status: run.status(),
        rows: rows.collect(),
    }
}

/// A row that did not begin, with what it needs.
fn with_needs(row: PlanRow, needs: Option<Vec<String>>) -> PlanRow {
    let told = needs.as_deref().map(|needs| match needs {
        [] => "needs nothing".to_owned(),
        needs => format!("needs {}", needs.join(", ")),
    });
    let parts = [Some(row.note).filter(|note| !note.is_empty()), told];
    let note = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    PlanRow { note: short_first_line(&note), needs, ..row }
}

/// The steps that do not start because a step that they need failed, with the name of that step.
fn stuck_behind(run: &WorkflowRun) -> BTreeMap<usize, &str> {
    let mut stuck = BTreeMap::new();
    let Some(graph) = run.identity.graph() else { return stuck };
    for (index, step, _) in run.active().filter(|(_, _, state)| state.has_failed()) {
        let mut open = vec![index as usize];
        while let Some(place) = open.pop() {
            for dependent in graph.dependents(place) {
                if !stuck.contains_key(dependent) {
                    stuck.insert(*dependent, step.name.as_str());
                    open.push(*dependent);
                }
            }
        }
    }
    stuck
}

fn plan_row(run: &WorkflowRun, step: &PlanStep, state: &StepRun) -> PlanRow {
    let note = match &state.progress {
        StepProgress::Failed { error, .. } => error.clone(),
        StepProgress::Skipped { reason } => reason.clone(),
        StepProgress::Blocked { intervention } => {
            let pending = run.interventions.get(intervention);
            pending.map(|pending| pending.intervention.reason.clone()).unwrap_or_default()
        }
        _ => step_note(step),
    };
    let mut counts = BTreeMap::new();
    for task in state.tasks.iter() {
        *counts.entry(run.task_status(&task.id).unwrap_or_default()).or_default() += 1;
    }
    let known = state.items.as_ref().map_or(0, |items| items.len());
    let waiting = known.saturating_sub(state.tasks.len()) as u32;
    if waiting > 0 {
        let status = if run.is_over() { TaskStatus::Cancelled } else { TaskStatus::Pending };
        *counts.entry(status).or_default() += waiting;
    }
    PlanRow {
        step: step.name.clone(),
        kind: step.action.kind().to_owned(),
        status: state.status().to_owned(),
        needs: None,
        note: short_first_line(&note),
        lanes: lanes(run, step, state),
        counts,
        started_at: state.started_at,
        ended_at: state.ended_at,
    }
}

/// The tasks that were started, and of a stage also the others. Of very many: those that live or
/// failed, then the newest.
fn lanes(run: &WorkflowRun, step: &PlanStep, state: &StepRun) -> Vec<PlanLane> {
    let planned = planned(step);
    if state.tasks.is_empty() {
        return planned;
    }
    let matters = |task: &&TaskRun| {
        matches!(
            task.phase,
            TaskPhase::Live(_) | TaskPhase::Failed { .. } | TaskPhase::Delayed { .. }
        )
    };
    let mut chosen: Vec<&TaskRun> = if state.tasks.len() <= MAX_LANES {
        state.tasks.iter().collect()
    } else {
        let mut chosen: Vec<&TaskRun> =
            state.tasks.iter().filter(matters).take(MAX_LANES).collect();
        let rest = state.tasks.iter().rev().filter(|task| !matters(task));
        chosen.extend(rest.take(MAX_LANES - chosen.len()));
        chosen
    };
    chosen.sort_by_key(|task| state.place(task.role));
    let mut lanes: Vec<PlanLane> = chosen.into_iter().map(|task| lane(run, step, task)).collect();
    if matches!(step.action, StepAction::Stage { .. }) {
        lanes.extend(planned.into_iter().skip(state.tasks.len()));
    }
    lanes
}

fn lane(run: &WorkflowRun, step: &PlanStep, task: &TaskRun) -> PlanLane {
    let (adapter, mode) = adapter_of(step, task);
    PlanLane {
        task: task.id.to_string(),
        name: task.name.clone(),
        status: run.task_status(&task.id).unwrap_or_default(),
        attempt: task.attempt,
        adapter: adapter.to_owned(),
        mode,
        note: short_first_line(&lane_note(task)),
        started_at: Some(task.started_at),
        ended_at: task.ended_at,
        lost: task.lost,
    }
}

/// Why a task failed, or what of its output is not kept.
fn lane_note(task: &TaskRun) -> String {
    match &task.error {
        Some(error) => error.clone(),
        None if task.lost > 0 => JobOutcome::lost_text(task.lost),
        None if task.omitted > 0 => {
            format!("{} bytes of its output are not kept as a value", task.omitted)
        }
        None => String::new(),
    }
}

/// The adapter of a task that was started, or `shell` for a command, and how it runs.
fn adapter_of<'a>(step: &'a PlanStep, task: &'a TaskRun) -> (&'a str, AgentMode) {
    let Some(agent) = agent_of(step, task.role) else { return (SHELL, AgentMode::Headless) };
    // The step may name it by a variable, which only a task has a value for.
    let adapter = task.adapter.as_ref().unwrap_or(&agent.adapter);
    match task.live().map(|live| &live.spec.work) {
        Some(JobWork::Agent(live)) => (adapter, live.mode),
        _ => (adapter, agent.mode),
    }
}

impl WorkflowRun {
    /// The adapter of a task that was started, or `shell` for a command, and how it runs.
    pub fn task_adapter(&self, task: &TaskId) -> Option<(&str, AgentMode)> {
        let (step, place) = self.locate(task)?;
        let task = self.steps.get(step)?.tasks.get(place)?;
        Some(adapter_of(self.identity.plan.steps.get(step)?, task))
    }
}

fn agent_of(step: &PlanStep, role: TaskRole) -> Option<&AgentSpec> {
    let (step, role) = step.of_task(role);
    match (&step.action, role) {
        (StepAction::AgentLoop { arbiter, .. }, TaskRole::Arbiter(_)) => arbiter.as_ref(),
        (StepAction::AgentLoop { .. }, TaskRole::Check(_)) => None,
        (
            StepAction::Agent { agent }
            | StepAction::AgentLoop { agent, .. }
            | StepAction::ParallelAgents { agent, .. },
            _,
        ) => Some(agent),
        (StepAction::Stage { tasks }, role) => stage_task(tasks, role).map(|task| &task.agent),
        _ => None,
    }
}

/// The lanes that a step will have, as far as the plan tells.
fn planned(step: &PlanStep) -> Vec<PlanLane> {
    let lane = |task: String, name: Option<&String>, adapter: &str, mode, note: &str| PlanLane {
        name: name.cloned().unwrap_or_else(|| task.clone()),
        task,
        status: TaskStatus::Pending,
        attempt: 0,
        adapter: adapter.to_owned(),
        mode,
        note: short_first_line(note),
        started_at: None,
        ended_at: None,
        lost: 0,
    };
    let agent = |task: String, agent: &AgentSpec| {
        let prompt = agent.prompt.as_ref().map_or("", |prompt| prompt.source());
        lane(task, agent.name.as_ref(), &agent.adapter, agent.mode, prompt)
    };
    let name = &step.name;
    match &step.action {
        StepAction::Agent { agent: spec } => vec![agent(name.clone(), spec)],
        StepAction::AgentLoop { agent: spec, arbiter, until, .. } => {
            let check = |round: u32, until: &LoopCheck| {
                let command = until.script.command.source();
                let task = format!("{name}.r{round}.check");
                lane(task, None, SHELL, AgentMode::Headless, command)
            };
            let first = until.iter().filter(|until| until.first).map(|until| check(0, until));
            let work = agent(format!("{name}.r1"), spec);
            let arbiter = arbiter.iter().map(|one| agent(format!("{name}.r1.arbiter"), one));
            let after = until.iter().map(|until| check(1, until));
            first.chain([work]).chain(after).chain(arbiter).collect()
        }
        StepAction::Loop { steps, .. } => {
            let check = |round: u32| {
                let check = step.action.check();
                check.map(|check| {
                    let command = check.script.command.source();
                    let task = format!("{name}.r{round}.check");
                    lane(task, None, SHELL, AgentMode::Headless, command)
                })
            };
            let first = check(0).filter(|_| step.action.check().is_some_and(|check| check.first));
            let work = steps.iter().flat_map(planned).map(|lane| {
                let task = format!("{name}.r1.{}", lane.task);
                PlanLane { name: task.clone(), task, ..lane }
            });
            first.into_iter().chain(work).chain(check(1)).collect()
        }
        StepAction::ForEach { step, .. } => {
            let task = format!("{name}.*");
            planned(step)
                .into_iter()
                .map(|lane| PlanLane { name: task.clone(), task: task.clone(), ..lane })
                .collect()
        }
        StepAction::ParallelAgents { agent: spec, .. } => {
            // Elements may name the adapter, and may stand in the definition.
            let (known, _) = adapter_names(&step.action, spec, &VariableScope::default());
            let all = agent(format!("{name}.*"), spec);
            let adapter = if known.is_empty() { all.adapter.clone() } else { known.join(", ") };
            vec![PlanLane { adapter, ..all }]
        }
        StepAction::Script { script, .. } | StepAction::Gate { script: Some(script), .. } => {
            vec![lane(name.clone(), None, SHELL, AgentMode::Headless, script.command.source())]
        }
        StepAction::Gate { script: None, .. } => Vec::new(),
        StepAction::Stage { tasks } => {
            tasks.iter().map(|task| agent(task.id.to_string(), &task.agent)).collect()
        }
    }
}

/// What a step does, in one line.
fn step_note(step: &PlanStep) -> String {
    let what = match &step.action {
        StepAction::AgentLoop { max_iterations, context, until, .. } => {
            let conversation = match context {
                LoopContext::Continue => ", in one conversation",
                LoopContext::Fresh => "",
            };
            let command = until.as_ref().map(|until| until.script.command.source());
            let until = command.map(|command| format!(", until `{}`", short_first_line(command)));
            format!("at most {max_iterations} rounds{conversation}{}", until.unwrap_or_default())
        }
        StepAction::Loop { max_iterations, until, .. } => {
            let until = match until {
                LoopEnd::Command(check) => check.script.command.source(),
                LoopEnd::Condition(condition) => condition.source(),
            };
            format!("at most {max_iterations} rounds, until `{}`", short_first_line(until))
        }
        StepAction::ParallelAgents { for_each, max_concurrent, .. }
        | StepAction::ForEach { for_each, max_concurrent, .. } => {
            format!("for each of {for_each}, {max_concurrent} at a time")
        }
        StepAction::Gate { script: None, message, .. } => {
            let message = message.as_ref().map(TextTemplate::source);
            format!("asks: {}", message.unwrap_or("go on?"))
        }
        _ => String::new(),
    };
    let when = step.when.as_ref().map(|when| format!("only when {}", when.source()));
    let leave = step.needs_approval.then(|| "asks for leave first".to_owned());
    let parts = [Some(what).filter(|what| !what.is_empty()), when, leave];
    short_first_line(&parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// The first line, not too long.
fn short_first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_NOTE_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
