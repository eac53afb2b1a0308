//! What somebody has begun in a checkout and not finished: git keeps files about it in the git dir, and
//! goes on from them.

use std::fmt;
use std::path::Path;

use crate::worktree::read_pointer;
use crate::{Git, Repository};

/// A command of git that has stopped in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    Am,
    Rebase,
    Merge,
    CherryPick,
    Revert,
    Bisect,
}

impl Unfinished {
    /// How it is ended by a person.
    pub fn how_to_end(self) -> &'static str {
        match self {
            Self::Am => "`git am --continue` or `git am --abort`",
            Self::Rebase => "`git rebase --continue` or `git rebase --abort`",
            Self::Merge => "`git merge --continue` or `git merge --abort`",
            Self::CherryPick => "`git cherry-pick --continue` or `git cherry-pick --abort`",
            Self::Revert => "`git revert --continue` or `git revert --abort`",
            Self::Bisect => "`git bisect reset`",
        }
    }

    /// Whether a commit of what is there would finish it.
    pub fn ends_with_a_commit(self) -> bool {
        matches!(self, Self::Merge | Self::CherryPick | Self::Revert)
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Am => "git am",
            Self::Rebase => "git rebase",
            Self::Merge => "git merge",
            Self::CherryPick => "git cherry-pick",
            Self::Revert => "git revert",
            Self::Bisect => "git bisect",
        })
    }
}

impl Git {
    /// What was begun in a checkout and is not finished.
    pub fn unfinished(&self, checkout: &Repository) -> Option<Unfinished> {
        unfinished_in(&checkout.git_dir)
    }
}

fn unfinished_in(git_dir: &Path) -> Option<Unfinished> {
    let has = |name: &str| std::fs::symlink_metadata(git_dir.join(name)).is_ok();
    // Several picks or reverts have a list, also between two of them.
    let list = read_pointer(&git_dir.join("sequencer/todo")).unwrap_or_default();
    let found = [
        (has("rebase-apply/applying"), Unfinished::Am),
        (has("rebase-apply") || has("rebase-merge"), Unfinished::Rebase),
        (has("MERGE_HEAD"), Unfinished::Merge),
        (has("CHERRY_PICK_HEAD") || list.starts_with(b"pick "), Unfinished::CherryPick),
        (has("REVERT_HEAD") || list.starts_with(b"revert "), Unfinished::Revert),
        (has("BISECT_LOG"), Unfinished::Bisect),
    ];
    found.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}
