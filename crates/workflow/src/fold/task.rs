//! What facts about tasks and their jobs mean.

use std::sync::Arc;

use coven_model::event::{JobTimer, SessionEvent, TaskEnded, TaskStarted, TimerPurpose};
use coven_model::{
    AttemptId, JobOutcome, JobWork, ProcessEnding, TaskStatus, Timestamp, TokenUsage,
};
use serde_json::Value;

use crate::state::{
    LiveJob, PrintedOutput, RunPhase, StepProgress, TaskPhase, TaskReview, TaskRun, WorkflowRun,
};

const EXCERPT_LINES: usize = 20;
const EXCERPT_CHARS: usize = 2000;

pub(super) fn apply(run: &mut WorkflowRun, event: &SessionEvent) {
    match event {
        SessionEvent::TaskStarted(started) => start(run, started),
        SessionEvent::TaskEnded(ended) => end(run, ended),
        SessionEvent::TaskStatus { job, seen, .. } => {
            change_live(run, job, |live| live.seen = live.seen.max(*seen));
        }
        SessionEvent::TaskStopping { job, cause, by, output } => change_live(run, job, |live| {
            if live.stop.is_none() {
                live.stop = Some((*cause, by.clone()));
                live.output.clone_from(output);
            }
        }),
        SessionEvent::TaskReleased { job, .. } if run.kept.get(&job.task) == Some(&job.attempt) => {
            run.kept.remove(&job.task);
            run.kept_jobs.remove(&job.task);
            run.kept_interventions
                .retain(|_, pending| pending.intervention.task.as_ref() != Some(&job.task));
        }
        SessionEvent::TaskExposed { job, .. } => change_live(run, job, |live| live.exposed = true),
        SessionEvent::TaskConfined { job, .. } => {
            change_live(run, job, |live| live.confined = true);
        }
        SessionEvent::TaskChannel { job, channel, fallback: None } => {
            change_live(run, job, |live| live.channel = Some(channel.clone()));
        }
        SessionEvent::TimerSet { timer, due } => set_timer(run, timer, *due),
        SessionEvent::AgentUsage { job, usage } => {
            change_live(run, job, |live| live.usage = *usage);
        }
        _ => {}
    }
}

/// No agent was there for a review: the next attempt of the task begins with it.
pub(super) fn review(run: &mut WorkflowRun, job: &AttemptId, prompt: &str) {
    let is_running = run.phase == RunPhase::Running;
    let Some((_, place)) = run.locate(&job.task) else { return };
    let index = run.active_of(&job.task);
    let Some(step) = index.and_then(|index| run.active_mut(index)) else { return };
    if step.task(place).is_none_or(|task| task.live().is_some()) {
        return;
    }
    step.change(place, |task| {
        let continues = matches!(task.phase, TaskPhase::Done { .. });
        task.review = Some(TaskReview { prompt: prompt.into(), begun: false, continues });
    });
    // A run that failed has to be let go on first.
    if is_running {
        step.allow_retry(place, 1);
    }
    super::tree::reviewed(run, &job.task);
}

/// Changes the job of this id, if it is live or its agent was left alive.
pub(super) fn change_live(
    run: &mut WorkflowRun,
    job: &AttemptId,
    change: impl FnOnce(&mut LiveJob),
) {
    if let Some(kept) = run.kept_jobs.get_mut(&job.task).filter(|kept| kept.is_attempt(job)) {
        return change(Arc::make_mut(kept));
    }
    change_task(run, job, |task| {
        if let TaskPhase::Live(live) = &mut task.phase {
            change(live);
        }
    });
}

/// Changes a task of a step whose turn it is, and whose newest attempt this is.
fn change_task(run: &mut WorkflowRun, job: &AttemptId, change: impl FnOnce(&mut TaskRun)) {
    if let Some((step, place)) = run.locate(&job.task)
        && let Ok(index) = u32::try_from(step)
        && let Some(step) = run.active_mut(index)
        && step.task(place).is_some_and(|task| task.attempt == job.attempt)
    {
        step.change(place, change);
    }
}

fn start(run: &mut WorkflowRun, started: &TaskStarted) {
    let AttemptId { task: id, attempt } = &started.spec.job.attempt;
    // A task has the role that its name says, or it could not be found again.
    let role = run.identity.locate(id).map(|(_, role)| role);
    let Some(index) = run.active_of(id).filter(|_| role == Some(started.role)) else { return };
    super::tree::enter(run, &started.spec);
    let Some(step) = run.active_mut(index) else { return };
    let place = step.place(started.role);
    let agent = match &started.spec.work {
        JobWork::Agent(agent) => Some(agent),
        JobWork::Shell(_) => None,
    };
    let adapter = agent.map(|agent| agent.adapter.clone());
    let phase =
        TaskPhase::Live(Box::new(LiveJob::new(started.spec.clone(), started.inputs.clone())));
    match step.task(place) {
        None => step.add(TaskRun {
            id: id.clone(),
            name: started.spec.name.clone(),
            role: started.role,
            attempt: *attempt,
            place: started.place,
            limit: started.limit,
            without_channel: agent.and_then(|agent| agent.without_channel.clone()),
            adapter,
            conversation: None,
            review: None,
            phase,
            error: None,
            excerpt: String::new(),
            printed: None,
            omitted: 0,
            lost: 0,
            usage: TokenUsage::default(),
            started_at: started.at,
            ended_at: None,
        }),
        Some(task) if task.id == *id && task.live().is_none() && task.attempt < *attempt => {
            step.change(place, |task| {
                task.attempt = *attempt;
                task.place = started.place;
                task.limit = started.limit;
                task.phase = phase;
                task.adapter = adapter;
                if let Some(review) = &mut task.review {
                    review.begun = true;
                }
                task.started_at = started.at;
                task.ended_at = None;
            });
        }
        Some(_) => return,
    }
    step.progress = StepProgress::Running;
}

fn end(run: &mut WorkflowRun, ended: &TaskEnded) {
    let is_live = run.live(&ended.job).is_some();
    if !is_live || matches!(ended.status, TaskStatus::Running | TaskStatus::WaitingForUser) {
        return;
    }
    let outcome = &ended.outcome;
    let exit_code = match outcome.ending {
        ProcessEnding::Exited { code } => Some(code),
        _ => None,
    };
    let kept = outcome.ending == ProcessEnding::Alive;
    let left = run.live(&ended.job).filter(|_| kept).map(LiveJob::left_alive);
    if let Some(spec) = run.live(&ended.job).map(|live| live.spec.clone()) {
        super::tree::leave(run, &spec, ended.status == TaskStatus::Done);
    }
    change_task(run, &ended.job, |task| {
        let refusal = task.refusal(outcome).filter(|_| ended.status == TaskStatus::Pending);
        let begins_afresh = ended.status == TaskStatus::Pending && task.begins_afresh(outcome);
        let is_refused = refusal.is_some() || begins_afresh;
        if let Some(reason) = refusal {
            task.without_channel = Some(reason.to_owned());
        }
        if is_refused {
            // It was told nothing, so it does not count as one of its attempts.
            task.limit = task.limit.saturating_add(1);
        }
        let used = task.live().map(|live| live.usage).unwrap_or_default();
        let used = final_usage(outcome, used);
        task.usage = task.usage.plus(used);
        task.conversation = task.conversation_of(outcome, used);
        let is_command =
            task.live().is_some_and(|live| matches!(live.spec.work, JobWork::Shell(_)));
        if ended.status == TaskStatus::Done {
            task.review = None;
        } else if let Some(review) = &mut task.review {
            // What is in a conversation that failed is not known.
            review.continues = false;
        }
        task.ended_at = Some(ended.at);
        task.excerpt = if outcome.ok { String::new() } else { excerpt(outcome) };
        task.error = (!outcome.ok).then(|| outcome.reason.clone());
        task.phase = match ended.status {
            TaskStatus::Done => TaskPhase::Done { value: value(ended), exit_code, kept },
            TaskStatus::Error => {
                TaskPhase::Failed { exit_code, lost: outcome.ending == ProcessEnding::Lost }
            }
            TaskStatus::Cancelled => TaskPhase::Cancelled,
            TaskStatus::Pending | TaskStatus::Running | TaskStatus::WaitingForUser => {
                TaskPhase::Ready { at_once: is_refused }
            }
        };
        (task.omitted, task.lost) = (outcome.omitted, outcome.lost);
        task.printed = is_command.then(|| Arc::new(printed(outcome, &task.phase)));
    });
    let of_task = |task: &Option<coven_model::TaskId>| task.as_ref() == Some(&ended.job.task);
    run.interventions
        .retain(|_, pending| pending.attempt.is_none() || !of_task(&pending.intervention.task));
    if kept && ended.status == TaskStatus::Done {
        run.kept.insert(ended.job.task.clone(), ended.job.attempt);
        if let Some(left) = left {
            run.kept_jobs.insert(ended.job.task.clone(), Arc::new(left));
        }
    }
}

/// What a command printed. Its output is not kept twice where its value is that text.
fn printed(outcome: &JobOutcome, phase: &TaskPhase) -> PrintedOutput {
    let stdout = outcome.output.as_deref().map(without_line_ends).unwrap_or_default();
    let is_value = matches!(
        phase,
        TaskPhase::Done { value, .. } if value.as_str().is_some_and(|value| value == stdout)
    );
    PrintedOutput {
        stdout: (!is_value).then(|| stdout.to_owned()),
        stderr: outcome.stderr.clone().unwrap_or_default(),
    }
}

fn without_line_ends(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

/// The end of what an attempt printed: as much as a person reads at a glance.
fn excerpt(outcome: &JobOutcome) -> String {
    let text = outcome.output.as_deref().unwrap_or_default().trim_end();
    let lines = text.rmatch_indices('\n').nth(EXCERPT_LINES - 1).map_or(0, |(at, _)| at + 1);
    let letters = text.char_indices().rev().nth(EXCERPT_CHARS - 1).map_or(0, |(at, _)| at);
    text.get(lines.max(letters)..).unwrap_or_default().to_owned()
}

/// What an attempt used up: what its end says, and where that says nothing, what was said before.
fn final_usage(outcome: &JobOutcome, before: TokenUsage) -> TokenUsage {
    let last = outcome.usage;
    TokenUsage {
        input_tokens: last.input_tokens.or(before.input_tokens),
        cached_tokens: last.cached_tokens.or(before.cached_tokens),
        output_tokens: last.output_tokens.or(before.output_tokens),
        reasoning_tokens: last.reasoning_tokens.or(before.reasoning_tokens),
        cost_usd: last.cost_usd.or(before.cost_usd),
    }
}

/// The output of a task: the value in the fact, or the text without its trailing line ends.
fn value(ended: &TaskEnded) -> Arc<Value> {
    let text = || match &ended.outcome.output {
        Some(text) => Value::String(without_line_ends(text).to_owned()),
        None => Value::Null,
    };
    Arc::new(ended.value.clone().unwrap_or_else(text))
}

fn set_timer(run: &mut WorkflowRun, timer: &JobTimer, due: Timestamp) {
    match timer.purpose {
        TimerPurpose::Timeout => change_live(run, &timer.job, |live| live.deadline = Some(due)),
        TimerPurpose::Retry => {
            let Some(before) = timer.job.attempt.checked_sub(1) else { return };
            let job = AttemptId { task: timer.job.task.clone(), attempt: before };
            change_task(run, &job, |task| {
                if matches!(task.phase, TaskPhase::Ready { .. }) {
                    task.phase = TaskPhase::Delayed { due };
                }
            });
        }
    }
}
