//! What is asked about trees, and what is answered: listed, compared, merged, brought back, removed,
//! reviewed.

mod comments;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use coven_model::{AttemptId, PortRange, SessionId, TaskId, Timestamp, TreeId, TreeWork};

pub use self::comments::{AgentComment, AgentComments};
pub use coven_git::mirror::{ChangeStatus, LineKind};
pub use coven_model::ReviewSide;

use crate::engine::trees::TreeError;
use crate::error::RequestError;

/// A tree of a session, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// The session it belongs to.
    pub session: SessionId,
    /// The readable name of that session.
    pub session_name: String,
    /// Which of its trees.
    pub tree: TreeId,
    /// Where it lies.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit it was made from.
    pub base: String,
    /// The tip of its branch: as git has it now, and if git cannot be asked, as it was last told.
    pub head: String,
    /// The top folder of the checkout that the session was started in.
    pub root: PathBuf,
    /// The branch that it is merged onto unless another is named: the one that was checked out when
    /// the session was made.
    pub target: Option<String>,
    /// Where it stands.
    pub state: TreeState,
    /// Whether its commits are on another branch.
    pub landing: TreeLandingState,
    /// How many files differ from those it was made with, as of the last checkpoint.
    pub changed: u32,
    /// How many checkpoints were told.
    pub checkpoints: u32,
    /// Whether something has worked in it since what was left was last committed.
    pub uncommitted: bool,
    /// Why it stays, if it does.
    pub kept: Option<String>,
    /// What could not be done to it.
    pub problem: Option<(TreeWork, String)>,
    /// The ports that belong to it.
    pub ports: Option<PortRange>,
    /// How many bytes its files take on the disk, if that was asked for. Links are not followed.
    pub bytes: Option<u64>,
}

/// Where a tree stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeState {
    /// It was asked for and is not there yet.
    Wanted,
    /// It is there.
    Ready,
    /// It should be there, and its folder is not.
    Gone,
    /// It was removed; its checkpoints stay.
    Removed,
}

/// Whether what was done in a tree is on another branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeLandingState {
    /// It is not.
    Open,
    /// It was brought onto a branch.
    Landed {
        /// The branch.
        onto: String,
        /// The tip of that branch afterwards.
        commit: String,
        /// Whether the tree's own branch has gone on since.
        newer: bool,
    },
    /// Both sides changed the same.
    Conflict {
        /// The branch.
        onto: String,
        /// The files.
        paths: Vec<String>,
    },
}

/// A checkpoint of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeCheckpointEntry {
    /// Which one, from 1; 0 is what the tree was made with.
    pub number: u32,
    /// The commit in our mirror of the repository.
    pub commit: String,
    /// The reference in that mirror.
    pub reference: String,
    /// When it was made.
    pub at: Timestamp,
    /// The attempt after which it was made, if it was after one.
    pub job: Option<AttemptId>,
    /// How many files differ from those the tree was made with, where that was told.
    pub files: Option<u32>,
    /// What the branch of the tree was at.
    pub head: Option<String>,
}

/// What the present files of a tree are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangesAgainst {
    /// What the tree was made with.
    #[default]
    Base,
    /// The branch that the session was started from, from where the two part.
    Target,
    /// A checkpoint, by its number.
    Checkpoint(u32),
}

/// What differs in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChanges {
    /// The tree that was looked at.
    pub tree: TreeId,
    /// Its branch.
    pub branch: String,
    /// The branch that `target` means.
    pub target: Option<String>,
    /// A commit of our mirror with the files that were compared with.
    pub from: String,
    /// One with the files as they are.
    pub to: String,
    /// Whether these are the files of the tree at this moment. Otherwise the tree is not there, and
    /// they are those of its last checkpoint.
    pub present: bool,
    /// The files, by path.
    pub files: Vec<TreeFile>,
    /// How many more there are than an answer can hold.
    pub omitted: usize,
}

/// One file that differs. Links are never followed, and no filter of the repository has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path below the top folder of the tree, in any bytes.
    pub path: PathBuf,
    /// Where it was, if it was renamed.
    pub old_path: Option<PathBuf>,
    /// How it differs.
    pub status: ChangeStatus,
    /// What it is.
    pub kind: TreeFileKind,
    /// Lines; zero for what is binary.
    pub added: u64,
    /// Lines; zero for what is binary.
    pub removed: u64,
    /// Whether it is not text.
    pub binary: bool,
    /// Whether one side has more than 512 KiB, so that its lines are not shown.
    pub too_large: bool,
    /// The modes before and after, if the file got or lost the right to be executed.
    pub mode: Option<(String, String)>,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeFileKind {
    /// A plain file.
    File,
    /// A symbolic link, of which the content is where it points.
    Symlink,
    /// A submodule, of which the content is a commit.
    Submodule,
}

/// The lines of one file that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFileChanges {
    /// The tree that was looked at.
    pub tree: TreeId,
    /// A commit of our mirror with the files that were compared with.
    pub from: String,
    /// One with the files as they are.
    pub to: String,
    /// The file, as in the list.
    pub file: TreeFile,
    /// The lines that differ with three around each; none of a binary or too large file.
    pub hunks: Vec<TreeHunk>,
    /// Whether there are more than an answer can hold.
    pub cut: bool,
}

/// Lines that differ, with those around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeHunk {
    /// The number of its first line before.
    pub old_start: u32,
    /// The number of its first line after.
    pub new_start: u32,
    /// Its lines.
    pub lines: Vec<TreeLine>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLine {
    /// What became of it.
    pub kind: LineKind,
    /// Its number before; nothing for an added line.
    pub old: Option<u32>,
    /// Its number after; nothing for a removed line.
    pub new: Option<u32>,
    /// Without the line feed. Bytes that are no UTF-8 are replaced.
    pub text: String,
    /// Whether it has characters that change the direction of what stands around them, so that it
    /// may read otherwise than a compiler reads it ([`is_bidirectional`]).
    pub bidirectional: bool,
    /// Whether the file ends here without a line feed.
    pub no_line_feed: bool,
}

/// Whether a character changes the direction of the text around it, or marks one.
pub fn is_bidirectional(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// How commits are brought onto a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeMode {
    /// One merge commit.
    #[default]
    Merge,
    /// One commit with everything that is new.
    Squash,
    /// Each commit on top of the branch; if there are merges among them, one merge commit.
    Rebase,
}

/// A wish to bring a tree's commits onto a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeRequest {
    /// Which tree.
    pub tree: TreeId,
    /// The branch; otherwise the one that was checked out when the session was made.
    pub into: Option<String>,
    /// How.
    pub mode: MergeMode,
    /// The message of the commit of a merge or a squash, instead of one of ours.
    pub message: Option<String>,
    /// Whether it is only to be said what would happen.
    pub dry_run: bool,
    /// Who asks for it.
    pub by: String,
}

/// What became of a merge, or would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeReport {
    /// The tree.
    pub tree: TreeId,
    /// Its branch.
    pub branch: String,
    /// The branch it is brought onto.
    pub into: String,
    /// How.
    pub mode: MergeMode,
    /// How many commits of the tree's branch are new there.
    pub commits: usize,
    /// Files of the tree that are in no commit. They are committed first; a dry run leaves them out
    /// of what it says.
    pub uncommitted: Vec<PathBuf>,
    /// The checkout that has the branch, if one has.
    pub checkout: Option<PathBuf>,
    /// Of the tree of the run: the trees of tasks in which something is that is not landed on it.
    pub unlanded: Vec<TreeId>,
    /// What came of it.
    pub outcome: MergeOutcome,
}

/// What came of a merge, or would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// It would land.
    WouldLand {
        /// The files that would change on the branch.
        paths: Vec<PathBuf>,
    },
    /// The branch has it now.
    Landed {
        /// The tip of the branch.
        commit: String,
        /// The files that changed on the branch.
        paths: Vec<PathBuf>,
    },
    /// The branch had it all already.
    UpToDate,
    /// Both sides changed the same. Nothing was touched.
    Conflict {
        /// The files.
        paths: Vec<PathBuf>,
        /// git's own words.
        messages: Vec<String>,
    },
    /// The branch is checked out, and what is changed there is in the way. Nothing was touched.
    DirtyCheckout {
        /// The changed files that the merge would write to. It may be none: also then nothing is
        /// written to a checkout with changes in tracked files.
        overlapping: Vec<PathBuf>,
        /// How many files are changed there.
        changed: usize,
    },
}

/// A wish to bring back what was in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreRequest {
    /// Which tree.
    pub tree: TreeId,
    /// Which checkpoint; otherwise the newest.
    pub checkpoint: Option<u32>,
    /// Who asks for it.
    pub by: String,
}

/// What was brought back: a tree of its own, with a branch of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredTree {
    /// The new tree, which is listed like any other.
    pub tree: TreeId,
    /// The checkpoint that is in it.
    pub checkpoint: u32,
    /// Where it lies.
    pub path: PathBuf,
    /// Its branch, at the commit that the branch of the old tree was at.
    pub branch: String,
    /// How many files were written. They are uncommitted.
    pub written: usize,
    /// What could not be written, and why; also submodules, of which only the commit is known.
    pub failed: Vec<(PathBuf, String)>,
}

/// Which trees may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneRequest {
    /// Those of this session alone.
    pub session: Option<SessionId>,
    /// These alone, and whatever is in them. What is in a tree then is in its last checkpoint, and a
    /// branch with commits that are nowhere else stays.
    pub force: Vec<(SessionId, TreeId)>,
    /// Whether it is only to be said what would happen.
    pub dry_run: bool,
}

/// What became of one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedTree {
    /// Its session.
    pub session: SessionId,
    /// The readable name of that session.
    pub session_name: String,
    /// Which tree.
    pub tree: TreeId,
    /// Where it lay.
    pub path: PathBuf,
    /// Why it stays; nothing if it went.
    pub kept: Option<String>,
    /// What went with it that is in no checkpoint, and where else something of it is kept.
    pub notes: Vec<String>,
}

/// What a person says about what a task did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// Remarks on lines.
    pub comments: Vec<ReviewComment>,
    /// What there is to say about all of it.
    pub summary: Option<String>,
    /// What the changes were against that were shown.
    pub against: ChangesAgainst,
    /// [`TreeChanges::to`] of the changes that were shown; otherwise the files as they are.
    pub head: Option<String>,
    /// Whether it is only to be said what would be sent.
    pub dry_run: bool,
    /// Who says it.
    pub by: String,
    /// The environment of the caller: what is started gets it, where the run is over.
    pub env: Option<BTreeMap<OsString, OsString>>,
    /// Whether no run may be started for it, and none that is over let go on.
    pub starts_no_run: bool,
}

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewComment {
    /// The file, as it is called after; before, if it was deleted.
    pub path: PathBuf,
    /// Which file the line is of.
    pub side: ReviewSide,
    /// The line, from 1.
    pub line: u32,
    /// The last line, if there are several.
    pub end_line: Option<u32>,
    /// The remark.
    pub text: String,
}

/// What became of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewReport {
    /// The text that the agent gets.
    pub message: String,
    /// The places of comments whose lines have changed since they were shown. They are sent as they
    /// were seen.
    pub outdated: Vec<usize>,
    /// How it gets there; nothing in a dry run.
    pub delivery: Option<ReviewDelivery>,
}

/// How a review gets to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewDelivery {
    /// As a message to the living agent. It has arrived, or is typed as soon as the agent takes it.
    Message {
        /// Whether it was seen to arrive.
        arrived: bool,
    },
    /// A new run begins with it, in a tree made from what the task did: the task's step is over.
    Run {
        /// The new run.
        id: SessionId,
        /// Its readable name.
        name: String,
    },
    /// A new attempt of the task begins with it. It resumes the conversation where the adapter knows
    /// how to.
    Attempt {
        /// Which attempt.
        number: u32,
    },
}

/// Why something asked about trees is not done.
#[derive(Debug, thiserror::Error)]
pub enum TreeRequestError {
    /// The session cannot be asked.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The session has no trees, or not this one.
    #[error("there is no tree of {0}")]
    NoTree(TreeId),
    /// The task works in no tree.
    #[error("the task {0} works in no tree of its own")]
    NotInTree(TaskId),
    /// Neither a step nor a task of this name answers with comments.
    #[error("no step or task `{0}` answers with comments (`expect: comments`)")]
    NoReviewer(String),
    /// The tree has no such checkpoint.
    #[error("the tree of {tree} has no checkpoint {number}")]
    NoCheckpoint {
        /// The tree.
        tree: TreeId,
        /// The number that was asked for.
        number: u32,
    },
    /// Nothing was ever kept of the tree, and it is not there.
    #[error("nothing was kept of the tree of {0}")]
    NothingHeld(TreeId),
    /// The file does not differ.
    #[error("{} does not differ", .0.display())]
    NotChanged(PathBuf),
    /// The branch to merge onto is not there.
    #[error("there is no branch `{0}`")]
    NoBranch(String),
    /// No branch was checked out when the session was made.
    #[error("no branch was checked out when the session was made; say which one to merge into")]
    NoTarget,
    /// It cannot be done as things stand.
    #[error("{0}")]
    NotNow(String),
    /// What was left uncommitted could not be committed, in the words of git or of a hook.
    #[error("what is uncommitted in the tree could not be committed: {0}")]
    Commit(String),
    /// What was to be looked at or done cannot be, for this reason.
    #[error("{0}")]
    Failed(String),
    /// git says no, or a file cannot be used.
    #[error(transparent)]
    Git(#[from] coven_git::Error),
}

impl From<TreeError> for TreeRequestError {
    fn from(error: TreeError) -> Self {
        Self::Failed(error.0)
    }
}
