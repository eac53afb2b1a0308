//! The facts of a session, as they stand in its journal.
//!
//! A fact says what happened and carries everything its meaning needs, so that folding a journal
//! never asks what the rules were when it was written. What is written today is read for ever: a
//! field may be added with a default, and nothing may be renamed, removed or given a new meaning.
//! `docs/EVENTS.md` tells the same for people.
//!
//! On disk a fact is `{"type": "task.ended", "data": {…}}` inside the envelope of its line.

mod format;
mod parts;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use format::KINDS;
pub use parts::{
    AttemptPlace, DeliveredInput, InterventionDecision, JobConfinement, JobTimer, LoopVerdict,
    SessionCause, SessionCreated, SessionRule, StepOutput, StopCause, StoppingEnd, TaskEnded,
    TaskRole, TaskStarted, TimerPurpose,
};

pub use crate::tree::{TreeCheckpoint, TreeLanded, TreeReady, TreeWanted};
use crate::{
    AttemptId, Intervention, InterventionId, RepositoryPlace, ReviewRemark, SessionId, TaskStatus,
    Timestamp, TokenUsage, TreeId, TreeWork,
};

/// A fact of a session's journal: something that happened, never something to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all_fields = "camelCase", remote = "Self")]
pub enum SessionEvent {
    /// A session was made, with everything it will ever run on.
    #[serde(rename = "session.created")]
    SessionCreated(Box<SessionCreated>),
    /// A finished session was given up; its folder may go.
    #[serde(rename = "session.deleted")]
    SessionDeleted {
        /// The person or program that asked for it.
        by: String,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A session that somebody else had, or another key had sealed, was made the user's own.
    #[serde(rename = "session.imported")]
    SessionImported {
        /// Whether the user's key, or one that the user gave, had sealed all before it. If not, no
        /// question is answered any more without a person because of a fact before this one.
        vouched: bool,
        /// Where the repository of its trees is now, if it is not where it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repository: Option<Box<RepositoryPlace>>,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// The run began with its first step.
    #[serde(rename = "workflow.started")]
    WorkflowStarted {
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// The first thing that waits for a person came up. Other tasks go on.
    #[serde(rename = "workflow.blocked")]
    WorkflowBlocked {
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// Nothing waits for a person any more.
    #[serde(rename = "workflow.resumed")]
    WorkflowResumed {
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// The run is to end. Nothing starts any more, everything alive is being stopped.
    #[serde(rename = "workflow.stopping")]
    WorkflowStopping {
        /// As what it will end.
        end: StoppingEnd,
        /// Who or what wanted it.
        by: String,
        /// The reason that was given, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// All steps are over.
    #[serde(rename = "workflow.completed")]
    WorkflowCompleted {
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A step failed, and nothing is alive any more.
    #[serde(rename = "workflow.failed")]
    WorkflowFailed {
        /// What went wrong, for people.
        error: String,
        /// The step that failed, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// The run was cancelled, and nothing is alive any more.
    #[serde(rename = "workflow.cancelled")]
    WorkflowCancelled {
        /// The person or program that asked for it.
        by: String,
        /// The reason that was given, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A failed run was told to try the step that failed again. (A blocked one is told by deciding
    /// its intervention.)
    #[serde(rename = "workflow.retried")]
    WorkflowRetried {
        /// Which time this is that something is tried again, from 1.
        run: u32,
        /// The person or program that asked for it.
        by: String,
        /// The reason that was given, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A step began, before any of its tasks.
    #[serde(rename = "workflow.step.started")]
    StepStarted {
        /// The name of the step in the definition.
        step: String,
        /// Its place in the plan, from 0.
        index: u32,
        /// Its type, by the name used in definitions.
        #[serde(rename = "type")]
        kind: String,
        /// What it runs over, where it runs over something.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<Vec<Value>>,
        /// Who let it start, where the step needs an approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved_by: Option<String>,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A step succeeded, and its output is known.
    #[serde(rename = "workflow.step.completed")]
    StepCompleted {
        /// The name of the step in the definition.
        step: String,
        /// Its place in the plan, from 0.
        index: u32,
        /// Its output in one line, for people.
        summary: String,
        /// Where the output of the step is.
        output: StepOutput,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// The work of a step is done, and the trees of its tasks are being landed.
    #[serde(rename = "workflow.step.landing")]
    StepLanding {
        /// The name of the step in the definition.
        step: String,
        /// Its place in the plan, from 0.
        index: u32,
        /// Its output in one line, for people.
        summary: String,
        /// Where the output of the step is.
        output: StepOutput,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A step failed for good.
    #[serde(rename = "workflow.step.failed")]
    StepFailed {
        /// The name of the step in the definition.
        step: String,
        /// Its place in the plan, from 0.
        index: u32,
        /// What went wrong, for people.
        error: String,
        /// Whether the run goes on with the next step.
        continues: bool,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A step was left out; its output is null.
    #[serde(rename = "workflow.step.skipped")]
    StepSkipped {
        /// The name of the step in the definition.
        step: String,
        /// Its place in the plan, from 0.
        index: u32,
        /// What led to it, for people.
        reason: String,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// An arbiter's answer was read, or a person judged in its place.
    #[serde(rename = "workflow.loop.judged")]
    LoopJudged {
        /// The step's place in the plan, from 0.
        index: u32,
        /// The round, from 1.
        round: u32,
        /// The arbiter's attempt that was read.
        attempt: u32,
        /// The verdict that was read from the answer.
        verdict: LoopVerdict,
        /// Why, in the arbiter's words, or why it cannot be read.
        reason: String,
    },
    /// A loop was given more rounds.
    #[serde(rename = "workflow.loop.extended")]
    LoopExtended {
        /// The step's place in the plan, from 0.
        index: u32,
        /// How many rounds it may have altogether now.
        limit: u32,
    },
    /// Something waits for a person.
    #[serde(rename = "workflow.intervention.required")]
    InterventionRequired {
        /// What has to be decided.
        intervention: Box<Intervention>,
        /// The attempt whose screen it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
    },
    /// It was decided. An answer to an agent is on its way from here on.
    #[serde(rename = "workflow.intervention.resolved")]
    InterventionResolved {
        /// The intervention that is closed by this.
        id: InterventionId,
        /// The choice, who made it and why.
        decision: Box<InterventionDecision>,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// The intervention is closed without a decision: the agent went on or ended.
    #[serde(rename = "workflow.intervention.withdrawn")]
    InterventionWithdrawn {
        /// The intervention that is closed by this.
        id: InterventionId,
        /// What led to it, for people.
        reason: String,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A job was asked for. Written before anything is launched.
    #[serde(rename = "task.started")]
    TaskStarted(Box<TaskStarted>),
    /// An attempt ended, and its outcome is durable.
    #[serde(rename = "task.ended")]
    TaskEnded(Box<TaskEnded>),
    /// A task's status changed in a way that no other fact says.
    #[serde(rename = "task.status")]
    TaskStatus {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// The status from here on.
        status: TaskStatus,
        /// The observation that this follows.
        seen: u64,
    },
    /// A job is to be stopped.
    #[serde(rename = "task.stopping")]
    TaskStopping {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// Why the job is stopped.
        cause: StopCause,
        /// Who or what wanted it.
        by: String,
        /// What the agent had answered by then, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    /// An agent that was left alive on purpose is gone.
    #[serde(rename = "task.released")]
    TaskReleased {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// How the process ended, for people.
        reason: String,
    },
    /// A job was to be confined, and something of that is not enforced.
    #[serde(rename = "task.exposed")]
    TaskExposed {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// What is not enforced, and why.
        reason: String,
    },
    /// A job is confined: by what, what stays open to it all the same, and what is compared.
    #[serde(rename = "task.confined")]
    TaskConfined {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// What confines it, what does not, and what is compared.
        #[serde(flatten)]
        confinement: JobConfinement,
    },
    /// The agent of a job is spoken to in its own protocol, so that it can ask and take messages
    /// without a terminal.
    #[serde(rename = "task.channel")]
    TaskChannel {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// The protocol: `claude-stdio`, `codex-app-server` or `acp`.
        channel: String,
        /// Why it is not spoken after all: the agent was started with its prompt in its arguments,
        /// as without a channel, and is asked nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<String>,
    },
    /// The next queued input of a task is to be typed.
    #[serde(rename = "input.queued")]
    InputQueued {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// Which input of the attempt, from 1.
        number: u32,
        /// The text that is to be typed.
        text: String,
        /// The observation that this follows; 0 if it follows none.
        seen: u64,
        /// Who sends it, if it is not a part of the plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A question of an agent was decided by a rule, without an intervention. The answer is
    /// on its way from here on.
    #[serde(rename = "input.decided")]
    InputDecided {
        /// The question, in the form that a person would get.
        intervention: Box<Intervention>,
        /// The attempt that asks.
        attempt: u32,
        /// The answer, with the rule that decided.
        decision: Box<InterventionDecision>,
    },
    /// A text or an answer reached its agent.
    #[serde(rename = "input.delivered")]
    InputDelivered {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// Which text or answer reached the agent.
        input: DeliveredInput,
        /// The observation it was confirmed by.
        seen: u64,
    },
    /// An answer was not given because the agent shows something else by now.
    #[serde(rename = "input.refused")]
    InputRefused {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// The answer to this was not given.
        intervention: InterventionId,
        /// What led to it, for people.
        reason: String,
        /// Whether something of it was typed, so that the same may not be answered by itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pressed: bool,
    },
    /// Something is to happen at a time.
    #[serde(rename = "timer.set")]
    TimerSet {
        /// The attempt, and what happens to it.
        timer: JobTimer,
        /// When it is due.
        due: Timestamp,
    },
    /// What an attempt has used up so far, altogether.
    #[serde(rename = "agent.usage")]
    AgentUsage {
        /// The task and attempt that this is about.
        #[serde(flatten)]
        job: AttemptId,
        /// Tokens and cost of the whole attempt so far.
        usage: TokenUsage,
    },
    /// A tree was asked for. Written before anything is made.
    #[serde(rename = "tree.wanted")]
    TreeWanted(Box<TreeWanted>),
    /// A tree is there and can be worked in.
    #[serde(rename = "tree.ready")]
    TreeReady(Box<TreeReady>),
    /// Something could not be done to a tree. What is in it stays as it is.
    #[serde(rename = "tree.failed")]
    TreeFailed {
        /// Which tree of the session.
        tree: TreeId,
        /// What could not be done.
        work: TreeWork,
        /// Why, in git's words where it is git that says so.
        error: String,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// Everything in a tree was kept in a commit under a reference of ours.
    #[serde(rename = "tree.checkpoint")]
    TreeCheckpoint(Box<TreeCheckpoint>),
    /// The commits of a tree were brought onto a branch.
    #[serde(rename = "tree.landed")]
    TreeLanded(Box<TreeLanded>),
    /// The commits of a tree cannot be brought onto a branch without a decision. Nothing was
    /// touched.
    #[serde(rename = "tree.conflict")]
    TreeConflict {
        /// Which tree of the session.
        tree: TreeId,
        /// The branch they were to be brought onto.
        onto: String,
        /// The files that both sides changed.
        paths: Vec<String>,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A tree stays, because something in it is nowhere else.
    #[serde(rename = "tree.kept")]
    TreeKept {
        /// Which tree of the session.
        tree: TreeId,
        /// What is in it, or who is.
        why: String,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A tree was removed. Its last checkpoint stays.
    #[serde(rename = "tree.removed")]
    TreeRemoved {
        /// Which tree of the session.
        tree: TreeId,
        /// The tip of its branch.
        tip: String,
        /// What went with it that is in no checkpoint, such as what was built, and where else
        /// something of it is kept.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// What a person has to say about what a task did was given to its agent, as one message.
    #[serde(rename = "review.sent")]
    ReviewSent {
        /// The attempt whose agent gets it.
        #[serde(flatten)]
        job: AttemptId,
        /// The remarks on lines.
        comments: Vec<ReviewRemark>,
        /// What there was to say about all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The message, if no agent was there to get it: the attempt begins with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// The run that begins with it instead, because the step of the task is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<SessionId>,
        /// The person or program that sent it.
        by: String,
        /// When the fact was recorded, by the daemon's clock.
        at: Timestamp,
    },
    /// A fact of a later version. It is kept for reading, and cannot be written.
    #[serde(skip)]
    Unknown {
        /// The type as the later version wrote it.
        kind: String,
        /// The data of the fact, uninterpreted.
        data: Value,
    },
}

impl SessionEvent {
    /// The type of the fact as it stands in the journal, such as `task.started`.
    pub fn kind(&self) -> &str {
        match self {
            Self::SessionCreated(_) => "session.created",
            Self::SessionDeleted { .. } => "session.deleted",
            Self::SessionImported { .. } => "session.imported",
            Self::WorkflowStarted { .. } => "workflow.started",
            Self::WorkflowBlocked { .. } => "workflow.blocked",
            Self::WorkflowResumed { .. } => "workflow.resumed",
            Self::WorkflowStopping { .. } => "workflow.stopping",
            Self::WorkflowCompleted { .. } => "workflow.completed",
            Self::WorkflowFailed { .. } => "workflow.failed",
            Self::WorkflowCancelled { .. } => "workflow.cancelled",
            Self::WorkflowRetried { .. } => "workflow.retried",
            Self::StepStarted { .. } => "workflow.step.started",
            Self::StepCompleted { .. } => "workflow.step.completed",
            Self::StepLanding { .. } => "workflow.step.landing",
            Self::StepFailed { .. } => "workflow.step.failed",
            Self::StepSkipped { .. } => "workflow.step.skipped",
            Self::LoopJudged { .. } => "workflow.loop.judged",
            Self::LoopExtended { .. } => "workflow.loop.extended",
            Self::InterventionRequired { .. } => "workflow.intervention.required",
            Self::InterventionResolved { .. } => "workflow.intervention.resolved",
            Self::InterventionWithdrawn { .. } => "workflow.intervention.withdrawn",
            Self::TaskStarted(_) => "task.started",
            Self::TaskEnded(_) => "task.ended",
            Self::TaskStatus { .. } => "task.status",
            Self::TaskStopping { .. } => "task.stopping",
            Self::TaskReleased { .. } => "task.released",
            Self::TaskExposed { .. } => "task.exposed",
            Self::TaskConfined { .. } => "task.confined",
            Self::TaskChannel { .. } => "task.channel",
            Self::InputQueued { .. } => "input.queued",
            Self::InputDecided { .. } => "input.decided",
            Self::InputDelivered { .. } => "input.delivered",
            Self::InputRefused { .. } => "input.refused",
            Self::TimerSet { .. } => "timer.set",
            Self::AgentUsage { .. } => "agent.usage",
            Self::TreeWanted(_) => "tree.wanted",
            Self::TreeReady(_) => "tree.ready",
            Self::TreeFailed { .. } => "tree.failed",
            Self::TreeCheckpoint(_) => "tree.checkpoint",
            Self::TreeLanded(_) => "tree.landed",
            Self::TreeConflict { .. } => "tree.conflict",
            Self::TreeKept { .. } => "tree.kept",
            Self::TreeRemoved { .. } => "tree.removed",
            Self::ReviewSent { .. } => "review.sent",
            Self::Unknown { kind, .. } => kind,
        }
    }
}
