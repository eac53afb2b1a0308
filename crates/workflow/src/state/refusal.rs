//! Whether something that a person asks for can be done now, and if not, why.
//!
//! `decide` ignores what cannot be done. A caller that takes requests from people asks here first,
//! so that the answer can say why.

use coven_model::event::{InterventionDecision, StoppingEnd, TaskRole};
use coven_model::{
    ContentDigest, EntryError, InterventionChoice, InterventionId, TaskId, TaskStatus,
    WorkflowStatus,
};

use super::{AnswerPhase, LiveJob, RunPhase, State, StepProgress, WorkflowRun};
use crate::input::SessionInput;
use crate::plan::StepAction;
use crate::rules::DecisionRule;

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    #[error("the session does not exist")]
    NoSession,
    /// There is one already.
    #[error("the session exists already")]
    Exists,
    /// It can only be looked at.
    #[error("the session can only be looked at: {0}")]
    Closed(String),
    #[error("the run has begun already")]
    Begun,
    #[error("the run has not begun")]
    NotBegun,
    #[error("the run is {0}")]
    Over(WorkflowStatus),
    #[error("the run is {0}; cancel it first")]
    NotOver(WorkflowStatus),
    /// The run is about to end.
    #[error("the run is being stopped")]
    Stopping,
    /// No such intervention, or it is not open any more.
    #[error("nothing waits under {0}; it was decided already, or it is not asked any more")]
    NoIntervention(InterventionId),
    /// Not among the choices.
    #[error("`{choice}` is not possible here; choose {}", list(options))]
    NotAnOption {
        choice: InterventionChoice,
        /// What can be chosen.
        options: Vec<InterventionChoice>,
    },
    /// The choice is worth nothing without a text.
    #[error("`{0}` needs a text")]
    NeedsText(InterventionChoice),
    /// The answer is none of the entries.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The decider saw something else.
    #[error("what is asked has changed since it was shown; look at it again")]
    OtherDigest,
    /// No such task, or it was never started.
    #[error("there is no task `{0}` that was started")]
    NoTask(TaskId),
    /// The task has no live job.
    #[error("task `{task}` is {status}, so there is nothing to do about it")]
    NotLive { task: TaskId, status: TaskStatus },
    /// Only interactive tasks can be called done.
    #[error("task `{0}` is not interactive; it is done when its process ends")]
    NotInteractive(TaskId),
    /// The agent asks something, and a message would answer it.
    #[error("the agent of `{0}` waits for an answer; the message was not sent")]
    Awaiting(TaskId),
    /// The job is being stopped already.
    #[error("task `{0}` is being stopped already")]
    TaskStopping(TaskId),
    /// Only an attempt of a step that is not over can begin.
    #[error("the step of `{0}` is over, so no other attempt of it can begin")]
    StepOver(TaskId),
    /// Its agent was started in the meantime.
    #[error("task `{0}` works again; send it once more")]
    WorksAgain(TaskId),
    /// A command reads no review.
    #[error("task `{0}` has no agent that could read a review")]
    NoAgent(TaskId),
    #[error("nothing failed that could be tried again")]
    NothingToRetry,
    /// Another request has started the retry that this one asks for.
    #[error("it was tried again already")]
    AlreadyRetried,
}

fn list(options: &[InterventionChoice]) -> String {
    let names: Vec<&str> = options.iter().map(|choice| choice.as_str()).collect();
    names.join(", ")
}

impl State {
    /// Whether a request can be carried out now. Reports of what happened are always admitted.
    pub fn admits(&self, input: &SessionInput) -> Result<(), RefusalReason> {
        if let Some(why) = &self.closed {
            return Err(RefusalReason::Closed(why.clone()));
        }
        let Some(run) = &self.run else {
            return match input {
                SessionInput::Create(_) => Ok(()),
                _ => Err(RefusalReason::NoSession),
            };
        };
        match input {
            SessionInput::Create(_) => Err(RefusalReason::Exists),
            SessionInput::Begin if run.phase == RunPhase::Created => Ok(()),
            SessionInput::Begin => Err(RefusalReason::Begun),
            SessionInput::Resolve { intervention, decision, digest } => {
                run.admits_decision(intervention, decision, digest.as_ref())
            }
            SessionInput::Message { task, text, .. } => run.admits_message(task, text),
            SessionInput::Reviewed(review) if review.prompt.is_some() => {
                run.admits_attempt(&review.job.task)
            }
            SessionInput::Complete { task, .. } => run.admits_end(task, true),
            SessionInput::StopTask { task, .. } => run.admits_end(task, false),
            SessionInput::Cancel { .. } => match &run.phase {
                RunPhase::Stopping { end: StoppingEnd::Cancelled, .. } => {
                    Err(RefusalReason::Stopping)
                }
                _ if run.is_over() => Err(RefusalReason::Over(run.status())),
                _ => Ok(()),
            },
            SessionInput::Retry { run: wish, .. } => {
                if *wish != run.retries && self.rules.hold(DecisionRule::RetriedOnce) {
                    return Err(RefusalReason::AlreadyRetried);
                }
                run.retryable().map(|_| ())
            }
            SessionInput::Delete { .. } if !run.is_over() => {
                Err(RefusalReason::NotOver(run.status()))
            }
            _ => Ok(()),
        }
    }
}

/// What trying again means for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetryTarget {
    /// It failed and goes on with the steps that failed.
    Failed,
    /// It waits, and these decisions about these interventions are what trying again means.
    Blocked(Vec<(u64, InterventionChoice)>),
}

impl WorkflowRun {
    fn require_running(&self) -> Result<(), RefusalReason> {
        match &self.phase {
            RunPhase::Created => Err(RefusalReason::NotBegun),
            RunPhase::Running => Ok(()),
            RunPhase::Stopping { .. } => Err(RefusalReason::Stopping),
            _ => Err(RefusalReason::Over(self.status())),
        }
    }

    /// Whether agents that were left alive are still attended to.
    fn require_kept(&self) -> Result<(), RefusalReason> {
        if self.attends_kept() { Ok(()) } else { Err(RefusalReason::Stopping) }
    }

    fn admits_decision(
        &self,
        id: &InterventionId,
        decision: &InterventionDecision,
        digest: Option<&ContentDigest>,
    ) -> Result<(), RefusalReason> {
        let Some((number, pending)) = self.pending(id) else {
            return Err(RefusalReason::NoIntervention(id.clone()));
        };
        if self.kept_interventions.contains_key(&number) {
            self.require_kept()?;
        } else {
            self.require_running()?;
        }
        let options = &pending.intervention.options;
        if !options.contains(&decision.choice) {
            let options = options.clone();
            return Err(RefusalReason::NotAnOption { choice: decision.choice, options });
        }
        let asked = &pending.intervention.digest;
        if digest.is_some_and(|digest| asked.as_ref().is_some_and(|asked| asked != digest)) {
            return Err(RefusalReason::OtherDigest);
        }
        let needs =
            matches!(decision.choice, InterventionChoice::Answer | InterventionChoice::Send);
        let takes_empty = pending.intervention.takes_empty(decision.choice);
        let is_given = |text: &String| takes_empty || !text.is_empty();
        let has_text = decision.secret || decision.text.as_ref().is_some_and(is_given);
        if needs && decision.handler.is_none() && decision.entry.is_none() && !has_text {
            return Err(RefusalReason::NeedsText(decision.choice));
        }
        pending.intervention.read_answer(decision.clone())?;
        Ok(())
    }

    fn admits_message(&self, id: &TaskId, text: &str) -> Result<(), RefusalReason> {
        let addressee = self.addressee(id);
        match &addressee {
            Some((job, live)) if self.kept_job(job).is_some() => {
                self.require_kept()?;
                if live.stop.is_some() {
                    return Err(RefusalReason::TaskStopping(id.clone()));
                }
            }
            _ => self.admits_end(id, true)?,
        }
        if text.trim().is_empty() {
            return Err(RefusalReason::NeedsText(InterventionChoice::Send));
        }
        let live = addressee.map(|(_, live)| live);
        let asks = |live: &LiveJob| {
            live.asked
                .iter()
                .any(|asked| matches!(asked.answer, AnswerPhase::Open | AnswerPhase::Decided(_)))
        };
        if live.is_some_and(asks) {
            return Err(RefusalReason::Awaiting(id.clone()));
        }
        Ok(())
    }

    /// Whether another attempt of a task that has ended can begin.
    fn admits_attempt(&self, id: &TaskId) -> Result<(), RefusalReason> {
        let Some(task) = self.task(id) else { return Err(RefusalReason::NoTask(id.clone())) };
        if !matches!(self.phase, RunPhase::Failed { .. }) {
            self.require_running()?;
        }
        let active = self.active_of(id).and_then(|index| self.step_at(index));
        let Some((_, step, state)) = active else {
            return Err(RefusalReason::StepOver(id.clone()));
        };
        if task.live().is_some() {
            return Err(RefusalReason::WorksAgain(id.clone()));
        }
        let has_agent = match &step.action {
            StepAction::Stage { .. } | StepAction::ParallelAgents { .. } => true,
            StepAction::Agent { .. } | StepAction::AgentLoop { .. } => {
                // Another round would follow; only when all are done does one stand alone.
                let is_alone = state.landing.is_some() || task.role == TaskRole::Main;
                is_alone && !task.role.is_judge()
            }
            // Another round would follow, or another step of the round.
            StepAction::Loop { .. }
            | StepAction::ForEach { .. }
            | StepAction::Script { .. }
            | StepAction::Gate { .. } => false,
        };
        if has_agent { Ok(()) } else { Err(RefusalReason::NoAgent(id.clone())) }
    }

    /// Whether a task that is not alive is to begin again with a review.
    pub(crate) fn has_waiting_review(&self) -> bool {
        self.active().any(|(_, _, state)| state.has_waiting_review())
    }

    fn admits_end(&self, id: &TaskId, as_done: bool) -> Result<(), RefusalReason> {
        let Some(task) = self.task(id) else { return Err(RefusalReason::NoTask(id.clone())) };
        let Some(live) = task.live() else {
            let status = self.task_status(id).unwrap_or_default();
            return Err(RefusalReason::NotLive { task: id.clone(), status });
        };
        self.require_running()?;
        if as_done && !live.converses() {
            return Err(RefusalReason::NotInteractive(id.clone()));
        }
        if live.stop.is_some() {
            return Err(RefusalReason::TaskStopping(id.clone()));
        }
        Ok(())
    }

    /// What trying again means now.
    pub(crate) fn retryable(&self) -> Result<RetryTarget, RefusalReason> {
        if matches!(self.phase, RunPhase::Failed { .. }) {
            return Ok(RetryTarget::Failed);
        }
        self.require_running()?;
        let blocked = self.active().filter_map(|(_, _, step)| match step.progress {
            StepProgress::Blocked { intervention } => {
                self.interventions.get_key_value(&intervention)
            }
            _ => None,
        });
        let again = blocked.filter_map(|(number, pending)| {
            let again = [InterventionChoice::Retry, InterventionChoice::RetryFailed].into_iter();
            let mut again = again.filter(|choice| pending.intervention.options.contains(choice));
            Some((*number, again.next()?))
        });
        let again: Vec<(u64, InterventionChoice)> = again.collect();
        if again.is_empty() {
            return Err(RefusalReason::NothingToRetry);
        }
        Ok(RetryTarget::Blocked(again))
    }
}
