//! Checkpoints: everything in a tree at some moment, in the mirror, under a number.

use std::path::PathBuf;
use std::time::Duration;

use coven_git::mirror::{COMMITTED_TRAILER, CheckpointRequest, NotHeldReason};
use coven_git::{Commit, Identity, Mirror, Worktree};
use coven_model::event::TreeCheckpoint;
use coven_model::{AttemptId, Timestamp, TreeId};
use coven_workflow::input::TreeReport;

use super::{TreeError, TreePlace, reference_name};

/// How many things that could not be kept are named.
const MAX_NAMED_MISSING: usize = 20;

/// When a checkpoint that could not be made is tried again: what was in its way, such as a full disk, may
/// have gone by then. Nothing else is done in the tree meanwhile.
const RETRY_DELAY: Duration = Duration::from_secs(20);

/// Makes a checkpoint, and tries once more if that fails.
pub(super) async fn tried_again<T, F>(make: impl Fn() -> F) -> Result<T, TreeError>
where
    F: Future<Output = Result<T, TreeError>>,
{
    match make().await {
        Err(error) => {
            tracing::warn!(error = error.0, "a checkpoint is tried again");
            tokio::time::sleep(RETRY_DELAY).await;
            make().await
        }
        done => done,
    }
}

impl TreePlace {
    pub(super) fn reference(&self, number: u32) -> String {
        self.reference_of(&self.tree.tree, number)
    }

    pub(super) fn reference_of(&self, tree: &TreeId, number: u32) -> String {
        format!("{}/{}/{number}", self.session_references, self.name_in_references(tree))
    }

    /// What a tree is called in references.
    pub(super) fn name_in_references(&self, tree: &TreeId) -> String {
        self.aliases.get(tree).cloned().unwrap_or_else(|| reference_name(tree))
    }

    /// What the tree was made with: its checkpoint 0, which is held once.
    pub(super) fn made_with(&self) -> Result<Commit, TreeError> {
        match self.mirror()?.commit_of(&self.reference(0))? {
            Some(known) => Ok(known),
            None => Ok(self.hold(0, false)?.commit),
        }
    }

    /// The mirror, for what is in the files of the tree, with the commits at which its submodules are
    /// checked out, because those are what the next commit has. If the index cannot be read, the last commit
    /// says what its submodules are.
    pub(super) fn mirror_of_files(&self) -> Result<Mirror, TreeError> {
        let staged =
            self.checkout().ok().and_then(|tree| self.git.checked_out_gitlinks(&tree).ok());
        Ok(self.mirror()?.with_staged(staged.unwrap_or_default()))
    }

    /// The commit that the files of the tree are held against, now in the mirror: the tip of its
    /// branch. An agent can delete the branch, or leave it; what is in the tree is kept all the same.
    pub(super) fn taken_in_tip(&self, mirror: &Mirror) -> Result<Commit, TreeError> {
        let own = |tree: &Worktree| tree.path == self.path();
        let checked_out = self.git.worktrees(&self.repository)?.into_iter().find(own);
        let checked_out = checked_out.and_then(|tree| tree.head);
        if let Some(tip) = self.git.tip(&self.repository, &self.tree.branch)? {
            // Commits beside the branch would be found by nothing once the tree is gone.
            if let Some(other) = checked_out.filter(|head| *head != tip) {
                let kept = mirror.take_in(&self.repository, &other);
                coven_folder::best_effort("keep what is checked out in a tree", kept);
            }
            mirror.take_in(&self.repository, &tip)?;
            return Ok(tip);
        }
        let last = self.tree.head.parse().ok();
        let known = checked_out.into_iter().chain(last);
        let is_there = |commit: &Commit| mirror.take_in(&self.repository, commit).is_ok();
        if let Some(commit) = known.into_iter().find(is_there) {
            return Ok(commit);
        }
        let base = self.base()?;
        mirror.take_in(&self.repository, &base)?;
        Ok(base)
    }

    /// Keeps everything in the tree under the reference of this number, or of the next one that is
    /// free: no checkpoint is ever written over.
    pub(super) fn hold(&self, mut number: u32, committed: bool) -> Result<Held, TreeError> {
        if !self.path().is_dir() {
            return Err(TreeError(format!("its folder is gone: {}", self.tree.path)));
        }
        let mirror = self.mirror_of_files()?;
        while number > 0 && mirror.commit_of(&self.reference(number))?.is_some() {
            number += 1;
        }
        let base = self.base()?;
        mirror.take_in(&self.repository, &base)?;
        let tip = self.taken_in_tip(&mirror)?;
        coven_folder::best_effort(
            "keep what was put aside in a tree",
            self.keep_stashed(&mirror).map_err(|error| error.0),
        );
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
        let lost = held.not_held.iter().filter(|file| {
            !matches!(file.reason, NotHeldReason::Submodule | NotHeldReason::Special)
        });
        let lost = lost.map(|file| file.path.clone()).collect();
        let special = |reason: &NotHeldReason| *reason != NotHeldReason::Submodule;
        let missing = held.not_held.into_iter().filter(|file| special(&file.reason));
        let missing = missing.take(MAX_NAMED_MISSING);
        let missing = missing.map(|file| file.path.display().to_string()).collect();
        Ok(Held { number, commit: held.commit, missing, lost })
    }

    /// The files of the tree at this moment, as a commit of the mirror without a name.
    pub(super) fn present(&self) -> Result<Commit, TreeError> {
        let mirror = self.mirror_of_files()?;
        let tip = self.taken_in_tip(&mirror)?;
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
        let Held { number, commit, missing, .. } = self.hold(number, committed)?;
        let files = self.mirror()?.changes(&first, &commit)?.len() as u32;
        Ok(TreeReport::Checkpointed(TreeCheckpoint {
            tree: self.tree.tree.clone(),
            job,
            number,
            reference: self.reference(number),
            commit: commit.to_string(),
            files,
            head: self.taken_in_tip(&self.mirror()?)?.to_string(),
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
    /// What of that has content.
    pub(super) lost: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::time::Instant;

    use super::*;

    /// Naive: what was in the way for a moment leaves the turn without a checkpoint for ever.
    #[tokio::test(start_paused = true)]
    async fn a_checkpoint_that_failed_is_tried_again_once_and_later() {
        for failures in 0..=2 {
            let (tries, begun) = (AtomicU32::new(0), Instant::now());
            let made = tried_again(|| async {
                let number = tries.fetch_add(1, Ordering::Relaxed);
                if number < failures { Err(TreeError("full".to_owned())) } else { Ok(number) }
            });
            let made = made.await;
            assert_eq!(made.is_ok(), failures < 2);
            assert_eq!(tries.load(Ordering::Relaxed), failures.clamp(0, 1) + 1);
            let waited = begun.elapsed();
            assert_eq!(waited >= RETRY_DELAY, failures > 0, "{waited:?}");
        }
    }
}
