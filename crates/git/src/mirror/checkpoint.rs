//! What is in the files of a tree at this moment, as a commit of the mirror. The tree's own index,
//! head and repository are neither read nor written.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::import::{Import, Imported};
use super::stat_cache::StatCache;
use super::walk::{FileKind, FoundFile};
use super::{Mirror, NotHeld, NotHeldReason};
use crate::run::Input;
use crate::{Commit, Error, Identity, ObjectId, fields, object_id, path_of};

/// How old the last change of a file must be for its time to tell it from the next change.
const MIN_AGE_SECONDS: i64 = 2;

/// What to hold, and how to call it.
#[derive(Clone, Debug)]
pub struct CheckpointRequest<'a> {
    /// The folder of the tree.
    pub tree: &'a Path,
    /// The checkpoint before this one; for the first, the commit that the tree was made from.
    pub parent: Option<&'a Commit>,
    /// The commit of the tree's branch: files that it tracks are held even if they are ignored. It
    /// must be in the mirror ([`Mirror::take_in`]).
    pub head: Option<&'a Commit>,
    pub message: &'a str,
    /// Lines such as `Coven-Task: …` at the end of the message.
    pub trailers: &'a [(&'a str, &'a str)],
    pub author: &'a Identity,
    /// A full name such as `refs/coven/…`; without it, the commit has no name but its id, and no time
    /// of its own.
    pub reference: Option<&'a str>,
}

/// What a tree was at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub commit: Commit,
    /// The object that has the files.
    pub tree: ObjectId,
    /// How many files differ from the parent.
    pub files_changed: usize,
    /// What is in the folder and not in the checkpoint.
    pub not_held: Vec<NotHeld>,
}

/// Mode and id of what a tree of git has at a path.
pub(super) type TreeEntries = HashMap<Vec<u8>, (String, ObjectId)>;

pub(super) const GITLINK: &str = "160000";

impl Mirror {
    /// Holds the files of a tree: tracked and untracked ones, with their exact bytes, and not those
    /// that are ignored. A repository inside the tree is held as its files. Hold the first checkpoint
    /// of a tree when it was just made: what later ones are compared with.
    pub fn checkpoint(&self, request: &CheckpointRequest<'_>) -> Result<Checkpoint, Error> {
        if let Some(reference) = request.reference {
            crate::branch::check_reference(reference)?;
        }
        let before = match request.parent {
            Some(parent) => self.entries(parent)?,
            None => TreeEntries::new(),
        };
        let submodules = self.submodules_of(&before, request.head)?;
        let gitlinks: HashSet<Vec<u8>> = submodules.keys().cloned().collect();
        let index = self.tracked(request)?;
        let now = seconds_since_1970();
        let walked = self.walk(request.tree, &index.path(), &gitlinks)?;
        drop(index);

        let mut cache = StatCache::read(&self.path, request.tree);
        let (known, unknown) = sort_out(walked.files, &cache);
        let present =
            known.iter().map(|(file, _)| &file.path).chain(unknown.iter().map(|f| &f.path));
        let mut present: HashSet<&[u8]> = present.map(Vec::as_slice).collect();
        present.extend(walked.submodules.iter().map(Vec::as_slice));
        let mut not_held = walked.not_held;
        let gone = gone(&before, &present, &not_held);
        let changed = known.iter().filter(|(file, blob)| {
            before.get(&file.path).is_none_or(|(mode, id)| mode != mode_of(file) || id != blob)
        });
        let changed = changed.map(|(file, blob)| (file.path.clone(), mode_of(file), blob.clone()));
        let mut changed: Vec<_> = changed.collect();
        for path in &walked.submodules {
            let Some(id) = submodules.get(path) else { continue };
            if before.get(path).is_none_or(|(mode, old)| mode != GITLINK || old != id) {
                changed.push((path.clone(), GITLINK, id.clone()));
            }
        }
        // The same files make the same commit, however often and whenever they are looked at.
        let time = request.reference.map_or(0, |_| now.max(0));
        let import = Import { request, gone, changed, time };
        let Imported { commit, blobs, failed } = self.import(&import, unknown)?;

        not_held.extend(failed);
        cache.entries = known.into_iter().map(|(file, id)| (file.path, (file.stamp, id))).collect();
        let settled = |file: &FoundFile| file.stamp.changed.0 + MIN_AGE_SECONDS < now;
        let new = blobs.into_iter().filter(|(file, _)| settled(file));
        cache.entries.extend(new.map(|(file, id)| (file.path, (file.stamp, id))));
        cache.write(&self.path, request.tree)?;
        self.describe(request, commit, not_held)
    }

    fn describe(
        &self,
        request: &CheckpointRequest<'_>,
        commit: Commit,
        not_held: Vec<NotHeld>,
    ) -> Result<Checkpoint, Error> {
        let tree = self.line().args(["rev-parse", "--verify", "--end-of-options"]);
        let tree = object_id("rev-parse", &self.git.read(tree.arg(format!("{commit}^{{tree}}")))?)?;
        let line = self.line().args(["diff-tree", "-r", "-z", "--name-only", "--no-renames"]);
        let line = match request.parent {
            Some(parent) => line.arg(parent).arg(&commit),
            None => line.args(["--root", "--no-commit-id"]).arg(&commit),
        };
        let files_changed = fields(&self.git.read(line)?).count();
        Ok(Checkpoint { commit, tree, files_changed, not_held })
    }

    /// The submodules of a tree, and the commit that the next commit in it would have for each: what is
    /// staged, otherwise what its last commit has.
    pub(super) fn submodules_of(
        &self,
        before: &TreeEntries,
        head: Option<&Commit>,
    ) -> Result<HashMap<Vec<u8>, ObjectId>, Error> {
        let committed = head.map(|head| self.entries(head)).transpose()?;
        let committed = committed.as_ref().unwrap_or(before).iter();
        let gitlinks = committed.filter(|(_, (mode, _))| mode == GITLINK);
        let mut found: HashMap<_, _> =
            gitlinks.map(|(path, (_, id))| (path.clone(), id.clone())).collect();
        found.extend(self.staged.iter().cloned());
        Ok(found)
    }

    /// Every file of a commit.
    pub(super) fn entries(&self, commit: &Commit) -> Result<TreeEntries, Error> {
        let line = self.line().args(["ls-tree", "-r", "-z", "--full-tree"]).arg(commit);
        let output = self.git.read(line)?;
        let entry = |field: &[u8]| {
            let tab = field.iter().position(|byte| *byte == b'\t')?;
            let about = std::str::from_utf8(&field[..tab]).ok()?;
            let mut words = about.split(' ');
            let mode = words.next()?.to_owned();
            let id = words.nth(1)?.parse().ok()?;
            Some((field[tab + 1..].to_vec(), (mode, id)))
        };
        fields(&output)
            .map(|field| {
                let what = || String::from_utf8_lossy(field).into_owned();
                entry(field).ok_or_else(|| Error::unexpected("ls-tree", what()))
            })
            .collect()
    }

    /// An index that has what is tracked, for the question what is ignored.
    pub(super) fn tracked(&self, request: &CheckpointRequest<'_>) -> Result<Index, Error> {
        let failed = |error| Error::io("write an index in", &self.path, error);
        let folder = tempfile::Builder::new().prefix("index-").tempdir_in(&self.path);
        let index = Index(folder.map_err(failed)?);
        let line = |args: &[&str]| self.line().env("GIT_INDEX_FILE", index.path()).args(args);
        match request.parent {
            Some(parent) => self.git.read(line(&["read-tree"]).arg(parent))?,
            None => self.git.read(line(&["read-tree", "--empty"]))?,
        };
        if let Some(head) = request.head.filter(|head| Some(*head) != request.parent) {
            let list = self.line().args(["ls-tree", "-r", "-z", "--full-tree"]).arg(head);
            let list = self.git.read(list)?;
            let line = line(&["update-index", "-z", "--add", "--replace", "--index-info"]);
            self.git.read_with(line, Input::Bytes(list))?;
        }
        Ok(index)
    }
}

pub(super) struct Index(tempfile::TempDir);

impl Index {
    pub(super) fn path(&self) -> PathBuf {
        self.0.path().join("index")
    }
}

/// Parts files into those whose blob is known and those that must be read.
fn sort_out(
    files: Vec<FoundFile>,
    cache: &StatCache,
) -> (Vec<(FoundFile, ObjectId)>, Vec<FoundFile>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for file in files {
        match cache.entries.get(&file.path) {
            Some((stamp, blob)) if *stamp == file.stamp && file.kind != FileKind::Link => {
                known.push((file, blob.clone()));
            }
            _ => unknown.push(file),
        }
    }
    (known, unknown)
}

/// Paths of the parent that are not there any more. What could not be looked at is not gone.
fn gone(before: &TreeEntries, present: &HashSet<&[u8]>, not_held: &[NotHeld]) -> Vec<Vec<u8>> {
    let unknown: Vec<&Path> = not_held
        .iter()
        .filter(|one| matches!(one.reason, NotHeldReason::Unreadable(_) | NotHeldReason::TooDeep))
        .map(|one| one.path.as_path())
        .collect();
    let is_gone = |path: &&Vec<u8>| {
        !present.contains(path.as_slice())
            && !unknown.iter().any(|unknown| path_of(path).starts_with(unknown))
    };
    before.keys().filter(is_gone).cloned().collect()
}

pub(super) fn mode_of(file: &FoundFile) -> &'static str {
    match file.kind {
        FileKind::Link => "120000",
        FileKind::Plain { executable: true } => "100755",
        FileKind::Plain { executable: false } => "100644",
    }
}

pub(super) fn seconds_since_1970() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    elapsed.as_secs() as i64
}
