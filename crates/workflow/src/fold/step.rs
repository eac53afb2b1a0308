//! What facts about steps mean.

use std::sync::Arc;

use coven_model::event::{LoopVerdict, SessionEvent, StepOutput, TaskRole};
use coven_model::{Timestamp, TokenUsage, TreeId};
use serde_json::{Map, Value, json};

use crate::plan::{OnFailure, PlanStep, StepAction};
use crate::rules::ActiveRules;
use crate::state::{
    LandingPhase, RoundVerdict, StepLanding, StepProgress, StepRun, TaskPhase, TaskRun, WorkflowRun,
};

pub(super) fn apply(run: &mut WorkflowRun, rules: ActiveRules, event: &SessionEvent) {
    match event {
        SessionEvent::StepStarted { index, items, approved_by, at, .. } => {
            let rounds = run.step_at(*index).and_then(|(_, step, _)| step.action.rounds());
            let rounds = rounds.map_or(0, |(most, _)| most);
            if let Some(step) = run.active_mut(*index) {
                step.approved_by.clone_from(approved_by);
                step.progress = StepProgress::Running;
                step.started_at = Some(*at);
                step.items = items.clone().map(Arc::new);
                step.rounds = rounds;
            }
        }
        SessionEvent::StepCompleted { index, output, at, .. } => {
            let (output, exit_code) = read(run, *index, output);
            finish_step(run, rules, *index, StepProgress::Completed { output, exit_code }, *at);
        }
        SessionEvent::StepLanding { index, summary, output, .. } => {
            if let Some(step) = run.active_mut(*index) {
                step.progress = StepProgress::Running;
                step.landing = Some(StepLanding {
                    summary: summary.clone(),
                    output: output.clone(),
                    approved: false,
                    denied: None,
                });
            }
        }
        SessionEvent::StepFailed { index, error, continues, at, .. } => {
            let Some(step) = run.active_mut(*index) else { return };
            let exit_code = step.failed_exit_code();
            let progress =
                StepProgress::Failed { error: error.clone(), continues: *continues, exit_code };
            if *continues {
                finish_step(run, rules, *index, progress, *at);
            } else {
                step.progress = progress;
                step.ended_at = Some(*at);
            }
        }
        SessionEvent::StepSkipped { index, reason, at, .. } => {
            finish_step(run, rules, *index, StepProgress::Skipped { reason: reason.clone() }, *at);
        }
        SessionEvent::LoopJudged { index, round, attempt, verdict, reason } => {
            if let Some(step) = run.active_mut(*index) {
                step.judged.push(RoundVerdict {
                    round: *round,
                    attempt: *attempt,
                    verdict: *verdict,
                    reason: reason.clone(),
                });
            }
        }
        SessionEvent::LoopExtended { index, limit } => {
            if let Some(step) = run.active_mut(*index) {
                step.rounds = *limit;
                step.progress = StepProgress::Running;
            }
        }
        _ => {}
    }
}

/// The step is over, and the turn of those that follow it has come.
fn finish_step(
    run: &mut WorkflowRun,
    rules: ActiveRules,
    index: u32,
    progress: StepProgress,
    at: Timestamp,
) {
    let Some(step) = run.active_mut(index) else { return };
    step.progress = progress;
    step.ended_at = Some(at);
    let used = step.tasks.iter().fold(TokenUsage::default(), |sum, task| sum.plus(task.usage()));
    run.usage = run.usage.plus(used);
    if let Some((_, step, _)) = run.step_at(index) {
        let name = step.name.clone();
        run.interventions.retain(|_, pending| pending.intervention.step != name);
    }
    run.pass(index, rules);
}

/// The output that a fact points to, and the exit code of the one command there was.
fn read(run: &WorkflowRun, index: u32, output: &StepOutput) -> (Arc<Value>, Option<i32>) {
    let Some((_, plan, step)) = run.step_at(index) else { return (Arc::default(), None) };
    match output {
        StepOutput::Value(value) => (Arc::new(value.clone()), None),
        StepOutput::Results => (Arc::new(results(run, plan, step)), None),
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
fn results(run: &WorkflowRun, plan: &PlanStep, step: &StepRun) -> Value {
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
        if matches!(plan.action, StepAction::ForEach { .. }) {
            let exit_code = match task.map(|task| &task.phase) {
                Some(TaskPhase::Done { exit_code, .. } | TaskPhase::Failed { exit_code, .. }) => {
                    *exit_code
                }
                _ => None,
            };
            result.insert("exit_code".to_owned(), json!(exit_code));
        }
        let tree = run.tree_of(plan, TaskRole::Item(index as u32));
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

/// A step that stopped the run, or blocks it, is tried again: what failed in it, or if nothing
/// had begun, all of it.
pub(super) fn retry_step(run: &mut WorkflowRun, index: u32) {
    let Some((_, plan, _)) = run.step_at(index) else { return };
    let attempts = plan.retry.attempts;
    let more_rounds = plan.action.rounds().map_or(0, |(most, _)| most);
    let inner: Option<Vec<OnFailure>> = matches!(plan.action, StepAction::Loop { .. })
        .then(|| plan.inner().iter().map(|step| step.on_failure).collect());
    let Some(step) = run.active_mut(index) else { return };
    step.ended_at = None;
    let nothing_began = step.tasks.is_empty() && step.items.is_none();
    step.progress = if nothing_began { StepProgress::Waiting } else { StepProgress::Running };
    if let Some(inner) = inner {
        return retry_steps(step, attempts, more_rounds, &inner);
    }
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

/// A loop of several steps is tried again: what failed in it, but not what its round went on without.
fn retry_steps(step: &mut StepRun, attempts: u32, more_rounds: u32, inner: &[OnFailure]) {
    let failed = step.tasks.last().filter(|task| {
        let is_left = match task.role {
            TaskRole::Inner { place, .. } => {
                inner.get(place as usize) == Some(&OnFailure::Continue)
            }
            _ => false,
        };
        let has_ended = matches!(task.phase, TaskPhase::Failed { .. } | TaskPhase::Cancelled);
        has_ended && (!is_left || task.phase == TaskPhase::Cancelled)
    });
    if failed.is_some() {
        step.allow_retry(step.tasks.len().saturating_sub(1), attempts);
    } else if let Some(judged) = step.judged.last()
        && judged.verdict == LoopVerdict::Actionable
        && judged.round >= step.rounds
    {
        step.rounds = step.rounds.saturating_add(more_rounds.max(1));
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
