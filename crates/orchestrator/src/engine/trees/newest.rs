//! What a tree was at last, when it is not there any more. What is landed on the branch of a run comes
//! without a checkpoint, and a person can commit in a tree: so commits may be newer than the last one.

use std::collections::BTreeMap;

use coven_git::mirror::{CheckpointRequest, CommittedState, HeldCheckpoint};
use coven_git::{Commit, Identity, Mirror};

use super::head::short;
use super::{TreeError, TreePlace};

impl TreePlace {
    /// Makes sure that the repository has the commit that the branch of the tree is at. What was tidied
    /// up there at the wrong moment comes from the mirror; what that lacks stays as it is.
    pub(super) fn mend_branch(&self) -> Result<(), TreeError> {
        let reference = format!("refs/heads/{}", self.tree.branch);
        let Some(commit) = self.git.target_of(&self.repository, &reference)? else {
            return Ok(());
        };
        if self.git.has_commit(&self.repository, &commit)? {
            return Ok(());
        }
        if let Some(mirror) = Mirror::existing(&self.git, &self.mirror) {
            let given = mirror.give_back(&self.repository, &commit).map(drop);
            coven_folder::best_effort("bring back the commit of a branch", given);
        }
        Ok(())
    }

    /// Keeps a checkpoint of what the branch of the tree was at last, if the last one is older.
    pub(super) fn hold_newest(
        &self,
        held: &BTreeMap<u32, HeldCheckpoint>,
    ) -> Result<(), TreeError> {
        let mirror = self.mirror()?;
        let newest = held.values().next_back();
        let Some(later) = self.later_commit(&mirror, newest)? else { return Ok(()) };
        let mut number = held.keys().next_back().map_or(0, |number| number + 1).max(1);
        while mirror.commit_of(&self.reference(number))?.is_some() {
            number += 1;
        }
        let reference = self.reference(number);
        self.at_commit(&mirror, &later, newest, Some((number, &reference))).map(drop)
    }

    /// The files of the tree as its branch had them last, if its last checkpoint is older; as a commit of
    /// the mirror without a name.
    pub(super) fn newest_files(
        &self,
        mirror: &Mirror,
        newest: Option<&HeldCheckpoint>,
    ) -> Result<Option<Commit>, TreeError> {
        // What was committed after it may be gone; then the checkpoint is all there is to be shown.
        let Ok(Some(later)) = self.later_commit(mirror, newest) else { return Ok(None) };
        self.at_commit(mirror, &later, newest, None).map(Some)
    }

    /// What the branch of the tree was at last, if that is not in its last checkpoint. The mirror has it
    /// then.
    fn later_commit(
        &self,
        mirror: &Mirror,
        newest: Option<&HeldCheckpoint>,
    ) -> Result<Option<Commit>, TreeError> {
        let (base, told) = (self.base()?, self.tree.head.parse::<Commit>()?);
        let known = newest.and_then(|held| held.head.clone()).unwrap_or_else(|| base.clone());
        let tip = self.git.tip(&self.repository, &self.tree.branch)?;
        let is_known = |commit: &Commit| -> Result<bool, TreeError> {
            let same = *commit == known || *commit == base;
            Ok(same || mirror.is_ancestor(commit, &known)?)
        };
        if let Some(tip) = tip.filter(|tip| *tip != told) {
            mirror.take_in(&self.repository, &tip)?;
            // A person may have put the branch back; then there is more in what was told.
            if !mirror.is_ancestor(&tip, &told)? {
                return Ok(if is_known(&tip)? { None } else { Some(tip) });
            }
        }
        if told == base || told == known {
            return Ok(None);
        }
        if mirror.take_in(&self.repository, &told).is_err() {
            let (session, tree) = (&self.session, self.tree.tree.task());
            let tree = tree.map_or("@run", |task| task.as_str());
            let number = newest.and_then(|held| held.reference.rsplit('/').next());
            let before = number.map(|number| {
                format!(
                    "; `coven trees restore {session}/{tree} --checkpoint {number}` brings back what \
                     was kept before it"
                )
            });
            return Err(TreeError(format!(
                "its last commit {} is gone from the repository and was not kept{}",
                short(told.as_str()),
                before.unwrap_or_default(),
            )));
        }
        Ok(if is_known(&told)? { None } else { Some(told) })
    }

    fn at_commit(
        &self,
        mirror: &Mirror,
        commit: &Commit,
        newest: Option<&HeldCheckpoint>,
        name: Option<(u32, &str)>,
    ) -> Result<Commit, TreeError> {
        let base = self.base()?;
        let files = newest.map_or(&base, |held| &held.commit);
        let made_of = newest.and_then(|held| held.head.as_ref()).unwrap_or(&base);
        mirror.take_in(&self.repository, made_of)?;
        let state = CommittedState { checkpoint: files, commit: made_of };
        let tree = &self.tree.tree;
        let message = match name {
            Some((number, _)) => format!("checkpoint {number} of {tree}"),
            None => format!("newest files of {tree}"),
        };
        Ok(mirror.checkpoint_at(
            commit,
            &state,
            &CheckpointRequest {
                tree: &self.path(),
                parent: newest.map(|held| &held.commit),
                head: Some(commit),
                message: &message,
                trailers: &[("Coven-Session", self.session.as_str())],
                author: &Identity::new("coven", "coven@localhost"),
                reference: name.map(|(_, reference)| reference),
            },
        )?)
    }
}
