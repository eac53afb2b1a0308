//! What happens outside and is told to a run: by its jobs, by people, by the clock.
//!
//! Inputs may come twice, late, or in another order than they happened. A job's observations carry
//! a number that grows, so that an old one is never taken for news.

use coven_model::event::{Decision, Timer};
use coven_model::{
    AttemptId, AutoAnswer, AwaitingKind, Digest, InterventionId, Outcome, SessionId, TaskId, Usage,
};
use serde_json::Value;

use crate::plan::Plan;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A session is wanted.
    Create(Box<Creation>),
    /// The run is to begin.
    Begin,
    /// The journal was read and the run goes on from where it stands.
    Recover,
    /// A job's process is there.
    Started(AttemptId),
    /// A job ended, and how is written down.
    Ended {
        /// The job.
        job: AttemptId,
        /// How.
        outcome: Box<Outcome>,
    },
    /// A job's process is gone and nobody saw how it ended.
    Lost(AttemptId),
    /// Something was seen on a job's screen.
    Observed {
        /// The job.
        job: AttemptId,
        /// Larger than that of every earlier observation of the job, also after a restart.
        seen: u64,
        /// What was seen.
        what: Observation,
    },
    /// A text was typed, and the agent took it.
    Delivered {
        /// The job.
        job: AttemptId,
        /// Which input of the job.
        number: u32,
        /// The observation that shows it; the same however often it is told.
        seen: u64,
    },
    /// An answer was given.
    Answered {
        /// The question.
        intervention: InterventionId,
        /// The observation after it.
        seen: u64,
    },
    /// An answer was not given because the agent shows something else by now.
    Stale {
        /// The question.
        intervention: InterventionId,
        /// Why.
        reason: String,
    },
    /// Somebody typed to a job, past every queue.
    Typed {
        /// The job.
        job: AttemptId,
        /// What.
        text: String,
        /// Who.
        by: String,
    },
    /// A job was to be confined, and something of that is not enforced.
    Exposed {
        /// The job.
        job: AttemptId,
        /// What, and why.
        reason: String,
    },
    /// What a job has used up so far, altogether.
    Used {
        /// The job.
        job: AttemptId,
        /// How much.
        usage: Usage,
    },
    /// It is time.
    TimerFired(Timer),
    /// Somebody, or a policy, decided an intervention.
    Resolve {
        /// Which one.
        intervention: InterventionId,
        /// What was decided.
        decision: Box<Decision>,
        /// What the decider saw, if it was a screen.
        digest: Option<Digest>,
    },
    /// Somebody says that a task is done.
    Complete {
        /// The task.
        task: TaskId,
        /// Who.
        by: String,
    },
    /// Somebody wants one job stopped; its task has failed then.
    StopTask {
        /// The task.
        task: TaskId,
        /// Who.
        by: String,
    },
    /// Somebody wants the run to end.
    Cancel {
        /// Who.
        by: String,
        /// Why.
        why: String,
    },
    /// Somebody wants a failed or blocked run to try its step again.
    Retry {
        /// How often that was done before, as the run showed it. A wish that was already
        /// fulfilled does nothing.
        run: u32,
        /// Who.
        by: String,
        /// Why.
        why: String,
    },
    /// A finished session is given up.
    Delete {
        /// Who.
        by: String,
    },
}

/// What a session is made with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Creation {
    /// Its id.
    pub session: SessionId,
    /// Its readable name.
    pub name: String,
    /// The plan.
    pub plan: Plan,
    /// The inputs by name, defaults included.
    pub input: serde_json::Map<String, Value>,
    /// What the run is for; otherwise what the plan says.
    pub goal: Option<String>,
    /// The folder it belongs to.
    pub base_dir: Option<String>,
    /// How every question of the run is answered without a person, if the caller wants that.
    pub auto: Option<AutoAnswer>,
}

/// What was seen on a screen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Observation {
    /// The agent asks something.
    Awaiting {
        /// What it asks.
        question: Question,
        /// The answer, where a policy has one; then nobody is asked.
        decided: Option<Box<Decision>>,
    },
    /// The agent works; whatever it asked, it does not ask any more.
    Working,
    /// The agent is ready for a message.
    Idle {
        /// Whether it has worked since it started or since the last message.
        worked: bool,
        /// What it answered, where that is known.
        output: Option<String>,
    },
}

/// What an agent asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// What kind of answer it wants.
    pub kind: AwaitingKind,
    /// The rule that saw it.
    pub rule: String,
    /// What the screen shows.
    pub excerpt: String,
    /// What an answer must name.
    pub digest: Digest,
}
