//! Decides what follows when something happens: the facts to write down and the orders to give.
//!
//! A decision has two parts. `dispatch_input` turns the input into facts. `settle` then looks at the state
//! alone and writes down whatever follows from it, until nothing does. Because settling needs no
//! input, a journal that was cut anywhere goes on as if it had not been: recovery settles.
//!
//! Both are total: what makes no sense in a state, comes twice or comes too late, changes nothing.

mod agents;
mod begin;
mod jobs;
mod many;
mod people;
mod question;
mod rounds;
mod settle;
mod single;
mod spec;
mod steps;
#[cfg(test)]
mod tests;
mod trees;

pub(crate) use question::question_line;

use coven_model::event::SessionEvent;
use coven_model::{AttemptId, Intervention, InterventionId, InterventionKind, TaskId, Timestamp};

use crate::command::Command;
use crate::fold::fold;
use crate::input::{SentReview, SessionInput};
use crate::plan::PlanStep;
use crate::rules::DecisionRule;
use crate::state::{LiveJob, State, StepRun, WorkflowRun};

/// What follows when `input` happens at `now`: facts to write down first, and orders to give then.
pub fn decide(
    state: &State,
    input: SessionInput,
    now: Timestamp,
) -> (Vec<SessionEvent>, Vec<Command>) {
    let mut draft = DecisionDraft::new(state, now);
    if state.closed().is_none() && state.admits(&input).is_ok() {
        draft.dispatch_input(input);
        draft.settle();
        draft.order_trees(state);
    }
    draft.drop_stopped_starts();
    (draft.events, draft.commands)
}

/// A decision in the making: the state as it will be, and what led there.
struct DecisionDraft {
    state: State,
    now: Timestamp,
    events: Vec<SessionEvent>,
    commands: Vec<Command>,
    /// The step that is being settled.
    step: Option<u32>,
}

impl DecisionDraft {
    fn new(state: &State, now: Timestamp) -> Self {
        let (events, commands) = (Vec::new(), Vec::new());
        Self { state: state.clone(), now, events, commands, step: None }
    }

    /// Writes down a fact, and what is to be done because of it.
    fn record(&mut self, event: SessionEvent) {
        let subject = self.state.subject(&event);
        self.state = fold(std::mem::take(&mut self.state), &event);
        self.commands.extend(self.state.orders_after(&event, subject.as_ref()));
        self.events.push(event);
    }

    /// What was to be started and, further on in the same decision, to be stopped: never started.
    fn drop_stopped_starts(&mut self) {
        let stopped: Vec<AttemptId> = self
            .commands
            .iter()
            .filter_map(|command| match command {
                Command::Stop(job) => Some(job.clone()),
                _ => None,
            })
            .collect();
        if !stopped.is_empty() {
            self.commands.retain(|command| match command {
                Command::Start(spec) => !stopped.contains(&spec.job.attempt),
                _ => true,
            });
        }
    }

    fn run(&self) -> Option<&WorkflowRun> {
        self.state.run()
    }

    fn holds(&self, rule: DecisionRule) -> bool {
        self.state.rules.hold(rule)
    }

    /// The step that is being settled, or else the one whose turn it is.
    fn current(&self) -> Option<(u32, &PlanStep, &StepRun)> {
        let run = self.run()?;
        match self.step {
            Some(index) => run.step_at(index),
            None => run.current(),
        }
    }

    /// The step of a task, if it is its turn, or else the current one.
    fn step_of(&self, task: &TaskId) -> Option<(u32, &PlanStep, &StepRun)> {
        let run = self.run()?;
        match run.active_of(task) {
            Some(index) => run.step_at(index),
            None => self.current(),
        }
    }

    fn dispatch_input(&mut self, input: SessionInput) {
        match input {
            SessionInput::Create(creation) => self.create(*creation),
            SessionInput::Begin => self.record(SessionEvent::WorkflowStarted { at: self.now }),
            SessionInput::Recover => self.recover(),
            SessionInput::Started(job) => self.job_started(&job),
            SessionInput::Ended { job, outcome } => self.job_ended(&job, *outcome),
            SessionInput::Lost(job) => self.job_lost(&job),
            SessionInput::Observed { job, seen, what } => self.observed(&job, seen, what),
            SessionInput::Delivered { job, number, seen } => self.delivered(job, number, seen),
            SessionInput::Undelivered { job, number, attempt, reason, typable } => {
                self.undelivered(&job, (number, attempt), &reason, typable);
            }
            SessionInput::PromptUndelivered { job, reason, typable } => {
                self.prompt_undelivered(&job, &reason, typable);
            }
            SessionInput::Answered { intervention, seen } => self.answered(&intervention, seen),
            SessionInput::Stale { intervention, reason, pressed } => {
                self.answer_is_stale(&intervention, reason, pressed);
            }
            SessionInput::Unheard { job } => self.look_again(job),
            SessionInput::Typed { job, text, by } => self.typed(job, text, by),
            SessionInput::Exposed { job, reason } => self.exposed(job, reason),
            SessionInput::Confined { job, confinement } => self.confined(job, *confinement),
            SessionInput::Speaks { job, channel, fallback } => {
                self.speaks(job, channel, fallback);
            }
            SessionInput::Used { job, usage } => self.usage_reported(job, usage),
            SessionInput::Tree(report) => self.tree_reported(*report),
            SessionInput::TimerFired(timer) => self.timer_fired(timer),
            SessionInput::Expired(intervention) => self.expired(intervention),
            SessionInput::Resolve { intervention, decision, .. } => {
                self.resolve(intervention, *decision);
            }
            SessionInput::Message { task, text, by } => self.message(&task, text, by),
            SessionInput::Reviewed(review) => {
                let SentReview { job, comments, summary, prompt, run, by } = *review;
                let at = self.now;
                let sent = SessionEvent::ReviewSent { job, comments, summary, prompt, run, by, at };
                self.record(sent);
            }
            SessionInput::Complete { task, by } => self.complete(&task, by),
            SessionInput::StopTask { task, by } => self.stop_task(&task, by),
            SessionInput::Cancel { by, why } => self.cancel(by, why),
            SessionInput::Retry { by, why, .. } => self.retry(by, why),
            SessionInput::Delete { by } => {
                self.record(SessionEvent::SessionDeleted { by, at: self.now });
            }
        }
    }

    /// An intervention that is about to be required.
    fn intervention(
        &self,
        kind: InterventionKind,
        task: Option<TaskId>,
        reason: String,
    ) -> Option<Intervention> {
        let run = self.run()?;
        // What an agent asks that was left alive belongs to its own step, which is over.
        let kept = task.as_ref().filter(|task| run.kept_jobs.contains_key(*task));
        let step = match (kept.and_then(|task| run.identity.locate(task)), &task) {
            (Some((place, _)), _) => run.identity.plan.steps.get(place)?,
            (None, Some(task)) => self.step_of(task)?.1,
            (None, None) => self.current()?.1,
        };
        let id = InterventionId::in_session(run.session(), run.next_intervention);
        let intervention = Intervention::new(id, &step.name, kind, self.now);
        Some(Intervention { task, reason, ..intervention })
    }

    /// The step waits for a person, who is shown the end of what the task printed.
    fn open_intervention(&mut self, kind: InterventionKind, task: Option<TaskId>, reason: String) {
        let excerpt = task.as_ref().and_then(|task| self.run()?.task(task));
        let excerpt = excerpt.map(|task| task.excerpt.clone()).unwrap_or_default();
        if let Some(mut intervention) = self.intervention(kind, task, reason) {
            intervention.excerpt = excerpt;
            let intervention = Box::new(intervention);
            self.record(SessionEvent::InterventionRequired { intervention, attempt: None });
        }
    }

    /// Withdraws every open intervention of this job.
    fn withdraw(&mut self, job: &AttemptId, reason: &str) {
        let live = self.run().and_then(|run| run.alive(job));
        let open = live.into_iter().flat_map(LiveJob::open).collect();
        self.withdraw_each(open, reason);
    }

    /// Withdraws those that are about what the agent showed until now.
    fn withdraw_questions(&mut self, job: &AttemptId, reason: &str) {
        let live = self.run().and_then(|run| run.alive(job));
        let open = live.into_iter().flat_map(LiveJob::open_questions).collect();
        self.withdraw_each(open, reason);
    }

    fn withdraw_each(&mut self, open: Vec<u64>, reason: &str) {
        for number in open {
            let Some(run) = self.run() else { return };
            let id = InterventionId::in_session(run.session(), number);
            let (reason, at) = (reason.to_owned(), self.now);
            self.record(SessionEvent::InterventionWithdrawn { id, reason, at });
        }
    }
}
