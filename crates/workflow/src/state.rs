//! The state of a run: the fold of its facts, and nothing else.
//!
//! Copying a state is cheap however long the run is ([`ChunkedList`]), because every decision works
//! on a copy. What is to be read from a state is here; only `fold` changes it.

mod chunked_list;
mod identity;
mod outstanding;
mod refusal;
mod step;
mod task;
mod tree;
mod variables;
mod written_review;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coven_model::event::{SessionRule, StoppingEnd};
use coven_model::{
    AttemptId, Intervention, InterventionId, InterventionKind, RepositoryPlace, SessionId, TaskId,
    TaskStatus, Timestamp, TokenUsage, TreeId, WorkflowStatus,
};
use serde::{Serialize, Serializer};

pub use chunked_list::ChunkedList;
pub use identity::RunIdentity;
pub use refusal::RefusalReason;
pub(crate) use refusal::RetryTarget;
pub use step::{RoundVerdict, StepLanding, StepProgress, StepRun};
pub use task::{
    AgentConversation, AnswerPhase, AskedQuestion, DeniedQuestion, LiveJob, PendingText,
    PrintedOutput, RefusedQuestion, TaskPhase, TaskReview, TaskRun,
};
pub(crate) use task::{asked_words, question_words};
pub use tree::{LandingPhase, TreePhase, TreeProblem, TreeRun};
pub(crate) use variables::{Local, TaskVariables};
pub use written_review::TaskComments;

use crate::plan::{PlanStep, StepAction};
use crate::rules::ActiveRules;

/// A session, from before it exists to after its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    pub(crate) run: Option<WorkflowRun>,
    /// Why nothing may be written any more, if so.
    pub(crate) closed: Option<String>,
    #[serde(skip)]
    pub(crate) rules: ActiveRules,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowRun {
    #[serde(serialize_with = "shared")]
    pub identity: Arc<RunIdentity>,
    pub phase: RunPhase,
    /// Whether people were told that it waits for them.
    pub blocked: bool,
    /// All steps of the plan.
    pub steps: ChunkedList<StepRun>,
    /// The first step that is not over.
    pub cursor: u32,
    /// The steps whose turn it is: what they need is over and they are not. One, unless steps say
    /// what they need. It follows from the others.
    #[serde(skip)]
    pub(crate) active: BTreeSet<u32>,
    /// Where steps run side by side, the tree whose turn it is to be landed. It keeps its turn until
    /// it is known what became of that, because one that is ordered twice may be landed as it was
    /// before and as it is after a conflict was resolved. It follows from the others.
    #[serde(skip)]
    pub(crate) landing_turn: Option<TreeId>,
    /// What waits for a person, by number.
    #[serde(serialize_with = "values")]
    pub interventions: BTreeMap<u64, Arc<PendingIntervention>>,
    /// The number of the next intervention.
    pub next_intervention: u64,
    /// Agents that were left alive on purpose, with their attempts.
    pub kept: BTreeMap<TaskId, u32>,
    /// What is known of those agents: what they ask and what is said to them. It follows from the
    /// facts, and states of before do not have it.
    #[serde(skip)]
    pub(crate) kept_jobs: BTreeMap<TaskId, Arc<LiveJob>>,
    /// What those agents wait for, by number, likewise. It blocks nothing, because no task waits for
    /// them any more.
    #[serde(skip)]
    pub(crate) kept_interventions: BTreeMap<u64, Arc<PendingIntervention>>,
    /// Commands that a person approved for the rest of the session.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "shared_list")]
    pub rules: Vec<Arc<SessionRule>>,
    /// The trees it has or had.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", serialize_with = "values")]
    pub trees: BTreeMap<TreeId, Arc<TreeRun>>,
    /// How often it was told to try a step again.
    pub retries: u32,
    /// What was used up by steps that are over.
    pub usage: TokenUsage,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "phase")]
pub enum RunPhase {
    /// Made, and not begun.
    Created,
    Running,
    /// To end as soon as nothing is alive.
    Stopping {
        end: StoppingEnd,
        /// Who or what wanted it.
        by: String,
        why: String,
    },
    /// All steps are over.
    Completed,
    Failed {
        error: String,
    },
    Cancelled {
        by: String,
        why: String,
    },
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingIntervention {
    pub intervention: Intervention,
    /// The attempt whose screen it is about.
    pub attempt: Option<u32>,
}

impl PendingIntervention {
    /// When it counts as denied. What an agent asks ends with the agent instead.
    pub(crate) fn expiry(&self) -> Option<Timestamp> {
        let is_approval = matches!(
            self.intervention.kind,
            InterventionKind::StartApproval | InterventionKind::HumanGate
        );
        self.intervention.expires_at.filter(|_| is_approval)
    }
}

impl State {
    /// The run, once there is one.
    pub fn run(&self) -> Option<&WorkflowRun> {
        self.run.as_ref()
    }

    /// Why this session can only be looked at: it was written by a later version, or cannot be
    /// understood. Decisions do nothing then.
    pub fn closed(&self) -> Option<&str> {
        self.closed.as_deref()
    }

    /// Where the run stands, in one word.
    pub fn status(&self) -> WorkflowStatus {
        self.run.as_ref().map_or(WorkflowStatus::Pending, WorkflowRun::status)
    }
}

impl WorkflowRun {
    /// From now on no question is answered without a person because of what was recorded before.
    pub(crate) fn forget_answers(&mut self) {
        Arc::make_mut(&mut self.identity).auto = None;
        self.rules.clear();
    }

    /// The repository of its trees is elsewhere than it was.
    pub(crate) fn move_repository(&mut self, place: &RepositoryPlace) {
        if let Some(record) = &mut Arc::make_mut(&mut self.identity).repository {
            record.move_to(place);
        }
    }

    pub fn session(&self) -> &SessionId {
        &self.identity.session
    }

    /// Where it stands, in one word.
    pub fn status(&self) -> WorkflowStatus {
        match &self.phase {
            RunPhase::Created => WorkflowStatus::Pending,
            RunPhase::Running if !self.interventions.is_empty() => WorkflowStatus::Blocked,
            RunPhase::Running | RunPhase::Stopping { .. } => WorkflowStatus::Running,
            RunPhase::Completed => WorkflowStatus::Completed,
            RunPhase::Failed { .. } => WorkflowStatus::Failed,
            RunPhase::Cancelled { .. } => WorkflowStatus::Cancelled,
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(
            self.phase,
            RunPhase::Completed | RunPhase::Failed { .. } | RunPhase::Cancelled { .. }
        )
    }

    /// A step with its place.
    pub fn step_at(&self, index: u32) -> Option<(u32, &PlanStep, &StepRun)> {
        let place = index as usize;
        Some((index, self.identity.plan.steps.get(place)?, self.steps.get(place)?))
    }

    /// The steps whose turn it is, in the order of the plan: they run, wait for a person, or failed
    /// while others go on. One, unless steps say what they need.
    pub fn active(&self) -> impl Iterator<Item = (u32, &PlanStep, &StepRun)> {
        self.active.iter().filter_map(|index| self.step_at(*index))
    }

    /// The step whose turn it is, with its place. Where there are several, the first that goes on.
    pub fn current(&self) -> Option<(u32, &PlanStep, &StepRun)> {
        let goes_on = self.active().find(|(_, _, step)| !step.has_failed());
        goes_on.or_else(|| self.active().next())
    }

    pub(crate) fn is_active(&self, index: u32) -> bool {
        self.active.contains(&index)
    }

    /// The step of this name, if it is its turn.
    pub(crate) fn active_named(&self, name: &str) -> Option<u32> {
        let index = u32::try_from(self.identity.step(name)?).ok()?;
        self.is_active(index).then_some(index)
    }

    /// The step that a task belongs to, if it is its turn.
    pub(crate) fn active_of(&self, task: &TaskId) -> Option<u32> {
        let index = u32::try_from(self.identity.locate(task)?.0).ok()?;
        self.is_active(index).then_some(index)
    }

    /// Whether a job of a step whose turn it is has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.active().any(|(_, _, step)| step.live > 0)
    }

    /// What waits for a person, the oldest first.
    pub fn interventions(&self) -> impl Iterator<Item = &Intervention> {
        self.all_pending().map(|(_, pending)| &pending.intervention)
    }

    /// What waits for a person by number, the oldest first: of the run and of the agents that were
    /// left alive.
    fn all_pending(&self) -> impl Iterator<Item = (u64, &Arc<PendingIntervention>)> {
        let (mut run, mut kept) =
            (self.interventions.iter().peekable(), self.kept_interventions.iter().peekable());
        std::iter::from_fn(move || {
            let kept_is_next = match (run.peek(), kept.peek()) {
                (Some((run, _)), Some((kept, _))) => kept < run,
                (run, _) => run.is_none(),
            };
            let next = if kept_is_next { kept.next() } else { run.next() };
            next.map(|(number, pending)| (*number, pending))
        })
    }

    /// The same as they are kept, to share them.
    pub fn open_interventions(&self) -> impl Iterator<Item = Arc<PendingIntervention>> {
        self.all_pending().map(|(_, pending)| pending.clone())
    }

    /// An open intervention and its number.
    pub(crate) fn pending(&self, id: &InterventionId) -> Option<(u64, &PendingIntervention)> {
        let number = self.number(id)?;
        let pending = self.interventions.get(&number);
        let pending = pending.or_else(|| self.kept_interventions.get(&number));
        Some((number, pending?))
    }

    /// The open intervention with this number.
    pub(crate) fn open_intervention(&self, number: u64) -> Option<&Intervention> {
        let open = self.interventions.get(&number);
        let open = open.or_else(|| self.kept_interventions.get(&number));
        open.map(|pending| &pending.intervention)
    }

    /// The number of an intervention of this session.
    pub fn number(&self, id: &InterventionId) -> Option<u64> {
        let (session, number) = id.as_str().rsplit_once('/')?;
        (session == self.identity.session.as_str()).then(|| number.parse().ok())?
    }

    /// Where a task is: its step and its place in the step.
    pub(crate) fn locate(&self, task: &TaskId) -> Option<(usize, usize)> {
        let (step, role) = self.identity.locate(task)?;
        let state = self.steps.get(step)?;
        let place = state.place(role);
        (state.tasks.get(place)?.id == *task).then_some((step, place))
    }

    /// A task that was started at least once.
    pub fn task(&self, task: &TaskId) -> Option<&TaskRun> {
        let (step, place) = self.locate(task)?;
        self.steps.get(step)?.tasks.get(place)
    }

    /// The live job with this id.
    pub fn live(&self, job: &AttemptId) -> Option<&LiveJob> {
        self.task(&job.task).filter(|task| task.attempt == job.attempt)?.live()
    }

    /// The agent of this attempt, if it was left alive on purpose.
    pub fn kept_job(&self, job: &AttemptId) -> Option<&LiveJob> {
        self.kept_jobs.get(&job.task).map(AsRef::as_ref).filter(|kept| kept.is_attempt(job))
    }

    /// The job of this id that has a process: one that is live, or an agent that was left alive.
    pub fn alive(&self, job: &AttemptId) -> Option<&LiveJob> {
        self.live(job).or_else(|| self.kept_job(job))
    }

    /// The agent that a message to a task is for: that of its live job, or one that it left alive.
    pub fn addressee(&self, task: &TaskId) -> Option<(AttemptId, &LiveJob)> {
        let live = self.task(task).and_then(|task| Some((task.job(), task.live()?)));
        live.or_else(|| {
            let kept = self.kept_jobs.get(task)?;
            Some((kept.spec.job.attempt.clone(), kept.as_ref()))
        })
    }

    /// All jobs that have a process or will have one: those that are live, and the agents that were
    /// left alive.
    pub fn all_alive(&self) -> impl Iterator<Item = (AttemptId, &LiveJob)> {
        let live = self.live_jobs().map(|(task, live)| (task.job(), live));
        let kept = self.kept_jobs.values();
        live.chain(kept.map(|kept| (kept.spec.job.attempt.clone(), kept.as_ref())))
    }

    /// The live job of this attempt, or its agent that was left alive, if what it shows matters to
    /// the run.
    pub(crate) fn watched(&self, job: &AttemptId) -> Option<&LiveJob> {
        match self.kept_job(job) {
            Some(kept) => Some(kept).filter(|_| self.attends_kept()),
            None => self.live(job).filter(|_| self.phase == RunPhase::Running),
        }
    }

    /// Whether what agents show that were left alive still matters: not once they are ended with
    /// their run.
    pub(crate) fn attends_kept(&self) -> bool {
        !matches!(self.phase, RunPhase::Stopping { end: StoppingEnd::Cancelled, .. })
    }

    /// All jobs that have not ended and were not left alive on purpose.
    pub fn live_jobs(&self) -> impl Iterator<Item = (&TaskRun, &LiveJob)> {
        let steps = self.active().map(|(_, _, run)| run).filter(|run| run.live > 0);
        let tasks = steps.flat_map(|run| run.tasks.iter());
        tasks.filter_map(|task| Some((task, task.live()?)))
    }

    /// The status of a task, also of one that was not started yet. Nothing for what is no task.
    pub fn task_status(&self, task: &TaskId) -> Option<TaskStatus> {
        match self.task(task) {
            Some(task) => Some(match task.status() {
                TaskStatus::Pending if self.is_over() => TaskStatus::Cancelled,
                status => status,
            }),
            None => self.identity.locate(task).map(|_| TaskStatus::Pending),
        }
    }

    /// What was used up altogether.
    pub fn usage(&self) -> TokenUsage {
        let tasks = self.active().flat_map(|(_, _, run)| run.tasks.iter());
        tasks.fold(self.usage, |sum, task| sum.plus(task.usage()))
    }

    /// The errors so far: of steps that failed, and of the run.
    pub fn errors(&self) -> impl Iterator<Item = (&str, &str)> {
        let steps = self.identity.plan.steps.iter().zip(self.steps.iter());
        steps.filter_map(|(step, run)| match &run.progress {
            StepProgress::Failed { error, .. } => Some((step.name.as_str(), error.as_str())),
            _ => None,
        })
    }

    /// What an agent on a terminal said at the end of its last turn, while that is over and nothing
    /// else was decided about it.
    pub(crate) fn last_answer(&self, live: &LiveJob) -> Option<String> {
        let open = &self.interventions.get(&live.turn?)?.intervention;
        let is_turn = open.kind == InterventionKind::EndedTurn;
        (is_turn && !open.excerpt.is_empty()).then(|| open.excerpt.clone())
    }

    /// Whether the step's agents are done at their first idle after working. In a stage, only
    /// those with a queue of inputs are.
    pub(crate) fn ends_when_idle(step: &PlanStep, live: &LiveJob) -> bool {
        let is_stage = matches!(step.action, StepAction::Stage { .. });
        !is_stage || !live.inputs.is_empty() || !live.spec.work.is_interactive()
    }
}

/// Writes what is shared as if it were not.
pub(crate) fn shared<T: Serialize, S: Serializer>(
    value: &Arc<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.as_ref().serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde gives it so")]
pub(crate) fn maybe_shared<T: Serialize, S: Serializer>(
    value: &Option<Arc<T>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.as_deref().serialize(serializer)
}

fn shared_list<T: Serialize, S: Serializer>(
    list: &[Arc<T>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.iter().map(AsRef::as_ref))
}

fn values<K, T: Serialize, S: Serializer>(
    map: &BTreeMap<K, Arc<T>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(map.values().map(AsRef::as_ref))
}
