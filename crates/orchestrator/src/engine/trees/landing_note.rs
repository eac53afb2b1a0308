//! What was about to be put on a branch, noted in the mirror before the branch moves. Whoever dies
//! between the two finds the note and does not put the same there again: git cannot tell by itself
//! that commits were rebased or squashed onto a branch.

use coven_git::{Commit, Error, Mirror};
use coven_workflow::state::LandingPhase;

use super::{REFERENCES, TreeError, TreePlace};

impl TreePlace {
    /// Notes that `tip` becomes `landed` on a branch.
    pub(super) fn about_to_land(
        &self,
        tip: &Commit,
        onto: &str,
        landed: &Commit,
    ) -> Result<(), TreeError> {
        let mirror = self.mirror()?;
        mirror.take_in(&self.repository, landed)?;
        let reference = self.landing_reference(tip, onto, landed);
        if mirror.commit_of(&reference)?.is_none() {
            mirror.keep_as(&reference, landed)?;
        }
        Ok(())
    }

    /// What `tip` became on a branch that is at `current`, if it was put there.
    pub(super) fn landed_before(
        &self,
        tip: &Commit,
        onto: &str,
        current: &Commit,
    ) -> Result<Option<Commit>, TreeError> {
        self.noted_landing(&self.mirror()?, tip, onto, current)
    }

    fn noted_landing(
        &self,
        mirror: &Mirror,
        tip: &Commit,
        onto: &str,
        current: &Commit,
    ) -> Result<Option<Commit>, TreeError> {
        let below = self.landing_references(tip, onto);
        for (_, landed) in mirror.references(&below)? {
            let is_there = self.git.has_commit(&self.repository, &landed)?
                && self.git.is_ancestor(&self.repository, &landed, current)?;
            if is_there {
                return Ok(Some(landed));
            }
        }
        Ok(None)
    }

    /// Whether what was landed is on its branch still, by what git has now: a person can take a landing
    /// back. After a merge its commits are there, also if the merge itself was made anew; after a squash
    /// or a rebase the commit is that was made of them.
    pub(super) fn is_landed(&self) -> Result<bool, TreeError> {
        let LandingPhase::Landed { onto, commit, tip } = &self.tree.landing else {
            return Ok(false);
        };
        let current = match self.known_tip(onto)? {
            Some(current) => Some(current),
            // The branch of a run goes once it is landed itself.
            None => match &self.record.branch {
                Some(target) => self.known_tip(target)?,
                None => None,
            },
        };
        let Some(current) = current else { return Ok(false) };
        for older in [commit, tip] {
            if self.is_in(older, &current)? {
                return Ok(true);
            }
        }
        // The fact has the first commit that was made of this tip; a later one is in the notes.
        let Some(mirror) = Mirror::existing(&self.git, &self.mirror) else { return Ok(false) };
        Ok(self.noted_landing(&mirror, &tip.parse()?, onto, &current)?.is_some())
    }

    /// Where a branch is, from what was asked for all trees at once if it was.
    pub(super) fn known_tip(&self, branch: &str) -> Result<Option<Commit>, TreeError> {
        match &self.known {
            Some(known) => Ok(known.tip(branch).cloned()),
            None => Ok(self.git.tip(&self.repository, branch)?),
        }
    }

    /// Whether a commit, which may be in the repository no more, is below another or the same.
    fn is_in(&self, older: &str, current: &Commit) -> Result<bool, TreeError> {
        if older == current.as_str() {
            return Ok(true);
        }
        let older = older.parse()?;
        let known = self.known.as_ref().and_then(|known| known.is_ancestor(&older, current));
        if let Some(is_in) = known {
            return Ok(is_in);
        }
        match self.git.is_ancestor(&self.repository, &older, current) {
            Ok(is_in) => Ok(is_in),
            Err(Error::Failed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn landing_reference(&self, tip: &Commit, onto: &str, landed: &Commit) -> String {
        format!("{}{landed}", self.landing_references(tip, onto))
    }

    /// Apart from the references of checkpoints, which are numbers below the name of their tree.
    fn landing_references(&self, tip: &Commit, onto: &str) -> String {
        let session = self.session_references.replacen(REFERENCES, "refs/landings/", 1);
        format!("{session}/{}/{tip}/{onto}/", self.name_in_references(&self.tree.tree))
    }
}
