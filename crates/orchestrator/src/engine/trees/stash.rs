//! What an agent put aside with `git stash` in its tree. The list belongs to the whole repository, and
//! anybody can drop an entry from it; so each is kept in the mirror, beside the checkpoints.

use std::collections::BTreeSet;

use coven_git::Mirror;

use super::{REFERENCES, TreeError, TreePlace};

impl TreePlace {
    /// Keeps the entries that were made on the branch of the tree, or on the one that is checked out
    /// there.
    pub(super) fn keep_stashed(&self, mirror: &Mirror) -> Result<(), TreeError> {
        let head = self.checkout().ok().and_then(|tree| self.git.head(&tree).ok()?.branch);
        let branches: BTreeSet<String> =
            [self.tree.branch.clone()].into_iter().chain(head).collect();
        for entry in self.git.stashed_on(&self.repository, &branches)? {
            let reference = format!("{}{entry}", self.stash_references());
            if mirror.commit_of(&reference)?.is_none() {
                mirror.take_in(&self.repository, &entry)?;
                mirror.keep_as(&reference, &entry)?;
            }
        }
        Ok(())
    }

    /// Where they are, for who removes the tree.
    pub(super) fn notes_of_stashed(&self) -> Result<Vec<String>, TreeError> {
        let mirror = self.mirror()?;
        let kept = mirror.references(&self.stash_references())?;
        let place = mirror.path().display().to_string();
        let note = |(name, _)| format!("what `git stash` put aside is kept as {name} in {place}");
        Ok(kept.into_iter().map(note).collect())
    }

    fn stash_references(&self) -> String {
        let session = self.session_references.replacen(REFERENCES, "refs/stashes/", 1);
        format!("{session}/{}/", self.name_in_references(&self.tree.tree))
    }
}
