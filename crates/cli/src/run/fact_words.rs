//! Every fact and every live event in words, for `coven events`. A run that is followed tells only
//! what is of interest; this tells the rest. A new type of fact does not compile until it has words.

use coven_api::event::EventEnvelope;
use coven_model::event::{
    DeliveredInput, JobTimer, SessionCreated, SessionEvent, StopCause, StoppingEnd, TaskStarted,
    TimerPurpose,
};
use coven_model::{AgentVerdict, JobWork, TaskStatus};
use serde_json::Value;

use super::lines::short;
use crate::{ls, output, tree};

/// A fact in words, also one that is of no interest in a log.
pub(super) fn fact(event: &SessionEvent) -> String {
    match event {
        SessionEvent::SessionCreated(created) => made(created),
        SessionEvent::SessionDeleted { by, .. } => format!("deleted by {}", short(by)),
        SessionEvent::SessionImported { vouched, .. } => {
            let how = if *vouched { "with" } else { "without" };
            format!("made your own, {how} a seal for what was before")
        }
        SessionEvent::WorkflowStarted { .. } => "the run began".to_owned(),
        SessionEvent::WorkflowBlocked { .. } => "blocked: a person has to decide".to_owned(),
        SessionEvent::WorkflowResumed { .. } => "nothing waits for a person any more".to_owned(),
        SessionEvent::WorkflowStopping { end, by, why, .. } => {
            let end = match end {
                StoppingEnd::Failed => "as failed",
                StoppingEnd::Cancelled => "as cancelled",
            };
            format!("stopping, to end {end}, by {}{}", short(by), reason(why))
        }
        SessionEvent::WorkflowCompleted { .. } => "the run is completed".to_owned(),
        SessionEvent::WorkflowFailed { error, step, .. } => {
            let step = step.as_ref().map_or(String::new(), |step| format!(" in {step}"));
            format!("the run has failed{step}: {}", short(error))
        }
        SessionEvent::WorkflowCancelled { by, why, .. } => {
            format!("the run is cancelled by {}{}", short(by), reason(why))
        }
        SessionEvent::WorkflowRetried { by, why, .. } => {
            format!("tried again by {}{}", short(by), reason(why))
        }
        other => step_fact(other).or_else(|| tree_fact(other)).unwrap_or_else(|| task_fact(other)),
    }
}

fn made(created: &SessionCreated) -> String {
    let plan = created.plan.get("name").and_then(Value::as_str).unwrap_or("a workflow");
    let cause = created.cause.as_ref().map(|cause| format!(", {}", ls::cause_words(cause)));
    let goal = created.goal.as_ref().map(|goal| format!(": {}", short(goal)));
    let (cause, goal) = (cause.unwrap_or_default(), goal.unwrap_or_default());
    let trees = created.no_trees.as_deref().map(|why| format!("; without trees: {}", short(why)));
    let trees = trees.unwrap_or_default();
    format!("{} was made to run {}{cause}{goal}{trees}", short(&created.name), short(plan))
}

/// What is about steps and what waits for a person. Mostly told with more context before it comes
/// here.
fn step_fact(event: &SessionEvent) -> Option<String> {
    Some(match event {
        SessionEvent::StepStarted { step, kind, .. } => format!("{step}: started ({kind})"),
        SessionEvent::StepCompleted { step, summary, .. } => {
            format!("{step}: completed{}", reason(summary))
        }
        SessionEvent::StepLanding { step, .. } => format!("{step}: its trees are being landed"),
        SessionEvent::StepFailed { step, error, .. } => format!("{step}: failed: {}", short(error)),
        SessionEvent::StepSkipped { step, reason, .. } => {
            format!("{step}: skipped: {}", short(reason))
        }
        SessionEvent::LoopJudged { round, verdict, reason, .. } => {
            format!("round {round}: {}: {}", verdict.as_str(), short(reason))
        }
        SessionEvent::LoopExtended { limit, .. } => format!("the loop may have {limit} rounds now"),
        SessionEvent::InterventionRequired { intervention, .. } => {
            format!("? {}", short(&crate::question::asked(intervention)))
        }
        SessionEvent::InterventionResolved { decision, .. } => {
            format!("= {} by {}", decision.choice, short(&decision.by))
        }
        SessionEvent::InterventionWithdrawn { reason, .. } => {
            format!("= not asked any more: {}", short(reason))
        }
        _ => return None,
    })
}

fn tree_fact(event: &SessionEvent) -> Option<String> {
    Some(match event {
        SessionEvent::TreeWanted(wanted) => {
            let (tree, branch) = (&wanted.tree, short(&wanted.branch));
            format!("{tree}: gets a tree on {branch}: {}", short(&wanted.path))
        }
        SessionEvent::TreeReady(ready) => {
            let notes: Vec<String> = ready.notes.iter().map(|note| short(note)).collect();
            format!("{}: its tree is ready{}", ready.tree, reason(&notes.join("; ")))
        }
        SessionEvent::TreeFailed { tree, work, error, .. } => {
            format!("{tree}: its tree could not be {}: {}", work.as_participle(), short(error))
        }
        SessionEvent::TreeCheckpoint(held) => {
            let files = if held.files == 1 { "file differs" } else { "files differ" };
            format!("{}: checkpoint {}, {} {files}", held.tree, held.number, held.files)
        }
        SessionEvent::TreeLanded(landed) => {
            format!("{}: its tree was landed on {}", landed.tree, short(&landed.onto))
        }
        SessionEvent::TreeConflict { tree, onto, paths, .. } => {
            format!("{tree}: conflicts with {} in {}", short(onto), short(&paths.join(", ")))
        }
        SessionEvent::TreeKept { tree, why, .. } => {
            format!("{tree}: its tree stays: {}", short(why))
        }
        SessionEvent::TreeRemoved { tree, notes, .. } if !notes.is_empty() => {
            format!("{tree}: its tree was removed; {}", notes.join("; "))
        }
        SessionEvent::TreeRemoved { tree, .. } => format!("{tree}: its tree was removed"),
        SessionEvent::ReviewSent { job, comments, by, .. } => {
            format!("{}: a review by {by} was sent, comments: {}", job.task, comments.len())
        }
        _ => return None,
    })
}

fn task_fact(event: &SessionEvent) -> String {
    match event {
        SessionEvent::TaskStarted(started) => task_started(started),
        SessionEvent::TaskEnded(ended) => {
            let how = if ended.status == TaskStatus::Done { "done" } else { "ended" };
            format!("{}: {how}: {}", ended.job.task, short(&ended.outcome.reason))
        }
        SessionEvent::TaskStatus { job, status, .. } => {
            let words = match status {
                TaskStatus::Pending => "waits for its turn",
                TaskStatus::Running => "works",
                TaskStatus::WaitingForUser => "waits for a person",
                TaskStatus::Done => "is done",
                TaskStatus::Error => "has failed",
                TaskStatus::Cancelled => "is cancelled",
            };
            format!("{}: {words}", job.task)
        }
        SessionEvent::TaskStopping { job, cause, by, .. } => {
            let why = match cause {
                StopCause::Completed => "because its task is done",
                StopCause::Timeout => "because its time is up",
                StopCause::Unwanted => "because it is not wanted any more",
            };
            format!("{}: is being stopped by {}, {why}", job.task, short(by))
        }
        SessionEvent::TaskReleased { job, reason } => {
            format!("{}: is not followed any more: {}", job.task, short(reason))
        }
        SessionEvent::TaskExposed { job, reason } => format!("{}: {}", job.task, short(reason)),
        SessionEvent::TaskConfined { job, confinement } => {
            format!("{}: {}", job.task, short(&confinement.to_string()))
        }
        SessionEvent::TaskChannel { job, fallback: Some(reason), .. } => {
            format!("{}: is not spoken to: {}", job.task, short(reason))
        }
        SessionEvent::TaskChannel { job, channel, fallback: None } => {
            format!("{}: is spoken to by {}", job.task, short(channel))
        }
        SessionEvent::InputQueued { job, text, by, .. } => {
            let by = by.as_ref().map_or(String::new(), |by| format!(" by {}", short(by)));
            format!("{}: is to be told{by}: {}", job.task, short(text))
        }
        SessionEvent::InputDecided { intervention, decision, .. } => {
            let asked = short(&crate::question::asked(intervention));
            format!("? {asked} = {} by {}", decision.choice, short(&decision.by))
        }
        SessionEvent::InputDelivered { job, input, .. } => {
            let what = match input {
                DeliveredInput::Queued(number) => format!("was told message {number}"),
                DeliveredInput::Answer(_) => "was given the answer".to_owned(),
                DeliveredInput::Typed { text, by } => {
                    format!("{} typed into it: {}", short(by), short(text))
                }
            };
            format!("{}: {what}", job.task)
        }
        SessionEvent::InputRefused { job, reason, .. } => {
            format!("{}: the answer was not given: {}", job.task, short(reason))
        }
        SessionEvent::TimerSet { timer, due } => timer_words(timer, &output::clock(*due)),
        SessionEvent::AgentUsage { job, usage } => {
            let spent = tree::spend(usage).unwrap_or_else(|| "nothing that is known".to_owned());
            format!("{}: has used {spent}", job.task)
        }
        SessionEvent::Unknown { kind, data } => {
            format!("{kind}, a fact of a later version: {}", short(&data.to_string()))
        }
        SessionEvent::SessionCreated(_)
        | SessionEvent::SessionDeleted { .. }
        | SessionEvent::SessionImported { .. }
        | SessionEvent::WorkflowStarted { .. }
        | SessionEvent::WorkflowBlocked { .. }
        | SessionEvent::WorkflowResumed { .. }
        | SessionEvent::WorkflowStopping { .. }
        | SessionEvent::WorkflowCompleted { .. }
        | SessionEvent::WorkflowFailed { .. }
        | SessionEvent::WorkflowCancelled { .. }
        | SessionEvent::WorkflowRetried { .. }
        | SessionEvent::StepStarted { .. }
        | SessionEvent::StepCompleted { .. }
        | SessionEvent::StepFailed { .. }
        | SessionEvent::StepSkipped { .. }
        | SessionEvent::StepLanding { .. }
        | SessionEvent::TreeWanted(_)
        | SessionEvent::TreeReady(_)
        | SessionEvent::TreeFailed { .. }
        | SessionEvent::TreeCheckpoint(_)
        | SessionEvent::TreeLanded(_)
        | SessionEvent::TreeConflict { .. }
        | SessionEvent::TreeKept { .. }
        | SessionEvent::TreeRemoved { .. }
        | SessionEvent::ReviewSent { .. }
        | SessionEvent::LoopJudged { .. }
        | SessionEvent::LoopExtended { .. }
        | SessionEvent::InterventionRequired { .. }
        | SessionEvent::InterventionResolved { .. }
        | SessionEvent::InterventionWithdrawn { .. } => event.kind().to_owned(),
    }
}

fn task_started(started: &TaskStarted) -> String {
    let (id, spec) = (&started.spec.job.attempt, &started.spec);
    let again = if id.attempt > 1 { format!(", attempt {}", id.attempt) } else { String::new() };
    let (agent, told) = match &spec.work {
        JobWork::Agent(agent) => (agent.adapter.as_str(), agent.prompt.as_deref()),
        JobWork::Shell(shell) => ("shell", Some(shell.text.as_str())),
    };
    let context = match &spec.work {
        JobWork::Agent(agent) => agent.context.as_ref(),
        JobWork::Shell(_) => None,
    };
    let context = context.map(|context| format!(", {}", short(&context.to_string())));
    let (task, context) = (&id.task, context.unwrap_or_default());
    format!("{task}: started ({agent}{again}{context}){}", reason(told.unwrap_or_default()))
}

fn timer_words(timer: &JobTimer, due: &str) -> String {
    let task = &timer.job.task;
    match timer.purpose {
        TimerPurpose::Timeout => format!("{task}: is stopped at {due}, if it still runs then"),
        TimerPurpose::Retry => format!("{task}: is tried again at {due}"),
    }
}

/// What is only told while it happens, in words.
pub(super) fn live(envelope: &EventEnvelope) -> Option<String> {
    let text = |key: &str| envelope.data.get(key).and_then(Value::as_str).unwrap_or_default();
    let task = text("task");
    Some(match envelope.kind.as_str() {
        "task.output" => format!("{task}: printed: {}", short(text("clean"))),
        "task.state" => {
            let verdict = envelope.data.get("verdict")?;
            let verdict: AgentVerdict = serde_json::from_value(verdict.clone()).ok()?;
            format!("{task}: {}", tree::doing_words(&verdict))
        }
        "session.restored" => "its folder was deleted, and is written again from memory".to_owned(),
        "session.storage" => return storage_problem(envelope),
        "session.trigger" => short(text("problem")),
        _ => return None,
    })
}

/// What a session waits for that cannot record anything, such as disk space.
pub(super) fn storage_problem(envelope: &EventEnvelope) -> Option<String> {
    let problem = (envelope.kind == "session.storage").then(|| envelope.data.get("problem"))??;
    Some(format!("it {}", output::one_line(problem.as_str()?)))
}

fn reason(text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!(": {}", short(text)) }
}
