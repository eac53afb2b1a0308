//! The published state of a session: what every reader reads.
//!
//! The session's actor publishes a new snapshot after each durable fact, and a session that is over
//! gives the same type folded from the disk. A snapshot shares its structure with the state it was
//! taken of, and what is made from it (the readable view, the plan) is made when it is first read,
//! so publishing costs what changed and not what there is.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use coven_model::event::AttemptPlace;
use coven_model::{
    AgentMode, AgentState, AgentVerdict, AttemptId, AutoAnswer, Intervention, InterventionId,
    ModelRetry, PlanView, SessionId, SessionView, TaskId, TaskStatus, Timestamp, WorkflowStatus,
};
use coven_runner::AgentRunner;
use coven_workflow::State;
use coven_workflow::attention::ShownActivity;
use coven_workflow::plan::StepAction;
use coven_workflow::state::{AnswerPhase, LiveJob, RefusedQuestion, TaskRun, WorkflowRun};
use coven_workflow::view::{SessionViewBuilder, plan_view};
use parking_lot::RwLock;

use crate::engine::{Runner, RunnerSlot};
use crate::error::RequestError;
use crate::state::WorkflowSession;

/// A session after its last durable fact. Immutable, but for what its agents are doing right now.
#[derive(Debug)]
pub struct SessionSnapshot {
    id: SessionId,
    last_seq: u64,
    state: State,
    viewer: SessionViewBuilder,
    jobs: LiveJobs,
    view: OnceLock<Option<SessionView>>,
    plan: OnceLock<Option<PlanView>>,
}

/// The jobs that a session's actor follows, shared with its snapshots.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveJobs(Arc<RwLock<HashMap<AttemptId, RunnerSlot>>>);

impl LiveJobs {
    pub(crate) fn insert(&self, job: AttemptId, runner: RunnerSlot) {
        self.0.write().insert(job, runner);
    }

    pub(crate) fn remove(&self, job: &AttemptId) {
        self.0.write().remove(job);
    }

    fn runner(&self, job: &AttemptId) -> Option<Runner> {
        let jobs = self.0.read();
        jobs.get(job)?.get()
    }

    fn is_queued(&self, job: &AttemptId) -> bool {
        self.0.read().get(job).is_some_and(RunnerSlot::is_queued)
    }

    fn look_words(&self, job: &AttemptId) -> Option<String> {
        self.0.read().get(job).and_then(RunnerSlot::look_words)
    }

    /// What is looked at for jobs now, by attempt.
    fn looks(&self) -> Vec<(AttemptId, String)> {
        let jobs = self.0.read();
        jobs.iter().filter_map(|(job, slot)| Some((job.clone(), slot.look_words()?))).collect()
    }

    fn agents(&self) -> Vec<(AttemptId, AgentRunner)> {
        let jobs = self.0.read();
        let agents = jobs.iter().filter_map(|(job, slot)| match slot.get()? {
            Runner::Agent(agent) => Some((job.clone(), agent)),
            Runner::Headless(_) => None,
        });
        agents.collect()
    }

    fn retries(&self) -> Vec<(AttemptId, ModelRetry)> {
        let jobs = self.0.read();
        let retries = jobs.iter().filter_map(|(job, slot)| {
            let verdict = match slot.get()? {
                Runner::Agent(agent) => agent.verdict(),
                Runner::Headless(agent) => agent.verdict(),
            };
            let retry = verdict.retry.filter(|_| verdict.state == AgentState::Working)?;
            Some((job.clone(), *retry))
        });
        retries.collect()
    }
}

/// The newest attempt of a task that was started.
#[derive(Clone, Debug)]
pub struct TaskSnapshot {
    /// The id of the attempt within its session.
    pub attempt: AttemptId,
    /// Where the folder of the attempt lies.
    pub place: AttemptPlace,
    /// The status of the task.
    pub status: TaskStatus,
    /// Its agent's type, or `shell` for a command.
    pub adapter: String,
    /// With a terminal or without.
    pub mode: AgentMode,
    /// Whether its process is not started yet because as many jobs run as may at once.
    pub queued: bool,
    /// What is done for it before or after its process, which may take a while.
    pub doing: Option<String>,
    pub(crate) runner: Option<Runner>,
}

impl TaskSnapshot {
    /// Whether a process of it is followed.
    pub fn is_live(&self) -> bool {
        self.runner.is_some()
    }

    /// What its agent is doing, and since when.
    pub fn verdict(&self) -> Option<(AgentVerdict, Timestamp)> {
        match &self.runner {
            Some(Runner::Agent(agent)) => Some((agent.verdict(), agent.since())),
            Some(Runner::Headless(agent)) => Some((agent.verdict(), agent.since())),
            None => None,
        }
    }
}

impl SessionSnapshot {
    pub(crate) fn new(session: &WorkflowSession, jobs: LiveJobs) -> Self {
        let (state, viewer) = (session.state().clone(), session.viewer().clone());
        Self::of_parts(session.id().clone(), session.last(), state, viewer, jobs)
    }

    pub(crate) fn of_parts(
        id: SessionId,
        last_seq: u64,
        state: State,
        viewer: SessionViewBuilder,
        jobs: LiveJobs,
    ) -> Self {
        let (view, plan) = (OnceLock::new(), OnceLock::new());
        Self { id, last_seq, state, viewer, jobs, view, plan }
    }

    /// The id of the session this is a snapshot of.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The number of the last fact that is in it.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// The fold of the session's facts.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The status of the run.
    pub fn status(&self) -> WorkflowStatus {
        self.state.status()
    }

    /// How every question of the session is answered without a person, if it was started so.
    pub fn auto(&self) -> Option<AutoAnswer> {
        self.state.run().and_then(|run| run.identity.auto)
    }

    /// The live job of a task, if it has one.
    pub(crate) fn live(&self, task: &TaskId) -> Option<(AttemptId, &LiveJob)> {
        let task = self.state.run()?.task(task)?;
        Some((task.job(), task.live()?))
    }

    /// The agent that a message to a task is for: that of its live job, or one that was left alive.
    pub(crate) fn addressee(&self, task: &TaskId) -> Option<(AttemptId, &LiveJob)> {
        self.state.run()?.addressee(task)
    }

    /// What became of the answer to a question of an agent; nothing while it is on its way.
    pub(crate) fn answer_result(&self, id: &InterventionId) -> Option<Result<(), String>> {
        let run = self.state.run()?;
        let Some(number) = run.number(id) else { return Some(Ok(())) };
        let found = run.all_alive().find_map(|(_, live)| Some((live, live.question(number)?)));
        let Some((live, asked)) = found else { return Some(Ok(())) };
        match &asked.answer {
            AnswerPhase::Decided(_) => None,
            AnswerPhase::Open | AnswerPhase::Given => Some(Ok(())),
            AnswerPhase::Void => {
                let known = live.refused.iter().find(|known| known.words == asked.words);
                Some(known.map_or(Ok(()), |known| Err(known.reason.clone())))
            }
        }
    }

    /// Whether the agent of a task was given something to do, and the end of its turn was not seen.
    pub fn has_open_turn(&self, task: &TaskId) -> bool {
        self.live(task).is_some_and(|(_, live)| live.has_open_turn())
    }

    /// The answers to this question that its agent did not take, since it last took something.
    pub fn refused(&self, asked: &Intervention) -> Option<&RefusedQuestion> {
        let (_, live) = self.addressee(asked.task.as_ref()?)?;
        live.refused(asked)
    }

    /// The readable view; nothing if there is no run.
    pub fn view(&self) -> Option<&SessionView> {
        self.view.get_or_init(|| self.viewer.session(&self.state)).as_ref()
    }

    /// The plan with the status of everything; nothing if there is no run.
    pub fn plan(&self) -> Option<&PlanView> {
        self.plan.get_or_init(|| self.state.run().map(plan_view)).as_ref()
    }

    /// What waits for a person, the oldest first.
    pub fn interventions(&self) -> impl Iterator<Item = &Intervention> {
        self.state.run().into_iter().flat_map(WorkflowRun::interventions)
    }

    /// How many tasks have a process, or will have it in a moment.
    pub fn running_tasks(&self) -> usize {
        self.begun_tasks().filter(|task| !self.jobs.is_queued(&task.job())).count()
    }

    /// How many tasks wait for a slot of the daemon.
    pub fn queued_tasks(&self) -> usize {
        self.begun_tasks().filter(|task| self.jobs.is_queued(&task.job())).count()
    }

    /// Whether the newest attempt of a task waits for a slot of the daemon.
    pub fn is_queued(&self, task: &TaskId) -> bool {
        self.live(task).is_some_and(|(job, _)| self.jobs.is_queued(&job))
    }

    fn begun_tasks(&self) -> impl Iterator<Item = &TaskRun> {
        let jobs = self.state.run().into_iter().flat_map(WorkflowRun::live_jobs);
        let is_begun = |task: &&TaskRun| {
            matches!(task.status(), TaskStatus::Running | TaskStatus::WaitingForUser)
        };
        jobs.map(|(task, _)| task).filter(is_begun)
    }

    /// What the agents on a terminal are doing, by attempt.
    pub fn verdicts(&self) -> Vec<(AttemptId, AgentVerdict)> {
        let agents = self.jobs.agents().into_iter();
        let mut verdicts: Vec<_> = agents.map(|(job, agent)| (job, agent.verdict())).collect();
        verdicts.sort_by(|(one, _), (other, _)| one.cmp(other));
        verdicts
    }

    /// The agents that wait and have nobody to wait for, with what they do.
    pub(crate) fn unheard(&self) -> Vec<(AttemptId, AgentVerdict)> {
        let agents = self.jobs.agents().into_iter();
        let unheard = agents.filter_map(|(job, agent)| {
            let verdict = agent.verdict();
            let (state, digest) = (verdict.state, verdict.digest.clone());
            let is_unexplained = agent.is_unexplained();
            let shown = ShownActivity { state, digest, is_unexplained };
            self.state.run()?.is_unheard(&job, &shown).then_some((job, verdict))
        });
        unheard.collect()
    }

    /// The agents that try to reach their model again, by attempt.
    pub fn retries(&self) -> Vec<(AttemptId, ModelRetry)> {
        let mut retries = self.jobs.retries();
        retries.sort_by(|(one, _), (other, _)| one.cmp(other));
        retries
    }

    /// What is done for jobs before or after their processes, by attempt.
    pub fn doing(&self) -> Vec<(AttemptId, String)> {
        let mut looks = self.jobs.looks();
        looks.sort();
        looks
    }

    /// The newest attempt of a task, if there is such a task and it was started.
    pub fn task(&self, task: &TaskId) -> Result<TaskSnapshot, RequestError> {
        let unknown = || RequestError::NoTask { task: task.clone(), near: None };
        let run = self.state.run().ok_or_else(unknown)?;
        let (Some(found), Some((adapter, mode))) = (run.task(task), run.task_adapter(task)) else {
            return Err(not_started(run, task));
        };
        let attempt = found.job();
        Ok(TaskSnapshot {
            runner: self.jobs.runner(&attempt),
            queued: self.jobs.is_queued(&attempt),
            doing: self.jobs.look_words(&attempt),
            attempt,
            place: found.place,
            status: run.task_status(task).unwrap_or_default(),
            adapter: adapter.to_owned(),
            mode,
        })
    }
}

/// Why a task cannot be looked at: it is none, or it was not started.
fn not_started(run: &WorkflowRun, task: &TaskId) -> RequestError {
    let known = known_tasks(run);
    if known.contains(task) {
        return RequestError::NotStarted(task.clone());
    }
    let near = coven_notation::near(task.as_str(), known.iter().map(TaskId::as_str));
    let near = near.first().and_then(|near| TaskId::new(*near).ok());
    RequestError::NoTask { task: task.clone(), near }
}

/// The tasks that are known by name: those of stages from the beginning, others once they were
/// started.
fn known_tasks(run: &WorkflowRun) -> Vec<TaskId> {
    let planned = run.identity.plan.steps.iter().flat_map(|step| match &step.action {
        StepAction::Stage { tasks } => tasks.iter().map(|task| task.id.clone()).collect(),
        _ => Vec::new(),
    });
    let started = run.steps.iter().flat_map(|step| step.tasks.iter().map(|task| task.id.clone()));
    planned.chain(started).collect()
}
