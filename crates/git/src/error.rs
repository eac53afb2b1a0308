//! What can go wrong when git is asked, with git's own words.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{ObjectId, Unfinished};

/// Why a call of git, or the work around it, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started: it is missing, or may not be run.
    #[error("cannot start {program}: {source}", program = .program.display())]
    Start { program: PathBuf, source: std::io::Error },
    /// The call took longer than its deadline; it and its process group were ended.
    #[error("git {verb} took longer than {limit:?} and was ended{}", said(.words))]
    Deadline { verb: String, limit: Duration, words: String },
    /// git said no. `words` is what it wrote to its standard error.
    #[error("git {verb} failed: {words}")]
    Failed { verb: String, code: Option<i32>, words: String },
    /// git printed more than the call expects.
    #[error("git {verb} printed more than {limit} bytes")]
    TooMuchOutput { verb: String, limit: u64 },
    /// git printed something that this crate does not understand.
    #[error("git {verb} printed what is not understood: {what}")]
    Unexpected { verb: String, what: String },
    /// The installed git lacks what this crate needs.
    #[error("git {}.{}.{} is too old: 2.38 or newer is needed", .found.0, .found.1, .found.2)]
    TooOld { found: (u32, u32, u32) },
    /// The repository has no commit that a tree could start from.
    #[error("{} has no commits yet: make one, then try again", .root.display())]
    NoCommits { root: PathBuf },
    /// The repository has no checkout.
    #[error("{} is a bare repository, which has no files to work on", .git_dir.display())]
    Bare { git_dir: PathBuf },
    /// git refuses the repository because it belongs to another user.
    #[error("git does not trust this repository: {words}")]
    UnsafeOwner { words: String },
    /// The folder of a new tree exists, has files in it, and is no tree of this branch.
    #[error("{} exists and is not empty", .path.display())]
    PathTaken { path: PathBuf },
    /// The branch of a new tree exists and has commits of its own.
    #[error("the branch {branch} exists and is at {tip}")]
    BranchTaken { branch: String, tip: ObjectId },
    /// The branch is checked out in another folder.
    #[error("the branch {branch} is in use in {}", .path.display())]
    BranchInUse { branch: String, path: PathBuf },
    /// The repository has no work tree at this path.
    #[error("{} is not a work tree of this repository", .path.display())]
    NotRegistered { path: PathBuf },
    /// Two registrations claim one path, or the folder does not point back to its registration.
    #[error("the registration of {} was changed: {what}", .path.display())]
    Tampered { path: PathBuf, what: String },
    /// The checkout has changes that would be in the way.
    #[error("{} has {}", .root.display(), changed(.paths.len()))]
    Dirty { root: PathBuf, paths: Vec<PathBuf> },
    /// The checkout is in the middle of something that a person has to finish.
    #[error("{} is not finished in {}: end it with {}", .what, .root.display(), .what.how_to_end())]
    Unfinished { root: PathBuf, what: Unfinished },
    /// git refused to remove a work tree. Its own words would advise force.
    #[error("{} is not removed: {why}", .path.display())]
    NotRemoved { path: PathBuf, why: NotRemovedReason },
    /// A reference was not at the expected commit.
    #[error("{reference} has moved: {words}")]
    Moved { reference: String, words: String },
    /// A name that git would not take, or that could be read as an option.
    #[error("{name:?} is not a name that git takes")]
    InvalidName { name: String },
    /// A file or folder could not be read or written.
    #[error("cannot {what} {}: {source}", .path.display())]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
}

/// Why git did not remove a work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRemovedReason {
    Changed,
    Submodules,
    Locked,
}

impl fmt::Display for NotRemovedReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Changed => "files in it are changed or untracked",
            Self::Submodules => "submodules are checked out in it",
            Self::Locked => "it is locked; `git worktree unlock` with its folder ends that",
        })
    }
}

fn changed(files: usize) -> String {
    if files == 1 { "1 changed file".to_owned() } else { format!("{files} changed files") }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; it had said: {words}") }
}

impl Error {
    pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { what, path: path.into(), source }
    }

    pub(crate) fn unexpected(verb: &str, what: impl Into<String>) -> Self {
        Self::Unexpected { verb: verb.to_owned(), what: what.into() }
    }

    /// Whether git could not get a lock file that another git holds at the moment.
    pub fn is_lock_held(&self) -> bool {
        let Self::Failed { words, .. } = self else { return false };
        words.contains("could not lock config file")
            || (words.contains(".lock'") && words.contains("File exists"))
    }

    /// Whether git refused to remove a tree because files in it look changed to it. It runs no filter
    /// here, so one that a filter has changed may look so.
    pub fn is_about_changes(&self) -> bool {
        matches!(self, Self::NotRemoved { why: NotRemovedReason::Changed, .. })
    }

    /// Whether git refused to remove a tree because submodules are checked out in it.
    pub fn is_about_submodules(&self) -> bool {
        matches!(self, Self::NotRemoved { why: NotRemovedReason::Submodules, .. })
    }

    /// The same without git's advice to use force, where it refused to remove a work tree.
    pub(crate) fn of_removal(self, path: &Path) -> Self {
        let Self::Failed { words, .. } = &self else { return self };
        let why = if words.contains("contains modified or untracked files") {
            NotRemovedReason::Changed
        } else if words.contains("working trees containing submodules") {
            NotRemovedReason::Submodules
        } else if words.contains("locked working tree") {
            NotRemovedReason::Locked
        } else {
            return self;
        };
        Self::NotRemoved { path: path.to_owned(), why }
    }

    /// Whether git came upon a registration that another git was writing at that moment: every
    /// `git worktree` reads them all, and finds a file that is empty yet.
    pub(crate) fn is_half_written(&self) -> bool {
        let Self::Failed { words, .. } = self else { return false };
        words.contains("failed to read") && words.contains("/worktrees/")
    }
}
