//! What happens outside and is told to a run: by its jobs, by people, by the clock.
//!
//! Inputs may come twice, late, or in another order than they happened. A job's observations carry
//! a number that grows, so that an old one is never taken for news.

use coven_model::event::{
    InterventionDecision, JobConfinement, JobTimer, SessionCause, TreeCheckpoint, TreeLanded,
    TreeReady, TreeWanted,
};
use coven_model::{
    AskedAction, AttemptId, AutoAnswer, AwaitingKind, ContentDigest, InterventionId, JobOutcome,
    RepositoryRecord, ReviewRemark, SessionId, TaskId, TokenUsage, TreeId, TreeWork,
};
use serde_json::Value;

use crate::plan::WorkflowPlan;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionInput {
    /// A session is wanted.
    Create(Box<SessionSpec>),
    /// The run is to begin.
    Begin,
    /// The journal was read and the run goes on from where it stands.
    Recover,
    /// A job's process is there.
    Started(AttemptId),
    /// A job ended, and how is written down.
    Ended {
        job: AttemptId,
        outcome: Box<JobOutcome>,
    },
    /// A job's process is gone and its exit status was not recorded.
    Lost(AttemptId),
    /// Something was seen on a job's screen.
    Observed {
        job: AttemptId,
        /// Larger than that of every earlier observation of the job, also after a restart.
        seen: u64,
        what: ScreenObservation,
    },
    /// A text was typed, and the agent took it.
    Delivered {
        job: AttemptId,
        /// Which input of the job.
        number: u32,
        /// The observation that shows it; the same however often it is told.
        seen: u64,
    },
    /// A text did not arrive, or nothing shows that it did.
    Undelivered {
        job: AttemptId,
        /// Which input of the job.
        number: u32,
        /// Which try to deliver it.
        attempt: u32,
        reason: String,
        /// Whether it could be typed at all, seen or unseen.
        typable: bool,
    },
    /// The prompt of a job, which is typed into its terminal, did not arrive.
    PromptUndelivered {
        job: AttemptId,
        reason: String,
        /// Whether it could be typed at all, seen or unseen.
        typable: bool,
    },
    /// An answer was given.
    Answered {
        intervention: InterventionId,
        /// The observation after it.
        seen: u64,
    },
    /// An answer was not given because the agent shows something else by now.
    Stale {
        intervention: InterventionId,
        reason: String,
        /// Whether something of it was typed.
        pressed: bool,
    },
    /// A person typed into the job's terminal directly, past every queue.
    Typed {
        job: AttemptId,
        text: String,
        by: String,
    },
    /// A job was to be confined, and something of that is not enforced.
    Exposed {
        job: AttemptId,
        reason: String,
    },
    /// A job is confined, and this stays open to it.
    Confined {
        job: AttemptId,
        confinement: Box<JobConfinement>,
    },
    /// The agent of a job is spoken to in its own protocol.
    Speaks {
        job: AttemptId,
        channel: String,
        /// Why it was started without it instead.
        fallback: Option<String>,
    },
    /// What a job has used up so far, altogether.
    Used {
        job: AttemptId,
        usage: TokenUsage,
    },
    /// Something was done to a tree, or could not be.
    Tree(Box<TreeReport>),
    TimerFired(JobTimer),
    /// The time that people had for this is up.
    Expired(InterventionId),
    /// The agent of this job waits, and nobody was asked: it is to be looked at again.
    Unheard {
        job: AttemptId,
    },
    /// A person or a policy decided an intervention.
    Resolve {
        intervention: InterventionId,
        decision: Box<InterventionDecision>,
        /// What the decider saw, if it was a screen.
        digest: Option<ContentDigest>,
    },
    /// A client has a message for the agent of a task.
    Message {
        task: TaskId,
        text: String,
        by: String,
    },
    /// A review was given to the agent of a task.
    Reviewed(Box<SentReview>),
    /// A client declares that a task is done.
    Complete {
        task: TaskId,
        by: String,
    },
    /// A client wants one job stopped; its task has failed then.
    StopTask {
        task: TaskId,
        by: String,
    },
    /// A client wants the run to end.
    Cancel {
        by: String,
        why: String,
    },
    /// A client wants a failed or blocked run to try its step again.
    Retry {
        /// How often that was done before, as the run showed it. A request that was already
        /// carried out does nothing.
        run: u32,
        by: String,
        why: String,
    },
    /// A finished session is given up.
    Delete {
        by: String,
    },
}

/// What became of an order about a tree. Its time is that of the decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TreeReport {
    /// A person wants a checkpoint brought back in a tree of its own.
    Wanted(TreeWanted),
    Ready(TreeReady),
    Failed {
        tree: TreeId,
        work: TreeWork,
        error: String,
    },
    Checkpointed(TreeCheckpoint),
    Landed(TreeLanded),
    Conflicted {
        tree: TreeId,
        onto: String,
        paths: Vec<String>,
    },
    Kept {
        tree: TreeId,
        why: String,
    },
    Removed {
        tree: TreeId,
        tip: String,
        /// What went with it that is in no checkpoint, and where else something is kept.
        notes: Vec<String>,
    },
}

/// A review that was given to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SentReview {
    pub job: AttemptId,
    pub comments: Vec<ReviewRemark>,
    pub summary: Option<String>,
    /// The message, if the attempt is to begin with it because no agent is there.
    pub prompt: Option<String>,
    /// The run that begins with it instead.
    pub run: Option<SessionId>,
    pub by: String,
}

/// What a session is made with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionSpec {
    pub session: SessionId,
    pub name: String,
    pub plan: WorkflowPlan,
    /// The inputs by name, defaults included.
    pub input: serde_json::Map<String, Value>,
    /// What the run is for; otherwise what the plan says.
    pub goal: Option<String>,
    /// The folder it belongs to.
    pub base_dir: Option<String>,
    /// How every question of the run is answered without a person, if the caller wants that.
    pub auto: Option<AutoAnswer>,
    /// The event that started it, if its grimoire's trigger did.
    pub cause: Option<SessionCause>,
    /// The repository in whose trees it works, if it does.
    pub repository: Option<Box<RepositoryRecord>>,
    /// Why it works in no trees although its plan would.
    pub no_trees: Option<String>,
}

/// What was seen on a screen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ScreenObservation {
    /// The agent asks something.
    Awaiting { question: Box<ObservedQuestion>, ruling: QuestionRuling },
    /// The agent works; whatever it asked, it does not ask any more.
    Working,
    /// Nobody knows what the agent does. What it shows.
    Unexplained { excerpt: String },
    /// The agent is ready for a message.
    Idle {
        /// Whether it has worked since it started or since the last message.
        worked: bool,
        /// What it answered, where that is known.
        output: Option<String>,
    },
    /// Its turn was interrupted, and it is ready for a message. It has not done what it was told.
    Interrupted,
}

/// What the policies say about a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum QuestionRuling {
    /// They have the answer, so no intervention is opened.
    Decided(Box<InterventionDecision>),
    /// They have none; a rule of the session may.
    #[default]
    Undecided,
    /// A person is to decide, whatever rules there are.
    AskPerson,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObservedQuestion {
    /// What kind of answer it wants.
    pub kind: AwaitingKind,
    /// The rule that saw it.
    pub rule: String,
    /// What a person does about it, as the adapter says.
    pub help: Option<String>,
    /// The line by which people know it, where more than the excerpt tells it.
    pub title: Option<String>,
    /// What the screen shows.
    pub excerpt: String,
    /// What the agent asks leave for.
    pub action: AskedAction,
    /// Whether a rule can be made that answers the same by itself from now on.
    pub offers_always: bool,
    /// What an answer must name.
    pub digest: ContentDigest,
    /// It was on the screen before the last answer and still is: only a person may answer it.
    pub repeated: bool,
}
