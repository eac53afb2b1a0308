//! Trees: git worktrees that are made for a run or for one of its tasks, each with a branch of its
//! own. What is said about them in facts and jobs.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::millis;
use crate::{AttemptId, TaskId, Timestamp};

/// Which tree of a session.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TreeId {
    /// The tree of the run, in which all steps work that have no tree of their own.
    Run,
    /// The tree of a task.
    Task(TaskId),
}

impl TreeId {
    /// The task that it belongs to; nothing for the tree of the run.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Run => None,
            Self::Task(task) => Some(task),
        }
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => formatter.write_str("the run"),
            Self::Task(task) => task.fmt(formatter),
        }
    }
}

/// The repository of a session, as it was when the session was made. Where git keeps things is
/// taken from here and never looked up again, because agents can write to their trees.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryRecord {
    /// The top folder of the checkout that the session was started in.
    pub root: String,
    /// The git folder of that checkout.
    pub git_dir: String,
    /// The git folder that all worktrees of the repository share.
    pub common_dir: String,
    /// Where the base directory lies below the top folder; empty if it is the top folder.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The commit that was checked out.
    pub head: String,
    /// The branch that was checked out, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The folder in which the trees of the session lie.
    pub trees: String,
    /// What the branches of its trees begin with, such as `coven/brisk-otter`.
    pub branches: String,
    /// What set-up commands run in each new tree, one after another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// What runs in a tree before it is removed, one after another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<String>,
    /// How long each of those may take.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "millis::maybe")]
    #[schemars(with = "Option<u64>")]
    pub setup_timeout: Option<Duration>,
    /// The file that names the ignored files that a new tree gets, if it is not `.worktreeinclude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<String>,
    /// What of the checkout each tree gets as links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<String>,
    /// How many ports belong to each tree, if it is not ten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// The settings and hooks of the repository that name programs. Others do not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<RepositoryProgram>,
    /// The common folder under which the state folder has what was kept of its trees, if the repository
    /// was moved since ([`RepositoryPlace`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_under: Option<String>,
}

impl RepositoryRecord {
    /// The common folder under which the state folder has what was kept of its trees.
    pub fn kept_under(&self) -> &str {
        self.kept_under.as_deref().unwrap_or(&self.common_dir)
    }

    /// The same repository, found again elsewhere.
    pub fn move_to(&mut self, place: &RepositoryPlace) {
        self.kept_under.get_or_insert_with(|| self.common_dir.clone());
        self.root.clone_from(&place.root);
        self.git_dir.clone_from(&place.git_dir);
        self.common_dir.clone_from(&place.common_dir);
    }
}

/// Where a repository is that was moved, as a person does who renames its folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryPlace {
    /// The top folder of the checkout that the session was started in.
    pub root: String,
    /// The git folder of that checkout.
    pub git_dir: String,
    /// The git folder that all worktrees of the repository share.
    pub common_dir: String,
}

/// A setting or a hook of a repository that makes git run a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryProgram {
    /// The name of the setting, or `hook:` and the name of a hook.
    pub name: String,
    /// The value of the setting, or a digest of the hook's bytes.
    pub value: String,
}

/// A row of ports that nobody else is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PortRange {
    /// The first of them.
    pub first: u16,
    /// How many there are.
    pub count: u16,
}

/// The tree that a job works in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobTree {
    /// Which tree of the session.
    pub tree: TreeId,
    /// Its top folder.
    pub path: String,
    /// The folder in it that stands for the base directory.
    pub base_dir: String,
    /// The top folder of the checkout that the session was started in.
    pub root: String,
    /// Its branch.
    pub branch: String,
    /// The commit it was made from.
    pub base: String,
    /// The ports that belong to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortRange>,
}

/// What is done to a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TreeWork {
    /// It is made.
    Make,
    /// All that is in it is kept in a commit of ours.
    Checkpoint,
    /// What was left uncommitted in it is committed on its branch.
    Commit,
    /// Its commits are brought onto another branch.
    Land,
    /// It is removed.
    Remove,
}

impl TreeWork {
    /// What could not be done, as the end of “it could not be”.
    pub fn as_participle(self) -> &'static str {
        match self {
            Self::Make => "made",
            Self::Checkpoint => "checkpointed",
            Self::Commit => "committed",
            Self::Land => "landed",
            Self::Remove => "removed",
        }
    }
}

/// A tree was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeWanted {
    /// Which tree of the session.
    pub tree: TreeId,
    /// The commit it is made from.
    pub base: String,
    /// The branch it gets.
    pub branch: String,
    /// Where it will lie.
    pub path: String,
    /// The checkpoint that is brought back in it, if it is made for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<Box<TreeSource>>,
    /// When the fact was recorded, by the daemon's clock.
    pub at: Timestamp,
}

/// A checkpoint that is brought back in a tree of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TreeSource {
    /// The tree that it is a checkpoint of.
    pub tree: TreeId,
    /// The commit that that tree was made from.
    pub base: String,
    /// Which of its checkpoints.
    pub checkpoint: u32,
    /// Who asked for it.
    pub by: String,
}

/// A remark of a person on what a task did.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewRemark {
    /// The file, below the top folder of the tree.
    pub path: String,
    /// Whether the lines are of the file as it was before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old: bool,
    /// The line, from 1.
    pub line: u32,
    /// The last line, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The remark.
    pub text: String,
}

/// A tree is there and can be worked in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeReady {
    /// Which tree of the session.
    pub tree: TreeId,
    /// The commit that is checked out in it.
    pub head: String,
    /// How many files were copied into it because `.worktreeinclude` names them.
    #[serde(default)]
    pub included: u32,
    /// The ports that belong to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortRange>,
    /// What a person should know about it, such as a hook that was not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// When the fact was recorded, by the daemon's clock.
    pub at: Timestamp,
}

/// Everything in a tree was kept in a commit under a reference of ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeCheckpoint {
    /// Which tree of the session.
    pub tree: TreeId,
    /// The attempt after which it was made, if it was after one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<AttemptId>,
    /// Which checkpoint of the tree, from 1.
    pub number: u32,
    /// The reference that holds it.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit of the checkpoint.
    pub commit: String,
    /// How many files differ from those the tree was made with.
    pub files: u32,
    /// The tip of the tree's branch, after what was left was committed if that was asked for.
    pub head: String,
    /// Whether what was left uncommitted was committed on the branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub committed: bool,
    /// What could not be kept, such as sockets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// When the fact was recorded, by the daemon's clock.
    pub at: Timestamp,
}

/// The commits of a tree were brought onto a branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeLanded {
    /// Which tree of the session.
    pub tree: TreeId,
    /// The branch they were brought onto.
    pub onto: String,
    /// The tip of that branch afterwards.
    pub commit: String,
    /// The tip of the tree's branch that was landed.
    pub tip: String,
    /// Who asked for it, if it was not the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When the fact was recorded, by the daemon's clock.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_named_by_what_it_belongs_to() {
        assert_eq!(serde_json::to_string(&TreeId::Run).unwrap(), r#""run""#);
        let task = TreeId::Task(TaskId::new("build.3").unwrap());
        assert_eq!(serde_json::to_string(&task).unwrap(), r#"{"task":"build.3"}"#);
        assert_eq!(task.to_string(), "build.3");
        assert_eq!((task.task().is_some(), TreeId::Run.task()), (true, None));
    }
}
