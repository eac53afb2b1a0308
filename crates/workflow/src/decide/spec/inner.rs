//! What a step inside a loop knows: what the steps beside it came to.
//!
//! A step that stands before it has its result of this round, one that stands behind it, and it itself,
//! that of the round before.

use std::sync::Arc;

use coven_model::event::TaskRole;
use serde_json::{Map, Value, json};

use crate::plan::PlanStep;
use crate::state::{Local, StepRun, TaskPhase, TaskRun};

/// The outputs of the steps inside by their names, and all that is known of them as `steps`. `at` is the
/// round and the place of the step that asks.
pub(super) fn names(steps: &[PlanStep], state: &StepRun, at: (u32, usize)) -> Vec<Local> {
    let mut names = Vec::new();
    let mut all = Map::new();
    for (place, step) in steps.iter().enumerate() {
        let round = if place < at.1 { at.0 } else { at.0.saturating_sub(1) };
        let role = TaskRole::Inner { round, place: place as u32 };
        let task = state.task_of(role);
        if let Some(name) = &step.output {
            names.push((name.clone(), task.map_or_else(Arc::default, output)));
        }
        let about = match task {
            Some(task) => about(task),
            None => about_none(if round == 0 { "pending" } else { "skipped" }),
        };
        all.insert(step.name.clone(), about);
    }
    names.push(("steps".to_owned(), Arc::new(Value::Object(all))));
    names
}

/// What the last step of a round that was done came to.
pub(super) fn last_output(state: &StepRun, round: u32) -> Option<Arc<Value>> {
    let is_of_round = |task: &&TaskRun| {
        let is_inner = matches!(task.role, TaskRole::Inner { round: own, .. } if own == round);
        is_inner && matches!(task.phase, TaskPhase::Done { .. })
    };
    state.tasks.iter().rev().find(is_of_round).map(output)
}

fn output(task: &TaskRun) -> Arc<Value> {
    match &task.phase {
        TaskPhase::Done { value, .. } => Arc::clone(value),
        _ => Arc::default(),
    }
}

fn about(task: &TaskRun) -> Value {
    let (status, exit_code) = match &task.phase {
        TaskPhase::Done { exit_code, .. } => ("completed", *exit_code),
        TaskPhase::Failed { exit_code, .. } => ("failed", *exit_code),
        _ => ("running", None),
    };
    let output = output(task);
    let printed = task.printed.as_deref();
    let stdout = printed.map(|printed| match &printed.stdout {
        Some(stdout) => Value::from(stdout.as_str()),
        // It is the value.
        None => output.as_ref().clone(),
    });
    json!({
        "status": status,
        "output": output.as_ref(),
        "exit_code": exit_code,
        "stdout": stdout,
        "stderr": printed.map(|printed| printed.stderr.as_str()),
    })
}

fn about_none(status: &str) -> Value {
    let none = Value::Null;
    json!({"status": status, "output": none, "exit_code": none, "stdout": none, "stderr": none})
}
