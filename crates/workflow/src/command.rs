//! What is to be done outside: the orders that follow from a decision.
//!
//! Every order may be carried out more than once and must then count once: a job that was started
//! is not started again, an answer that was given is not given again.

use coven_model::event::{InterventionDecision, JobTimer};
use coven_model::{AttemptId, ContentDigest, InterventionId, JobSpec, Timestamp, TreeId};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Start this job, unless it was ever started or stopped before.
    Start(Box<JobSpec>),
    /// Stop this job and everything it started, and leave a mark that a late start respects.
    Stop(AttemptId),
    /// Answer a question of an agent, if it still shows it.
    Answer(Box<AgentAnswer>),
    /// Type a text and submit it, once the agent is ready for it.
    Send { job: AttemptId, text: OrderedText },
    /// Tell again what the agent of this job shows now.
    Observe(AttemptId),
    /// Say so at this time.
    SetTimer { timer: JobTimer, due: Timestamp },
    /// Say at this time that nobody has decided.
    Expire { intervention: InterventionId, due: Timestamp },
    /// Do something to a tree.
    Tree(TreeOrder),
}

/// What is to be done to a tree. Where it lies and what it is made from stands in the state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TreeOrder {
    /// Make it, unless it is there.
    Make(TreeId),
    /// Keep everything in it, after this attempt.
    Checkpoint { tree: TreeId, job: AttemptId, number: u32 },
    /// The same, and commit on its branch what was left uncommitted.
    Commit { tree: TreeId, number: u32 },
    /// Bring its commits onto the branch of the run.
    Land { tree: TreeId },
    /// Remove it, if nothing in it is lost and nobody is in it.
    Remove { tree: TreeId },
}

impl TreeOrder {
    /// The tree it is about.
    pub fn tree(&self) -> &TreeId {
        match self {
            Self::Make(tree)
            | Self::Checkpoint { tree, .. }
            | Self::Commit { tree, .. }
            | Self::Land { tree }
            | Self::Remove { tree } => tree,
        }
    }
}

/// A text for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderedText {
    /// Which input of the job this is.
    pub number: u32,
    /// Which try to deliver it this is, from 1.
    pub attempt: u32,
    pub text: String,
    /// Whether it is submitted without looking whether it arrives.
    pub unverified: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentAnswer {
    /// The job that asks.
    pub job: AttemptId,
    pub intervention: InterventionId,
    /// What the agent must still show.
    pub digest: ContentDigest,
    pub decision: InterventionDecision,
}
