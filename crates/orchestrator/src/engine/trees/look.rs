//! Looking at trees: what there is, and what differs. git never opens a file of a tree for that.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use coven_git::mirror::{ChangedFile, CommittedState, FileDiff, HeldCheckpoint};
use coven_git::{BranchHistory, Commit, Git, Mirror};
use coven_model::{SessionId, TreeId};
use coven_workflow::state::{LandingPhase, TreePhase, WorkflowRun};

use super::size::size_on_disk;
use super::{GIT_DEADLINE, MIRROR, REFERENCES, TreeError, TreePlace};
use crate::trees::{
    ChangesAgainst, TreeChanges, TreeEntry, TreeFile, TreeFileChanges, TreeFileKind, TreeHunk,
    TreeLandingState, TreeLine, TreeRequestError, TreeState, is_bidirectional,
};

/// How many bytes an answer has at most, about.
const MAX_ANSWER_BYTES: usize = 5 << 20;

/// What a file of a list takes beside its paths.
const FILE_BYTES: usize = 200;

/// What a line takes beside its text.
const LINE_BYTES: usize = 64;

/// The trees of sessions as a list shows them: git is asked once for all of a repository. Waits on the
/// disk.
pub(crate) fn entries<'a>(
    state_dir: &Path,
    runs: impl Iterator<Item = (&'a SessionId, &'a WorkflowRun)>,
    sizes: bool,
) -> Vec<TreeEntry> {
    let mut places = Vec::new();
    for (session, run) in runs {
        let Some(record) = run.identity.repository.as_deref() else { continue };
        for tree in run.trees() {
            let place = TreePlace::new(state_dir, run, record.clone(), tree.clone());
            places.push((session, run, place));
        }
    }
    let mut repositories: BTreeMap<String, Vec<&TreePlace>> = BTreeMap::new();
    for (_, _, place) in &places {
        let common_dir = place.record.common_dir.clone();
        repositories.entry(common_dir).or_default().push(place);
    }
    let known: BTreeMap<String, Arc<BranchHistory>> = repositories
        .into_iter()
        .filter_map(|(common_dir, places)| Some((common_dir, Arc::new(history(&places)?))))
        .collect();
    let listed = places.into_iter().map(|(session, run, place)| {
        let known = known.get(&place.record.common_dir).cloned();
        entry(session, run, &TreePlace { known, ..place }, sizes)
    });
    listed.collect()
}

/// What git knows of the branches that these trees of one repository are about. Nothing if it cannot be
/// asked, as when the repository is gone.
fn history(places: &[&TreePlace]) -> Option<BranchHistory> {
    let (mut branches, mut bases) = (BTreeSet::new(), BTreeSet::new());
    for place in places {
        branches.extend([place.tree.branch.clone(), place.record.branches.clone()]);
        branches.extend(place.record.branch.clone());
        if let LandingPhase::Landed { onto, .. } = &place.tree.landing {
            branches.insert(onto.clone());
        }
        bases.extend(place.record.head.parse::<Commit>().ok());
    }
    let first = places.first()?;
    first.git.branch_history(&first.repository, &branches, &bases).ok()
}

fn entry(session: &SessionId, run: &WorkflowRun, place: &TreePlace, sizes: bool) -> TreeEntry {
    let (tree, record) = (&place.tree, &place.record);
    let path = place.path();
    let state = match tree.phase {
        TreePhase::Wanted => TreeState::Wanted,
        TreePhase::Removed => TreeState::Removed,
        TreePhase::Ready if path.is_dir() => TreeState::Ready,
        TreePhase::Ready => TreeState::Gone,
    };
    // A repository that is gone is no reason to show nothing.
    let tip = place.known_tip(&tree.branch).ok().flatten();
    let head = tip.map_or_else(|| tree.head.clone(), |tip| tip.to_string());
    let landing = match &tree.landing {
        LandingPhase::Open => TreeLandingState::Open,
        // What is on its branch no more was taken back. Of a tree that is gone there is nothing to land.
        LandingPhase::Landed { .. }
            if state != TreeState::Removed && !place.is_landed().unwrap_or(true) =>
        {
            TreeLandingState::Open
        }
        LandingPhase::Landed { onto, commit, tip } => TreeLandingState::Landed {
            onto: onto.clone(),
            commit: commit.clone(),
            newer: state != TreeState::Removed && *tip != head,
        },
        LandingPhase::Conflict { onto, paths } => {
            TreeLandingState::Conflict { onto: onto.clone(), paths: paths.clone() }
        }
    };
    let is_there = state == TreeState::Ready;
    let changed = place.changed(&head);
    TreeEntry {
        session: session.clone(),
        session_name: run.identity.name.clone(),
        tree: tree.tree.clone(),
        branch: tree.branch.clone(),
        base: tree.base.clone(),
        head,
        root: record.root.clone().into(),
        target: record.branch.clone(),
        state,
        landing,
        changed,
        checkpoints: tree.checkpoints,
        uncommitted: tree.uncommitted,
        kept: tree.kept.clone(),
        problem: tree.problem.as_ref().map(|problem| (problem.work, problem.error.clone())),
        ports: tree.ports,
        bytes: (sizes && is_there).then(|| size_on_disk(&path)),
        path,
    }
}

/// The sessions that have trees or had some, by their ids: what a tree was made with is kept for ever.
pub(crate) fn sessions_with_trees(state_dir: &Path) -> HashSet<String> {
    let git = Git::new().with_deadline(GIT_DEADLINE);
    let repositories = std::fs::read_dir(state_dir.join("trees")).into_iter().flatten().flatten();
    let mut found = HashSet::new();
    for repository in repositories {
        let Some(mirror) = Mirror::existing(&git, &repository.path().join(MIRROR)) else {
            continue;
        };
        let references = mirror.references(REFERENCES).unwrap_or_default().into_iter();
        let session =
            |name: &str| Some(name.strip_prefix(REFERENCES)?.split('/').next()?.to_owned());
        found.extend(references.filter_map(|(name, _)| session(&name)));
    }
    found
}

/// Two commits of the mirror that are compared.
pub(crate) struct ComparedWith {
    pub(super) mirror: Mirror,
    pub(crate) from: Commit,
    pub(crate) to: Commit,
    /// Whether `to` has the files as they are at this moment.
    pub(crate) present: bool,
}

impl TreePlace {
    /// How many files differ from those it was made with: as of the last checkpoint, or as far as they
    /// are committed. What is landed in a tree comes without a checkpoint.
    fn changed(&self, head: &str) -> u32 {
        let told = self.tree.changed;
        if self.tree.tree != TreeId::Run || head == self.tree.base {
            return told;
        }
        let committed = || {
            let (base, head) = (self.base().ok()?, head.parse().ok()?);
            self.git.paths_between(&self.repository, &base, &head).ok()
        };
        committed().map_or(told, |paths| told.max(paths.len() as u32))
    }

    /// The checkpoints of the tree, by number.
    pub(crate) fn held(&self, mirror: &Mirror) -> Result<BTreeMap<u32, HeldCheckpoint>, TreeError> {
        let reference = self.reference(0);
        let prefix = reference.trim_end_matches('0');
        let number = |held: &HeldCheckpoint| held.reference.strip_prefix(prefix)?.parse().ok();
        let held = mirror.held(prefix)?.into_iter();
        Ok(held.filter_map(|held| Some((number(&held)?, held))).collect())
    }

    /// The same where nothing may be made.
    pub(crate) fn checkpoints(&self) -> Result<BTreeMap<u32, HeldCheckpoint>, TreeError> {
        match Mirror::existing(&self.git, &self.mirror) {
            Some(mirror) => self.held(&mirror),
            None => Ok(BTreeMap::new()),
        }
    }

    /// The files of the tree, or of its last checkpoint if it is not there, beside those that they
    /// are compared with.
    pub(crate) fn compared(
        &self,
        against: ChangesAgainst,
        target: Option<&str>,
    ) -> Result<ComparedWith, TreeRequestError> {
        let mirror = self.mirror()?;
        let held = self.held(&mirror)?;
        let base = self.base()?;
        let first = if let Some(first) = held.get(&0) {
            first.commit.clone()
        } else {
            mirror.take_in(&self.repository, &base)?;
            base.clone()
        };
        let newest = held.values().next_back();
        let tip = self.git.tip(&self.repository, &self.tree.branch)?;
        let present = self.is_there();
        let to = if present {
            if let Some(tip) = &tip {
                mirror.take_in(&self.repository, tip)?;
            }
            let parent = newest.map_or(&base, |newest| &newest.commit);
            self.mirror_of_files()?.present(&self.path(), Some(parent), tip.as_ref())?
        } else {
            let nothing = || TreeRequestError::NothingHeld(self.tree.tree.clone());
            match self.newest_files(&mirror, newest)? {
                Some(files) => files,
                None => newest.ok_or_else(nothing)?.commit.clone(),
            }
        };
        let from = match against {
            ChangesAgainst::Base => first,
            ChangesAgainst::Checkpoint(number) => {
                let tree = self.tree.tree.clone();
                let unknown = || TreeRequestError::NoCheckpoint { tree, number };
                held.get(&number).ok_or_else(unknown)?.commit.clone()
            }
            ChangesAgainst::Target => {
                let target = target.ok_or(TreeRequestError::NoTarget)?;
                let onto = self.git.tip(&self.repository, target)?;
                let onto = onto.ok_or_else(|| TreeRequestError::NoBranch(target.to_owned()))?;
                let last = newest.and_then(|newest| newest.head.clone());
                let tip = tip.or(last).unwrap_or_else(|| base.clone());
                // The commits of a branch that was removed may be gone from the repository.
                let parted = self.git.merge_base(&self.repository, &onto, &tip).ok().flatten();
                let parted = parted.unwrap_or_else(|| base.clone());
                mirror.take_in(&self.repository, &base)?;
                mirror.take_in(&self.repository, &parted)?;
                let state = CommittedState { checkpoint: &first, commit: &base };
                mirror.as_checked_out(&parted, &state)?
            }
        };
        Ok(ComparedWith { mirror, from, to, present })
    }

    /// What differs.
    pub(crate) fn changes(
        &self,
        against: ChangesAgainst,
        target: Option<String>,
    ) -> Result<TreeChanges, TreeRequestError> {
        let compared = self.compared(against, target.as_deref())?;
        let mut room = MAX_ANSWER_BYTES;
        let (mut files, mut omitted) = (Vec::new(), 0);
        for change in compared.mirror.changes(&compared.from, &compared.to)? {
            let old = change.old_path.as_ref().map_or(0, |old| old.as_os_str().len());
            let cost = FILE_BYTES + change.path.as_os_str().len() + old;
            match room.checked_sub(cost) {
                Some(left) if omitted == 0 => {
                    room = left;
                    files.push(file(change));
                }
                _ => omitted += 1,
            }
        }
        Ok(TreeChanges {
            tree: self.tree.tree.clone(),
            branch: self.tree.branch.clone(),
            target,
            from: compared.from.to_string(),
            to: compared.to.to_string(),
            present: compared.present,
            files,
            omitted,
        })
    }

    /// The lines of one file that differ.
    pub(crate) fn file_changes(
        &self,
        against: ChangesAgainst,
        target: Option<&str>,
        path: &Path,
    ) -> Result<TreeFileChanges, TreeRequestError> {
        self.compared(against, target)?.file_changes(self, path)
    }

    /// All of it as a patch that `git apply` takes. Files for which there is no room are named in it.
    pub(crate) fn patch(
        &self,
        against: ChangesAgainst,
        target: Option<&str>,
    ) -> Result<Vec<u8>, TreeRequestError> {
        let compared = self.compared(against, target)?;
        let patch = compared.mirror.patch(&compared.from, &compared.to)?;
        let how_to_see = if compared.present {
            let (tree, base) = (&self.tree.path, self.tree.base.get(..12).unwrap_or_default());
            format!("`git -C '{tree}' diff {base} -- FILE` shows what is left out")
        } else {
            "`coven trees restore` brings back what is left out".to_owned()
        };
        Ok(super::patch::within(patch, MAX_ANSWER_BYTES, &how_to_see))
    }
}

impl ComparedWith {
    /// The same two trees of files, the second as it was at another time: a commit of the mirror.
    pub(crate) fn at(self, to: &str) -> Result<Self, TreeRequestError> {
        Ok(Self { to: to.parse()?, ..self })
    }

    pub(crate) fn file_changes(
        &self,
        place: &TreePlace,
        path: &Path,
    ) -> Result<TreeFileChanges, TreeRequestError> {
        let (from, to) = (&self.from, &self.to);
        let mut changes = self.mirror.changes(from, to)?.into_iter();
        let change = changes.find(|change| change.path == path);
        let change = change.ok_or_else(|| TreeRequestError::NotChanged(path.to_owned()))?;
        let has_lines = !change.binary && !change.too_large;
        let diff = if has_lines {
            self.mirror.file_diff(from, to, path, change.old_path.as_deref())?
        } else {
            FileDiff::Binary
        };
        let (hunks, cut) = match diff {
            FileDiff::Lines(hunks) => shown(hunks),
            FileDiff::Binary | FileDiff::TooLarge => (Vec::new(), false),
        };
        Ok(TreeFileChanges {
            tree: place.tree.tree.clone(),
            from: from.to_string(),
            to: to.to_string(),
            file: file(change),
            hunks,
            cut,
        })
    }
}

fn file(change: ChangedFile) -> TreeFile {
    let kind = if change.submodule {
        TreeFileKind::Submodule
    } else if change.symlink {
        TreeFileKind::Symlink
    } else {
        TreeFileKind::File
    };
    TreeFile {
        kind,
        mode: change.mode_changed().then(|| (change.old_mode.clone(), change.new_mode.clone())),
        path: change.path,
        old_path: change.old_path,
        status: change.status,
        added: change.added,
        removed: change.removed,
        binary: change.binary,
        too_large: change.too_large,
    }
}

/// Hunks as they are answered, and whether there are more.
fn shown(hunks: Vec<coven_git::mirror::Hunk>) -> (Vec<TreeHunk>, bool) {
    let mut room = MAX_ANSWER_BYTES;
    let mut shown = Vec::new();
    for hunk in hunks {
        let mut lines = Vec::new();
        let mut is_cut = false;
        for line in hunk.lines {
            let Some(left) = room.checked_sub(line.text.len() + LINE_BYTES) else {
                is_cut = true;
                break;
            };
            room = left;
            lines.push(TreeLine {
                kind: line.kind,
                old: line.old,
                new: line.new,
                bidirectional: line.text.chars().any(is_bidirectional),
                text: line.text,
                no_line_feed: line.no_line_feed,
            });
        }
        let (old_start, new_start) = (hunk.old_start, hunk.new_start);
        shown.push(TreeHunk { old_start, new_start, lines });
        if is_cut {
            return (shown, true);
        }
    }
    (shown, false)
}
