//! What agents with `expect: comments` say about the work of a task.

use coven_model::{AttemptId, TreeId};

use super::ReviewComment;

/// The comments of agents, with their lines as they are counted in the files of a tree now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentComments {
    /// The tree; none if the task works in the folder of the session, where nothing is known of lines
    /// that have changed.
    pub tree: Option<TreeId>,
    /// The commit of our mirror in which the lines are counted.
    pub head: Option<String>,
    /// What each agent says about the whole, if it says something.
    pub summaries: Vec<(AttemptId, String)>,
    /// What they say about lines.
    pub comments: Vec<AgentComment>,
}

/// What an agent says about lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentComment {
    /// The attempt that wrote it.
    pub job: AttemptId,
    /// Its place in the answer of that attempt, from 0.
    pub place: usize,
    /// The comment, where its lines are now; of one that is outdated where the agent saw them.
    pub comment: ReviewComment,
    /// The lines as the agent saw them, if that is known.
    pub lines: Vec<String>,
    /// Whether they are not there: they have changed since, or never were.
    pub outdated: bool,
}
