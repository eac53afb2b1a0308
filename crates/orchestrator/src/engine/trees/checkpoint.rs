//! Checkpoints: everything in a tree at some moment, in the mirror, under a number.

use coven_git::mirror::{COMMITTED_TRAILER, CheckpointRequest, NotHeldReason};
use coven_git::{Commit, Identity};
use coven_model::event::TreeCheckpoint;
use coven_model::{AttemptId, Timestamp, TreeId};
use coven_workflow::input::TreeReport;

use super::{TreeError, TreePlace, reference_name};

/// How many things that could not be kept are named.
const MAX_NAMED_MISSING: usize = 20;

impl TreePlace {
    pub(super) fn reference(&self, number: u32) -> String {
        self.reference_of(&self.tree.tree, number)
    }

    pub(super) fn reference_of(&self, tree: &TreeId, number: u32) -> String {
        let name = self.aliases.get(tree).cloned().unwrap_or_else(|| reference_name(tree));
        format!("{}/{name}/{number}", self.session_references)
    }

    /// What the tree was made with: its checkpoint 0, which is held once.
    pub(super) fn made_with(&self) -> Result<Commit, TreeError> {
        match self.mirror()?.commit_of(&self.reference(0))? {
            Some(known) => Ok(known),
            None => Ok(self.hold(0, false)?.commit),
        }
    }

    /// Keeps everything in the tree under the reference of this number, or of the next one that is
    /// free: no checkpoint is ever written over.
    pub(super) fn hold(&self, mut number: u32, committed: bool) -> Result<Held, TreeError> {
        if !self.path().is_dir() {
            return Err(TreeError(format!("its folder is gone: {}", self.tree.path)));
        }
        let mirror = self.mirror()?;
        while number > 0 && mirror.commit_of(&self.reference(number))?.is_some() {
            number += 1;
        }
        let (base, tip) = (self.base()?, self.tip()?);
        mirror.take_in(&self.repository, &base)?;
        mirror.take_in(&self.repository, &tip)?;
        let parent = match number.checked_sub(1) {
            None => Some(base),
            Some(before) => mirror.commit_of(&self.reference(before))?,
        };
        let committed = committed.then_some((COMMITTED_TRAILER, "yes"));
        let trailers: Vec<(&str, &str)> =
            std::iter::once(("Coven-Session", self.session.as_str())).chain(committed).collect();
        let held = mirror.checkpoint(&CheckpointRequest {
            tree: &self.path(),
            parent: parent.as_ref(),
            head: Some(&tip),
            message: &format!("checkpoint {number} of {}", self.tree.tree),
            trailers: &trailers,
            author: &Identity::new("coven", "coven@localhost"),
            reference: Some(&self.reference(number)),
        })?;
        let special = |reason: &NotHeldReason| *reason != NotHeldReason::Submodule;
        let missing = held.not_held.into_iter().filter(|file| special(&file.reason));
        let missing = missing.take(MAX_NAMED_MISSING);
        let missing = missing.map(|file| file.path.display().to_string()).collect();
        Ok(Held { number, commit: held.commit, missing })
    }

    /// The files of the tree at this moment, as a commit of the mirror without a name.
    pub(super) fn present(&self) -> Result<Commit, TreeError> {
        let (mirror, tip) = (self.mirror()?, self.tip()?);
        mirror.take_in(&self.repository, &tip)?;
        let first = self.made_with()?;
        Ok(mirror.present(&self.path(), Some(&first), Some(&tip))?)
    }

    /// Keeps what is in the tree before something is done to it, unless the last checkpoint has
    /// exactly that.
    pub(super) fn keep_before(&self) -> Result<(), TreeError> {
        let mirror = self.mirror()?;
        if let Some((_, last)) = self.held(&mirror)?.into_iter().next_back()
            && mirror.has_same_files(&last.commit, &self.present()?)?
        {
            return Ok(());
        }
        self.hold(self.tree.checkpoints.saturating_add(1), false).map(drop)
    }

    pub(super) fn checkpointed(
        &self,
        job: Option<AttemptId>,
        number: u32,
        committed: bool,
    ) -> Result<TreeReport, TreeError> {
        let first = self.made_with()?;
        let Held { number, commit, missing } = self.hold(number, committed)?;
        let files = self.mirror()?.changes(&first, &commit)?.len() as u32;
        Ok(TreeReport::Checkpointed(TreeCheckpoint {
            tree: self.tree.tree.clone(),
            job,
            number,
            reference: self.reference(number),
            commit: commit.to_string(),
            files,
            head: self.tip()?.to_string(),
            committed,
            missing,
            at: Timestamp::default(),
        }))
    }
}

/// A checkpoint that was just made.
pub(super) struct Held {
    pub(super) number: u32,
    pub(super) commit: Commit,
    /// What could not be kept.
    pub(super) missing: Vec<String>,
}
