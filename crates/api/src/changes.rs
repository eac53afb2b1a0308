//! What the agent of a task changed in its tree, and the review of it.
//!
//! A path is written as it is, unless it would not be one line of plain text: with characters that
//! control a terminal or the direction of text, with bytes that are no UTF-8, or with a quotation
//! mark in front. Then it stands in quotation marks with octal escapes, as git writes it. A request
//! names a file in the same way.

use std::collections::BTreeMap;

use coven_model::{AttemptId, TaskId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use coven_model::{ReviewComment, ReviewSide};

/// The task that stands for the tree of the run where a route takes a task. No task has this id.
pub const RUN_TREE: &str = "@run";

/// What `GET …/changes` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangesQuery {
    /// What the files of the tree are compared with: `base` (the usual), the commit it was made
    /// from; `target`, the branch it is to be brought onto, from the commit where both part;
    /// `checkpoint:N`, what was in it then. Checkpoint 0 is what it was made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^(base|target|checkpoint:[0-9]{1,9})$"))]
    pub against: Option<String>,
}

/// What `GET …/changes/file` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileChangesQuery {
    /// The file, as `GET …/changes` names it.
    pub path: String,
    /// The same as for `GET …/changes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^(base|target|checkpoint:[0-9]{1,9})$"))]
    pub against: Option<String>,
}

/// The files of a tree that differ from what they are compared with, as they are now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeChanges {
    /// The tree that the task works in: the id of a task, or `@run`.
    pub tree: String,
    /// The branch of the tree.
    pub branch: String,
    /// What was asked for: `base`, `target` or `checkpoint:N`.
    pub against: String,
    /// The branch that the tree is to be brought onto, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The commit that the files are compared with.
    pub base: String,
    /// A commit of the files as they are now, or were when the tree was last kept if it is gone.
    pub head: String,
    /// Whether the tree is there. The changes of one that was removed are those of its last
    /// checkpoint.
    pub present: bool,
    /// The files, by path.
    pub files: Vec<FileChange>,
    /// How many files are not listed, because the answer would be too large.
    #[serde(default, skip_serializing_if = "crate::task::is_zero")]
    pub omitted: u64,
    /// What can be compared with besides `base` and `target`, the oldest first.
    pub checkpoints: Vec<CheckpointItem>,
}

/// A moment at which everything in a tree was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointItem {
    /// Which checkpoint of the tree, from 1.
    pub number: u32,
    /// The attempt after which it was made, if it was after one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// How many files differed from those the tree was made with, where that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// When it was made.
    pub at: Timestamp,
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileChangeStatus {
    /// It was not there.
    Added,
    /// Its bytes or its mode differ.
    Modified,
    /// It is not there any more.
    Deleted,
    /// It was under another path.
    Renamed,
    /// It is something else, such as a link where a file was.
    TypeChanged,
}

/// What kind of thing is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// A file.
    File,
    /// A symbolic link, on one side at least. Its text is where it points; it is never followed.
    Symlink,
    /// Another repository, of which only the commit is known.
    Submodule,
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
// A file that changed since it was trusted has the other name.
#[schemars(rename = "TreeFileChange")]
pub struct FileChange {
    /// Where it is, or was if it was deleted; below the top folder of the tree.
    pub path: String,
    /// Where it was, if it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// How it differs.
    pub status: FileChangeStatus,
    /// What it is.
    pub kind: FileKind,
    /// How many lines were added; 0 for what is binary.
    pub added: u64,
    /// How many lines were removed; 0 for what is binary.
    pub removed: u64,
    /// Whether it is not text.
    pub binary: bool,
    /// Whether it is too large to be shown line by line: over 512 KiB.
    pub too_large: bool,
    /// The mode before and now, such as `100644` and `100755`, where a file got or lost the right to
    /// be executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeChange>,
}

/// A file got or lost the right to be executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModeChange {
    /// The mode before, in octal.
    pub old: String,
    /// The mode now.
    pub new: String,
}

/// The lines of one file that differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChanges {
    /// The tree that the task works in: the id of a task, or `@run`.
    pub tree: String,
    /// The commit that the file is compared with.
    pub base: String,
    /// A commit of the files as they are now.
    pub head: String,
    /// The file, as in the list of changes.
    pub file: FileChange,
    /// What differs, with three lines around it. None for what is binary or too large.
    pub hunks: Vec<ChangeHunk>,
    /// Whether hunks are missing at the end, because the answer would be over 5 MiB.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Whether characters that cannot be seen, or that turn the direction of text, were replaced
    /// by their names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
}

/// Lines that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeHunk {
    /// The number of the first of its lines before.
    pub old_start: u32,
    /// The number of the first of its lines now.
    pub new_start: u32,
    /// The lines.
    pub lines: Vec<ChangeLine>,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ChangeLineKind {
    /// It is there before and now.
    #[serde(rename = " ")]
    Context,
    /// It is new.
    #[serde(rename = "+")]
    Added,
    /// It is not there any more.
    #[serde(rename = "-")]
    Removed,
}

impl ChangeLineKind {
    /// The character in front of the line.
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Added => '+',
            Self::Removed => '-',
        }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeLine {
    /// What became of it.
    pub k: ChangeLineKind,
    /// Its number before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub o: Option<u32>,
    /// Its number now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// The line. Characters that control a terminal or the direction of text stand as `⟨U+202E⟩`.
    pub t: String,
    /// Whether it ends with a carriage return.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cr: bool,
    /// Whether the file ends after it without a line feed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end: bool,
}

/// What `POST …/review` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendReview {
    /// The comments; all of them go to the agent in one message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub comments: Vec<ReviewComment>,
    /// What is said about the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16_384))]
    pub summary: Option<String>,
    /// What the files were compared with when the lines were counted; `base` unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^(base|target|checkpoint:[0-9]{1,9})$"))]
    pub against: Option<String>,
    /// The `head` of the changes that were looked at. If the files have changed since, a line is
    /// looked for by its text; one that is not found is sent as it was seen, and said to be
    /// outdated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9a-f]{40,64}$"))]
    pub head: Option<String>,
    /// Whether it is sent. Otherwise the answer says what would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub send: bool,
    /// The environment that an agent gets which is started with it after its run is over: that of
    /// the caller. Without it, it gets the daemon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
}

/// How a review reached the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewDelivery {
    /// Nothing was sent.
    None,
    /// As a message to the agent that runs, which was seen to arrive.
    Message,
    /// As a message to the agent that runs, which it gets as soon as it takes one.
    Queued,
    /// A new attempt begins with it.
    Attempt,
    /// The step of the task is over, so a new run begins with it, in a worktree made from what the
    /// task did.
    Run,
}

/// What became of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewAnswer {
    /// How it reached the agent.
    pub delivery: ReviewDelivery,
    /// The attempt that begins with it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The name of the run that begins with it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The message, as the agent gets it.
    pub message: String,
    /// The comments whose lines have changed since, by their places in the request, from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outdated: Vec<u32>,
}

/// What `GET …/comments` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentCommentsQuery {
    /// Those of this step or task alone, wherever it worked. Without it those of all tasks that
    /// worked where this one does; of a tree that was landed on the tree of the run also those that
    /// were written there. From another tree only what is about files that this one changed is
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// What agents with `expect: comments` say about the work of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentComments {
    /// The tree that the task works in: the id of a task, or `@run`. None if it works in the base
    /// directory, where nothing is known of lines that have changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The commit of the files in which the lines are counted, as in `GET …/changes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// What they say about the whole.
    pub summaries: Vec<AgentSummary>,
    /// What they say about lines.
    pub comments: Vec<AgentComment>,
    /// How many comments are not listed, because the answer would be too large.
    #[serde(default, skip_serializing_if = "crate::task::is_zero")]
    pub omitted: u64,
}

/// What an agent says about the whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSummary {
    /// The task that wrote it.
    pub task: TaskId,
    /// The attempt that did.
    pub attempt: u32,
    /// What it says.
    pub text: String,
}

/// What an agent says about lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentComment {
    /// The task that wrote it.
    pub task: TaskId,
    /// The attempt that did.
    pub attempt: u32,
    /// Its place in the answer of that attempt, from 0.
    pub place: u32,
    /// The file, as `GET …/changes` names it.
    pub path: String,
    /// The side that the line is on.
    pub side: ReviewSide,
    /// The line, as it is counted now; of one that is outdated as the agent counted.
    pub line: u32,
    /// The last line, if it is about more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The comment.
    pub text: String,
    /// The lines as the agent saw them, where that is known.
    pub lines: Vec<String>,
    /// Whether these lines are not there: they have changed since, or never were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
}
