//! The files of a commit as they lie in a tree, to compare with what is in the tree. A commit has
//! what the user's filters made of the files: other line ends, or a pointer for a large one.

use std::collections::HashSet;

use super::checkpoint::TreeEntries;
use super::held::HEAD_TRAILER;
use super::{CheckpointRequest, CommittedState, Mirror};
use crate::run::Input;
use crate::{Commit, Error, Identity, ObjectId, object_id};

impl Mirror {
    /// A commit with the files of `commit`, where a file that is the same in `state` is as its
    /// checkpoint has it. All three are in the mirror.
    pub fn as_checked_out(
        &self,
        commit: &Commit,
        state: &CommittedState<'_>,
    ) -> Result<Commit, Error> {
        if commit == state.commit {
            return Ok(state.checkpoint.clone());
        }
        let tree = self.tree_as_checked_out(commit, state, Extras::Left)?;
        self.commit_of_files(&tree, &[], b"files as they are checked out")
    }

    /// Holds what a tree was at `commit`, of which no checkpoint was made: what its last checkpoint has
    /// uncommitted is carried along. All three commits of the two are in the mirror.
    pub fn checkpoint_at(
        &self,
        commit: &Commit,
        state: &CommittedState<'_>,
        request: &CheckpointRequest<'_>,
    ) -> Result<Commit, Error> {
        let tree = self.tree_as_checked_out(commit, state, Extras::Carried)?;
        let mut trailers = request.trailers.to_vec();
        trailers.push((HEAD_TRAILER, commit.as_str()));
        let message = crate::message_text(request.message, &trailers);
        let parents: Vec<&Commit> = request.parent.into_iter().collect();
        let held = self.commit_of_files(&tree, &parents, message.as_bytes())?;
        if let Some(reference) = request.reference {
            self.keep_as(reference, &held)?;
        }
        Ok(held)
    }

    fn tree_as_checked_out(
        &self,
        commit: &Commit,
        state: &CommittedState<'_>,
        extras: Extras,
    ) -> Result<ObjectId, Error> {
        let (known, made) = (self.entries(state.commit)?, self.entries(state.checkpoint)?);
        let wanted = self.entries(commit)?;
        let mut list = Vec::new();
        let mut put = |path: &[u8], (mode, id): &(String, ObjectId)| {
            list.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            list.extend_from_slice(path);
            list.push(0);
        };
        for (path, entry) in &wanted {
            if known.get(path) == Some(entry) {
                // One that is not there was not checked out, as in a sparse checkout.
                let Some(made) = made.get(path) else { continue };
                put(path, made);
            } else {
                put(path, entry);
            }
        }
        if extras == Extras::Carried {
            let names = Names::of(&wanted);
            for (path, entry) in &made {
                if !known.contains_key(path) && names.has_room_for(path) {
                    put(path, entry);
                }
            }
        }
        let failed = |error| Error::io("write an index in", &self.path, error);
        let folder = tempfile::Builder::new().prefix("index-").tempdir_in(&self.path);
        let folder = folder.map_err(failed)?;
        let line = || self.line().env("GIT_INDEX_FILE", folder.path().join("index"));
        let add = line().args(["update-index", "-z", "--add", "--index-info"]);
        self.git.read_with(add, Input::Bytes(list))?;
        object_id("write-tree", &self.git.read(line().args(["write-tree", "--missing-ok"]))?)
    }

    fn commit_of_files(
        &self,
        tree: &ObjectId,
        parents: &[&Commit],
        message: &[u8],
    ) -> Result<Commit, Error> {
        let who = Identity::new("Coven", "coven@localhost");
        let line =
            self.line().env("GIT_AUTHOR_NAME", &who.name).env("GIT_AUTHOR_EMAIL", &who.email);
        let line = line.env("GIT_COMMITTER_NAME", who.name).env("GIT_COMMITTER_EMAIL", who.email);
        self.git.commit_object(line, parents, tree, message)
    }
}

/// What becomes of files of a checkpoint that were in no commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extras {
    Left,
    Carried,
}

/// The files and folders that there are.
struct Names<'a> {
    files: &'a TreeEntries,
    folders: HashSet<&'a [u8]>,
}

impl<'a> Names<'a> {
    fn of(files: &'a TreeEntries) -> Self {
        Self { files, folders: files.keys().flat_map(|path| folders_of(path)).collect() }
    }

    /// Whether a file can be here: there is none, no folder of the name, and no file where a folder of it
    /// would be.
    fn has_room_for(&self, path: &[u8]) -> bool {
        !self.files.contains_key(path)
            && !self.folders.contains(path)
            && !folders_of(path).any(|folder| self.files.contains_key(folder))
    }
}

fn folders_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..at])
}
