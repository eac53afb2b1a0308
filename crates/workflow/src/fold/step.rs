//! What facts about steps mean.

use std::sync::Arc;

use coven_model::event::{LoopVerdict, SessionEvent, StepOutput, TaskRole};
use coven_model::{Timestamp, TokenUsage, TreeId};
use serde_json::{Map, Value, json};

use crate::plan::StepAction;
use crate::state::{
    LandingPhase, RoundVerdict, StepLanding, StepProgress, StepRun, TaskPhase, TaskRun, WorkflowRun,
};

pub(super) fn apply(run: &mut WorkflowRun, event: &SessionEvent) {
    let cursor = run.cursor;
    match event {
        SessionEvent::StepStarted { index, items, approved_by, at, .. } if *index == cursor => {
            let rounds = match run.current().map(|(_, step, _)| &step.action) {
                Some(StepAction::AgentLoop { max_iterations, .. }) => *max_iterations,
                _ => 0,
            };
            if let Some(step) = run.current_mut() {
                step.approved_by.clone_from(approved_by);
                step.progress = StepProgress::Running;
                step.started_at = Some(*at);
                step.items = items.clone().map(Arc::new);
                step.rounds = rounds;
            }
        }
        SessionEvent::StepCompleted { index, output, at, .. } if *index == cursor => {
            let Some((_, _, step)) = run.current() else { return };
            let (output, exit_code) = read(run, step, output);
            finish_step(run, StepProgress::Completed { output, exit_code }, *at);
        }
        SessionEvent::StepLanding { index, summary, output, .. } if *index == cursor => {
            if let Some(step) = run.current_mut() {
                step.progress = StepProgress::Running;
                step.landing = Some(StepLanding {
                    summary: summary.clone(),
                    output: output.clone(),
                    approved: false,
                    denied: None,
                });
            }
        }
        SessionEvent::StepFailed { index, error, continues, at, .. } if *index == cursor => {
            let Some((_, _, step)) = run.current() else { return };
            let exit_code = step.failed_exit_code();
            let progress =
                StepProgress::Failed { error: error.clone(), continues: *continues, exit_code };
            if *continues {
                finish_step(run, progress, *at);
            } else if let Some(step) = run.current_mut() {
                step.progress = progress;
                step.ended_at = Some(*at);
            }
        }
        SessionEvent::StepSkipped { index, reason, at, .. } if *index == cursor => {
            finish_step(run, StepProgress::Skipped { reason: reason.clone() }, *at);
        }
        SessionEvent::LoopJudged { index, round, attempt, verdict, reason } if *index == cursor => {
            if let Some(step) = run.current_mut() {
                step.judged.push(RoundVerdict {
                    round: *round,
                    attempt: *attempt,
                    verdict: *verdict,
                    reason: reason.clone(),
                });
            }
        }
        SessionEvent::LoopExtended { index, limit } if *index == cursor => {
            if let Some(step) = run.current_mut() {
                step.rounds = *limit;
                step.progress = StepProgress::Running;
            }
        }
        _ => {}
    }
}

/// The step is over, and the next one's turn has come.
fn finish_step(run: &mut WorkflowRun, progress: StepProgress, at: Timestamp) {
    let Some(step) = run.current_mut() else { return };
    step.progress = progress;
    step.ended_at = Some(at);
    let used = step.tasks.iter().fold(TokenUsage::default(), |sum, task| sum.plus(task.usage()));
    run.usage = run.usage.plus(used);
    if let Some((_, step, _)) = run.current() {
        let name = step.name.clone();
        run.interventions.retain(|_, pending| pending.intervention.step != name);
    }
    run.cursor = run.cursor.saturating_add(1);
}

/// The output that a fact points to, and the exit code of the one command there was.
fn read(run: &WorkflowRun, step: &StepRun, output: &StepOutput) -> (Arc<Value>, Option<i32>) {
    match output {
        StepOutput::Value(value) => (Arc::new(value.clone()), None),
        StepOutput::Results => (Arc::new(results(run, step)), None),
        StepOutput::Task(id) => {
            let mut newest = step.tasks.iter().rev();
            match newest.find(|task| task.id == *id).map(|task| &task.phase) {
                Some(TaskPhase::Done { value, exit_code, .. }) => (Arc::clone(value), *exit_code),
                _ => (Arc::default(), None),
            }
        }
    }
}

/// What became of each item, in the order of the items.
fn results(run: &WorkflowRun, step: &StepRun) -> Value {
    let plan = run.current().map(|(_, plan, _)| plan);
    let items = step.items.as_deref().map(Vec::as_slice).unwrap_or_default();
    let result = |(index, item): (usize, &Value)| {
        let task = step.task(index);
        let mut result = Map::new();
        result.insert("index".to_owned(), json!(index));
        result.insert("item".to_owned(), item.clone());
        if let Some(TaskPhase::Done { value, .. }) = task.map(|task| &task.phase) {
            result.insert("ok".to_owned(), json!(true));
            result.insert("output".to_owned(), value.as_ref().clone());
        } else {
            let error = task.and_then(|task| task.error.as_deref()).unwrap_or("it did not run");
            result.insert("ok".to_owned(), json!(false));
            result.insert("error".to_owned(), json!(error));
        }
        let tree = plan.and_then(|plan| run.tree_of(plan, TaskRole::Item(index as u32)));
        let tree = tree.filter(|tree| *tree != TreeId::Run);
        if let Some(tree) = tree.and_then(|tree| run.tree(&tree)) {
            result.insert("branch".to_owned(), json!(tree.branch));
            result.insert("commit".to_owned(), json!(tree.head));
            result.insert("changed".to_owned(), json!(tree.changed));
            let landed = matches!(tree.landing, LandingPhase::Landed { .. });
            result.insert("landed".to_owned(), json!(landed));
        }
        Value::Object(result)
    };
    items.iter().enumerate().map(result).collect()
}

/// The step that stopped the run, or blocks it, is tried again: what failed in it, or if nothing
/// had begun, all of it.
pub(super) fn retry_step(run: &mut WorkflowRun) {
    let Some((_, plan, _)) = run.current() else { return };
    let attempts = plan.retry.attempts;
    let more_rounds = match &plan.action {
        StepAction::AgentLoop { max_iterations, .. } => *max_iterations,
        _ => 0,
    };
    let Some(step) = run.current_mut() else { return };
    step.ended_at = None;
    let nothing_began = step.tasks.is_empty() && step.items.is_none();
    step.progress = if nothing_began { StepProgress::Waiting } else { StepProgress::Running };
    step.allow_retries(attempts);
    let last = step.tasks.last().map(|task| (task.role, &task.phase));
    if let Some((TaskRole::Arbiter(round) | TaskRole::Check(round), TaskPhase::Done { .. })) = last
    {
        match step.verdict(round).map(|judged| judged.verdict) {
            Some(LoopVerdict::Unreadable) => ask_arbiter_again(step, attempts),
            Some(LoopVerdict::Actionable) if round >= step.rounds => {
                step.rounds = step.rounds.saturating_add(more_rounds.max(1));
            }
            _ => {}
        }
    }
}

/// The arbiter is asked again though it answered.
fn ask_arbiter_again(step: &mut StepRun, attempts: u32) {
    let is_arbiter = |task: &TaskRun| matches!(task.role, TaskRole::Arbiter(_));
    if let Some(place) = step.tasks.len().checked_sub(1)
        && step.tasks.last().is_some_and(is_arbiter)
    {
        step.allow_retry(place, attempts);
    }
}
