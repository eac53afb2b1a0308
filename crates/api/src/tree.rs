//! The trees of sessions: listed, landed, removed, brought back.

use coven_model::{PortRange, SessionId, TreeWork};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `GET /trees` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TreesQuery {
    /// Whether the sizes of the trees are counted, which walks through all of their files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<bool>,
    /// Whether trees are listed that were removed, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<bool>,
}

/// Trees, those of a session in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeList {
    /// The trees.
    pub trees: Vec<TreeItem>,
}

/// Where a tree stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TreeState {
    /// It is being made.
    Wanted,
    /// It is there.
    Ready,
    /// It is not there, though nobody removed it through us.
    Gone,
    /// It was removed; what was in it is in its checkpoints.
    Removed,
}

/// Whether the changes of a tree were brought onto the branch they are for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "state")]
pub enum TreeLanding {
    /// Not yet.
    Open,
    /// They were.
    Landed {
        /// The branch that they were brought onto.
        onto: String,
        /// The tip of that branch afterwards.
        commit: String,
        /// Whether more was committed in the tree since.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        newer: bool,
    },
    /// Both sides changed the same.
    Conflict {
        /// The branch that they could not be brought onto.
        onto: String,
        /// The files that both changed.
        paths: Vec<String>,
    },
}

/// One tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeItem {
    /// The session it belongs to.
    pub workflow: SessionId,
    /// The readable name of the session, such as `brisk-otter`.
    pub workflow_name: String,
    /// Which tree of the session: the id of a task, or `@run`.
    pub tree: String,
    /// Where it stands.
    pub state: TreeState,
    /// Its folder.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// The commit it was made from.
    pub base: String,
    /// The tip of its branch, as far as it was told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// The top folder of the checkout that the session was started in.
    pub root: String,
    /// The branch it is to be brought onto: of a task's tree that of the run's tree, of the run's
    /// tree the one that was checked out when the session was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Whether its changes were landed.
    pub landing: TreeLanding,
    /// How many files differ from those it was made with, as of its last checkpoint.
    pub changed: u32,
    /// How many checkpoints it has.
    pub checkpoints: u32,
    /// Whether something in it was not committed yet, as far as it was told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncommitted: bool,
    /// Why it stays where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// What could not be done to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<TreeTrouble>,
    /// The ports that belong to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortRange>,
    /// How many bytes its files have, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What could not be done to a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeTrouble {
    /// What was to be done.
    pub work: TreeWork,
    /// Why it could not be.
    pub error: String,
}

/// How the commits of a tree are brought onto a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeMode {
    /// With a commit that has both as its parents; none is needed if the branch did not move.
    #[default]
    Merge,
    /// As one commit.
    Squash,
    /// Each commit again, on top of the branch.
    Rebase,
}

/// What `POST /workflows/{id}/merge` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergeRequest {
    /// The task whose tree is landed. Unless said that of the session's only task, the tree of the
    /// run, or the only one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The branch it is landed on; the one that the session was started from unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// How; `merge` unless said.
    #[serde(default)]
    pub mode: MergeMode,
    /// The message of the commit of a merge or a squash; one of ours unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65_536))]
    pub message: Option<String>,
    /// Whether it is only said what would happen. Nothing is changed then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// What happened, or would happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeOutcome {
    /// It is landed.
    Landed,
    /// It can be landed; nothing was changed.
    WouldLand,
    /// Everything in the tree is in the branch already.
    Nothing,
    /// Both changed the same; nothing was changed. `paths` says which files.
    Conflict,
    /// The branch is checked out, with changes that would be in the way; nothing was changed.
    /// `checkout` says where, `paths` which files.
    DirtyCheckout,
}

/// The answer of `POST /workflows/{id}/merge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeAnswer {
    /// What happened, or would happen.
    pub outcome: MergeOutcome,
    /// The tree: the id of a task, or `@run`.
    pub tree: String,
    /// The branch of the tree.
    pub branch: String,
    /// The branch that it is landed on.
    pub into: String,
    /// How.
    pub mode: MergeMode,
    /// The tip of `into` afterwards, if it was landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// How many commits of the tree are not in `into`, or were not.
    pub commits: u32,
    /// The files: of a conflict those that both changed, of a dirty checkout those of its changes
    /// that are in the way, otherwise those that the branch gets.
    pub paths: Vec<String>,
    /// git's own words about a conflict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The folder in which `into` is checked out, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// How many files are changed in that checkout, if it is in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<u32>,
    /// The files of the tree that are not committed. They are committed before it is landed; what
    /// would happen is said without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// Of the tree of the run: the tasks in whose own trees something is that is not landed on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlanded: Vec<String>,
}

/// What `POST /trees/prune` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PruneTrees {
    /// Only the trees of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Only this tree of it, whatever is in it: the id of a task, or `@run`. What is in it then is
    /// kept in its last checkpoint, and a branch with commits that are nowhere else stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<String>,
    /// Whether it is only said what would go. Nothing is changed then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// What became of the trees that were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrunedTrees {
    /// Those that were removed, or would be.
    pub removed: Vec<PrunedTree>,
    /// Those that stay, and why.
    pub kept: Vec<PrunedTree>,
}

/// A tree that was removed or stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrunedTree {
    /// The session it belongs to.
    pub workflow: SessionId,
    /// The readable name of the session.
    pub workflow_name: String,
    /// Which tree of the session: the id of a task, or `@run`.
    pub tree: String,
    /// Its folder.
    pub path: String,
    /// Why it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What goes with it that is in no checkpoint, such as what was built, and where else something of
    /// it is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What `POST /trees/restore` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestoreTree {
    /// The session.
    pub workflow: String,
    /// The task whose tree it is. Unless said that of the session's only task, the tree of the run,
    /// or the only one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Which checkpoint; the newest unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<u32>,
}

/// What was brought back: a new tree with a branch of its own, so that nothing is written over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoredTree {
    /// The session it belongs to.
    pub workflow: SessionId,
    /// The readable name of the session.
    pub workflow_name: String,
    /// The new tree, which is listed with the others, such as `build.2.restored1`.
    pub tree: String,
    /// The checkpoint whose files it has.
    pub checkpoint: u32,
    /// Its folder.
    pub path: String,
    /// Its branch, which is where the branch of the old tree was at the checkpoint.
    pub branch: String,
    /// How many files were written. They are not committed.
    pub written: u64,
    /// What could not be written, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<UnwrittenFile>,
}

/// A file that could not be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnwrittenFile {
    /// The file.
    pub path: String,
    /// Why it could not be written.
    pub why: String,
}
