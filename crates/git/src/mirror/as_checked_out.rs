//! The files of a commit as they lie in a tree, to compare with what is in the tree. A commit has
//! what the user's filters made of the files: other line ends, or a pointer for a large one.

use super::{CommittedState, Mirror};
use crate::run::Input;
use crate::{Commit, Error, Identity, object_id};

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
        let (known, made) = (self.entries(state.commit)?, self.entries(state.checkpoint)?);
        let mut list = Vec::new();
        for (path, entry) in self.entries(commit)? {
            let entry = if known.get(&path) == Some(&entry) {
                // One that is not there was not checked out, as in a sparse checkout.
                let Some(made) = made.get(&path) else { continue };
                made
            } else {
                &entry
            };
            list.extend_from_slice(format!("{} {}\t", entry.0, entry.1).as_bytes());
            list.extend_from_slice(&path);
            list.push(0);
        }
        let failed = |error| Error::io("write an index in", &self.path, error);
        let folder = tempfile::Builder::new().prefix("index-").tempdir_in(&self.path);
        let folder = folder.map_err(failed)?;
        let line = || self.line().env("GIT_INDEX_FILE", folder.path().join("index"));
        let add = line().args(["update-index", "-z", "--add", "--index-info"]);
        self.git.read_with(add, Input::Bytes(list))?;
        let tree = self.git.read(line().arg("write-tree"))?;
        let tree = object_id("write-tree", &tree)?;
        let who = Identity::new("Coven", "coven@localhost");
        let line =
            self.line().env("GIT_AUTHOR_NAME", &who.name).env("GIT_AUTHOR_EMAIL", &who.email);
        let line = line.env("GIT_COMMITTER_NAME", who.name).env("GIT_COMMITTER_EMAIL", who.email);
        self.git.commit_object(line, &[], &tree, b"files as they are checked out")
    }
}
