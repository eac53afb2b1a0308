//! An agent may leave its tree on a branch of its own, or on none. What it did there belongs to the
//! branch of the tree.

use coven_git::Unfinished;

use super::{TreeError, TreePlace};

/// How many files are named in a sentence.
const MAX_NAMED: usize = 3;

impl TreePlace {
    /// Refuses a tree with a conflict that was not resolved: a commit would take the marks of it for
    /// what the files are to be. So it does one in the middle of a rebase or of applying patches.
    pub(super) fn check_unmerged(&self) -> Result<(), TreeError> {
        let checkout = self.checkout()?;
        // Its commits are not where they will be, and what it has not done yet goes with the tree.
        let unfinished = self.git.unfinished(&checkout).filter(|what| !what.ends_with_a_commit());
        let unmerged = self.git.unmerged_paths(&checkout)?;
        if unmerged.is_empty() {
            return match unfinished {
                None | Some(Unfinished::Bisect) => Ok(()),
                Some(what) => Err(TreeError(format!(
                    "`{what}` is not finished in {}: end it there with {}, and try again",
                    self.tree.path,
                    what.how_to_end()
                ))),
            };
        }
        let named = unmerged.iter().take(MAX_NAMED).map(|path| path.display().to_string());
        let more = match unmerged.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Err(TreeError(format!(
            "a conflict in {}{more} is not resolved: resolve it in {}, `git add` what you resolved, \
             and try again",
            named.collect::<Vec<_>>().join(", "),
            self.tree.path
        )))
    }

    /// Brings the branch of the tree to where its head is, and the head back onto that branch, if that
    /// only moves the branch forward.
    pub(super) fn bring_branch_to_head(&self) -> Result<(), TreeError> {
        let (checkout, branch, tip) = (self.checkout()?, &self.tree.branch, self.tip()?);
        let head = self.git.head(&checkout)?;
        if head.branch.as_ref() == Some(branch) {
            return Ok(());
        }
        let place = match &head.branch {
            Some(other) => format!("`{other}`"),
            None => "no branch".to_owned(),
        };
        let Some(commit) = head.commit else {
            return Err(TreeError(format!("its folder is on {place}, which has no commit")));
        };
        if !self.git.is_ancestor(&self.repository, &tip, &commit)? {
            return Err(TreeError(format!(
                "its folder is on {place} at {}, which does not go on from its branch `{branch}`: \
                 bring what belongs to it onto `{branch}`, check that out in {}, and try again",
                short(commit.as_str()),
                self.tree.path,
            )));
        }
        let why = "coven: what was committed elsewhere";
        if commit != tip {
            let reference = format!("refs/heads/{branch}");
            self.git.update_reference(&self.repository, &reference, &commit, Some(&tip), why)?;
        }
        Ok(self.git.put_head_on(&checkout, branch, why)?)
    }
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
