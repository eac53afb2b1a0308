//! What jobs and timers report: that a job started, ended or is lost, and that it is time.

use coven_model::event::{
    JobConfinement, JobTimer, SessionEvent, StopCause, TaskEnded, TaskRole, TimerPurpose,
};
use coven_model::{
    AgentMode, AttemptId, JobOutcome, JobWork, ProcessEnding, TaskStatus, TokenUsage,
};
use serde_json::Value;

use super::DecisionDraft;
use crate::command::Command;
use crate::expect::ExpectedOutput;
use crate::plan::{MAX_LOST_RETRIES, OnLost, PlanStep, StepAction, stage_task};
use crate::rules::DecisionRule;
use crate::state::{LiveJob, RunPhase, TaskRun, WorkflowRun};

/// Why an attempt failed whose agent said nothing.
const EMPTY_ANSWER: &str = "the agent says it is done, and its answer is empty";

impl DecisionDraft {
    /// A job's time runs from when its process is there, not from when it was asked for.
    pub(super) fn job_started(&mut self, job: &AttemptId) {
        let running = self.run().filter(|run| run.phase == RunPhase::Running);
        let Some(live) = running.and_then(|run| run.live(job)) else { return };
        if let (Some(timeout), None, None) = (live.spec.timeout, live.deadline, &live.stop) {
            let timer = JobTimer { job: job.clone(), purpose: TimerPurpose::Timeout };
            let due = self.now.after(timeout);
            self.record(SessionEvent::TimerSet { timer, due });
        }
    }

    pub(super) fn job_ended(&mut self, job: &AttemptId, outcome: JobOutcome) {
        let Some(run) = self.run() else { return };
        if run.kept.get(&job.task) == Some(&job.attempt) {
            self.withdraw(job, "the agent has ended");
            let (job, reason) = (job.clone(), outcome.reason);
            return self.record(SessionEvent::TaskReleased { job, reason });
        }
        if run.is_over() && self.holds(DecisionRule::FinalAbsorbs) {
            return;
        }
        let Some(task) = run.task(&job.task) else { return };
        if task.attempt != job.attempt && self.holds(DecisionRule::OutcomesCountOnce) {
            return;
        }
        let Some(live) = task.live() else { return };
        let Some((_, step, _)) = self.step_of(&job.task) else { return };
        let job = task.job();
        let (outcome, status, value) = judged(run, step, task, live, outcome);
        self.withdraw(&job, "the job has ended");
        let at = self.now;
        self.record(SessionEvent::TaskEnded(Box::new(TaskEnded {
            job,
            outcome,
            status,
            value,
            at,
        })));
    }

    pub(super) fn job_lost(&mut self, job: &AttemptId) {
        self.job_ended(
            job,
            JobOutcome::new(
                false,
                ProcessEnding::Lost,
                "its process is gone, and its exit status was not recorded",
            ),
        );
    }

    /// A task is done though its agent lives on.
    pub(super) fn end_alive(&mut self, job: AttemptId, by: &str, output: Option<String>) {
        let reason = format!("completed by {by}, and left alive");
        let outcome = JobOutcome { output, ..JobOutcome::new(true, ProcessEnding::Alive, reason) };
        let (status, value, at) = (TaskStatus::Done, None, self.now);
        // What it asked was about the task, and is withdrawn. If it still asks, a person is asked
        // again: about the agent.
        let look = Command::Observe(job.clone());
        self.record(SessionEvent::TaskEnded(Box::new(TaskEnded {
            job,
            outcome,
            status,
            value,
            at,
        })));
        self.commands.push(look);
    }

    /// Told once, however often it is seen.
    pub(super) fn exposed(&mut self, job: AttemptId, reason: String) {
        if self.run().and_then(|run| run.live(&job)).is_some_and(|live| !live.exposed) {
            self.record(SessionEvent::TaskExposed { job, reason });
        }
    }

    /// Told once, however often it is seen.
    pub(super) fn confined(&mut self, job: AttemptId, confinement: JobConfinement) {
        if self.run().and_then(|run| run.live(&job)).is_some_and(|live| !live.confined) {
            self.record(SessionEvent::TaskConfined { job, confinement });
        }
    }

    /// Told once, however often it is seen.
    pub(super) fn speaks(&mut self, job: AttemptId, channel: String, fallback: Option<String>) {
        if self.run().and_then(|run| run.live(&job)).is_some_and(|live| live.channel.is_none()) {
            self.record(SessionEvent::TaskChannel { job, channel, fallback });
        }
    }

    pub(super) fn usage_reported(&mut self, job: AttemptId, usage: TokenUsage) {
        let known = self.run().and_then(|run| run.live(&job)).map(|live| live.usage);
        if known.is_some_and(|known| known != usage) {
            self.record(SessionEvent::AgentUsage { job, usage });
        }
    }

    /// Whatever is due is done by settling; only the end of a job's time is an event of its own.
    pub(super) fn timer_fired(&mut self, timer: JobTimer) {
        let Some(run) = self.run().filter(|run| run.phase == RunPhase::Running) else { return };
        let due = match timer.purpose {
            TimerPurpose::Timeout => {
                let live = run.live(&timer.job).filter(|live| live.stop.is_none());
                live.and_then(|live| live.deadline)
            }
            TimerPurpose::Retry => {
                let task = run.task(&timer.job.task);
                let task = task.filter(|task| task.next_attempt() == timer);
                task.and_then(TaskRun::due)
            }
        };
        match due {
            // The clock that fired and the one we are told the time by need not agree.
            Some(due) if due > self.now => self.commands.push(Command::SetTimer { timer, due }),
            Some(_) if timer.purpose == TimerPurpose::Timeout => {
                let (job, cause) = (timer.job, StopCause::Timeout);
                self.withdraw(&job, "its time is up");
                let by = "its timeout".to_owned();
                self.record(SessionEvent::TaskStopping { job, cause, by, output: None });
            }
            _ => {}
        }
    }
}

/// How an attempt counts, everything considered: what the process said, why it was stopped, what
/// was expected of its output, and how many attempts there are.
fn judged(
    run: &WorkflowRun,
    step: &PlanStep,
    task: &TaskRun,
    live: &LiveJob,
    mut outcome: JobOutcome,
) -> (JobOutcome, TaskStatus, Option<Value>) {
    if outcome.output.is_none() {
        let last = || outcome.ok.then(|| run.last_answer(live)).flatten();
        outcome.output = live.output.clone().or_else(last);
    }
    let cause = live.stop.as_ref().map(|(cause, by)| (*cause, by.as_str()));
    match cause {
        Some((StopCause::Completed, by)) => {
            outcome.ok = true;
            outcome.reason = format!("completed by {by}");
        }
        Some((StopCause::Timeout, _)) => {
            // Some programs say 0 when they are told to stop; that is no success.
            let limit = live.spec.timeout.unwrap_or_default();
            outcome.ok = false;
            outcome.ending = ProcessEnding::TimedOut;
            let retrying = outcome.retry.as_ref().map(|retry| format!(", {retry}"));
            outcome.reason =
                format!("it took longer than {limit:?}{}", retrying.unwrap_or_default());
        }
        Some((StopCause::Unwanted, by)) => {
            outcome.ok = false;
            outcome.reason = format!("stopped by {by}");
        }
        None => accept_exit(live, &mut outcome),
    }
    let is_check = matches!(task.role, TaskRole::Check(_));
    if is_check && says_something(&outcome) && !matches!(cause, Some((StopCause::Unwanted, _))) {
        outcome.ok = true;
    }
    let mut value = None;
    if outcome.ok && outcome.omitted > 0 && !is_check {
        let has_name = step.output.is_some() || step.of_task(task.role).0.output.is_some();
        let is_used = has_name || *step.expected(task.role) != ExpectedOutput::Text;
        judge_cut_output(is_used, &mut outcome);
    }
    if outcome.ok {
        let expected = step.expected(task.role);
        match expected.read(outcome.output.as_deref().unwrap_or_default()) {
            Ok(_) if is_empty_answer(task, live, expected, &outcome) => {
                outcome.ok = false;
                EMPTY_ANSWER.clone_into(&mut outcome.reason);
            }
            Ok(Value::String(_)) if expected.is_any_text() => {}
            Ok(read) => value = Some(read),
            Err(mismatch) => {
                outcome.ok = false;
                outcome.reason = mismatch.to_string();
            }
        }
    }
    let stopping = matches!(run.phase, RunPhase::Stopping { .. });
    let unwanted = matches!(cause, Some((StopCause::Unwanted, _)));
    let status = if outcome.ok {
        TaskStatus::Done
    } else if stopping {
        TaskStatus::Cancelled
    } else if (task.attempt < task.limit && !unwanted)
        || is_retried_loss(step, task, &outcome)
        || task.refusal(&outcome).is_some()
        || task.begins_afresh(&outcome)
    {
        TaskStatus::Pending
    } else {
        TaskStatus::Error
    };
    (outcome, status, value)
}

/// Whether the command of a loop came to an end that says whether the loop is done: tests that crash
/// or hang are as little done as tests that fail.
fn says_something(outcome: &JobOutcome) -> bool {
    matches!(
        outcome.ending,
        ProcessEnding::Exited { .. } | ProcessEnding::Signalled { .. } | ProcessEnding::TimedOut
    )
}

/// An output that is longer than a value may be, or of which the disk took only a part, is no result
/// of a step whose result is used: the steps after it would work with a part of it.
fn judge_cut_output(is_used: bool, outcome: &mut JobOutcome) {
    let kept = outcome.output.as_ref().map_or(0, String::len);
    let whole = kept as u64 + outcome.omitted;
    let lost = outcome.lost_words();
    outcome.ok = !is_used;
    outcome.reason = match lost {
        Some(lost) if is_used => format!("{lost}; make room, and let it run again"),
        Some(lost) => lost,
        None if is_used => format!(
            "only {kept} of the {whole} bytes of its output could be kept; let it write a file and \
             print the path"
        ),
        None => format!("only {kept} of the {whole} bytes of its output could be kept"),
    };
}

/// Whether a lost job is started again because its step says so.
fn is_retried_loss(step: &PlanStep, task: &TaskRun, outcome: &JobOutcome) -> bool {
    let own = step.of_task(task.role).0;
    let most = own.retry.attempts.max(1).saturating_add(MAX_LOST_RETRIES);
    // An attempt whose program refused to be spoken to is none of these.
    let most = most.saturating_add(u32::from(task.without_channel.is_some()));
    outcome.ending == ProcessEnding::Lost
        && on_lost(step, task.role) == Some(OnLost::Retry)
        && task.attempt < most
}

/// What the definition says about a lost job.
pub(super) fn on_lost(step: &PlanStep, role: TaskRole) -> Option<OnLost> {
    match &step.action {
        StepAction::Stage { tasks } => stage_task(tasks, role).and_then(|task| task.on_lost),
        _ => step.on_lost,
    }
}

/// Whether a headless agent says that it is done and has said nothing, which is what a broken model
/// or proxy looks like. An outcome without any output is of a program that has no answers. An arbiter
/// that says nothing is asked again.
fn is_empty_answer(
    task: &TaskRun,
    live: &LiveJob,
    expected: &ExpectedOutput,
    outcome: &JobOutcome,
) -> bool {
    let headless =
        matches!(&live.spec.work, JobWork::Agent(agent) if agent.mode == AgentMode::Headless);
    headless
        && *expected == ExpectedOutput::Text
        && !matches!(task.role, TaskRole::Arbiter(_))
        && outcome.output.as_ref().is_some_and(|output| output.trim().is_empty())
}

/// An exit is a success only if its code is one that was agreed on. Codes other than those are
/// failures whatever else is said, and a failed result stays one whatever the code is.
fn accept_exit(live: &LiveJob, outcome: &mut JobOutcome) {
    if let ProcessEnding::Exited { code } = outcome.ending
        && outcome.ok
        && !live.spec.ok_exit_codes.accept(code)
    {
        outcome.ok = false;
        outcome.reason = format!("exit code {code}");
    }
    if matches!(
        outcome.ending,
        ProcessEnding::Lost | ProcessEnding::TimedOut | ProcessEnding::NotStarted
    ) {
        outcome.ok = false;
    }
}
