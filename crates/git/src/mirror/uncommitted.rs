//! Which files of a tree are in no commit of its branch. git would run the user's filters to find
//! out; here the bytes are compared with those that were there when a commit was made.

use std::path::{Path, PathBuf};

use super::Mirror;
use super::checkpoint::{GITLINK, TreeEntries};
use crate::run::Input;
use crate::{Commit, Error, ObjectId, object_id, path_of};

/// A checkpoint, and the commit of the branch that was made of exactly these files: the first
/// checkpoint of a tree with its base, or one that was held right after a commit.
#[derive(Clone, Copy, Debug)]
pub struct CommittedState<'a> {
    pub checkpoint: &'a Commit,
    pub commit: &'a Commit,
}

/// A file of which a filter may have made the bytes that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredFile {
    pub path: String,
    /// What the commit has of it.
    pub blob: ObjectId,
}

impl Mirror {
    /// What a commit has of files that differ from it in a checkpoint. Nothing if a filter cannot be
    /// why one of them differs: it is not in both as a plain file of the same mode, or its path cannot
    /// be one line for git.
    pub fn maybe_filtered(
        &self,
        checkpoint: &Commit,
        commit: &Commit,
        paths: &[PathBuf],
    ) -> Result<Option<Vec<FilteredFile>>, Error> {
        let (present, committed) = (self.entries(checkpoint)?, self.entries(commit)?);
        let file = |path: &PathBuf| {
            let name =
                path.to_str().filter(|name| !name.contains('\n') && !name.starts_with('"'))?;
            let (mode, _) = present.get(name.as_bytes())?;
            let (other, blob) = committed.get(name.as_bytes())?;
            let is_file = mode == other && mode.starts_with("100");
            is_file.then(|| FilteredFile { path: name.to_owned(), blob: blob.clone() })
        };
        Ok(paths.iter().map(file).collect())
    }

    /// Whether two commits have the same files.
    pub fn has_same_files(&self, one: &Commit, other: &Commit) -> Result<bool, Error> {
        let files = |commit: &Commit| {
            let line = self.line().args(["rev-parse", "--verify", "--end-of-options"]);
            object_id("rev-parse", &self.git.read(line.arg(format!("{commit}^{{tree}}")))?)
        };
        Ok(files(one)? == files(other)?)
    }

    /// The files of a tree that are not in `tip` as they are, untracked ones included and ignored ones
    /// not. A file counts as committed if it has the bytes of the commit, those bytes with other line
    /// ends, or, in one of `states`, the bytes that the commit's content was made of. So a file that a
    /// filter changed and that no state knows counts as not committed.
    pub fn uncommitted(
        &self,
        tree: &Path,
        tip: &Commit,
        states: &[CommittedState<'_>],
    ) -> Result<Vec<PathBuf>, Error> {
        let parent = states.last().map_or(tip, |state| state.checkpoint);
        let present = self.entries(&self.present(tree, Some(parent), Some(tip))?)?;
        let committed = self.entries(tip)?;
        let mut known = Vec::new();
        for state in states {
            known.push((self.entries(state.checkpoint)?, self.entries(state.commit)?));
        }
        let as_known = |path: &Vec<u8>| {
            // What no commit has is not committed, however long it has been there.
            let tracked = committed.contains_key(path) || !present.contains_key(path);
            tracked
                && known.iter().any(|(checkpoint, commit)| {
                    checkpoint.get(path) == present.get(path)
                        && commit.get(path) == committed.get(path)
                })
        };
        let mut paths: Vec<&Vec<u8>> = present.keys().collect();
        paths.extend(committed.keys().filter(|path| !present.contains_key(*path)));
        let mut differ: Vec<PathBuf> = Vec::new();
        for path in paths {
            let same = present.get(path) == committed.get(path);
            if same || as_known(path) || self.same_but_for_line_ends(path, &present, &committed)? {
                continue;
            }
            differ.push(path_of(path));
        }
        differ.sort();
        Ok(differ)
    }

    fn same_but_for_line_ends(
        &self,
        path: &[u8],
        present: &TreeEntries,
        committed: &TreeEntries,
    ) -> Result<bool, Error> {
        let (Some((mode, here)), Some((other, there))) = (present.get(path), committed.get(path))
        else {
            return Ok(false);
        };
        if mode != other || mode == "120000" || mode == GITLINK {
            return Ok(false);
        }
        let sizes = self.sizes(&[here.clone(), there.clone()])?;
        if sizes.values().any(|size| *size > super::changes::MAX_FILE_BYTES) {
            return Ok(false);
        }
        Ok(without_carriage_returns(&self.blob(here)?)
            == without_carriage_returns(&self.blob(there)?))
    }

    pub(super) fn blob(&self, id: &ObjectId) -> Result<Vec<u8>, Error> {
        self.git.read_with(self.line().args(["cat-file", "blob"]).arg(id), Input::Nothing)
    }
}

fn without_carriage_returns(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            kept.push(*byte);
        }
    }
    kept
}
