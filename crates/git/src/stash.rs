//! What was put aside with `git stash`. All work trees of a repository share one list, so that an entry
//! of an agent stands between those of the person.

use std::collections::BTreeSet;

use crate::{Commit, Error, Git, Repository, fields};

/// The reference whose log is the list.
const STASH: &str = "refs/stash";

impl Git {
    /// The entries that were made on one of these branches, by what git wrote about each; the newest
    /// first.
    pub fn stashed_on(
        &self,
        repository: &Repository,
        branches: &BTreeSet<String>,
    ) -> Result<Vec<Commit>, Error> {
        if self.target_of(repository, STASH)?.is_none() {
            return Ok(Vec::new());
        }
        let line =
            self.line_in(repository).args(["reflog", "show", "-z", "--format=%H %gs", STASH]);
        let output = self.read(line.arg("--"))?;
        let entry = |field: &[u8]| {
            let text = String::from_utf8_lossy(field);
            let (id, about) = text.split_once(' ')?;
            // `WIP on BRANCH: …`, and with a message of its own `On BRANCH: …`.
            let on = about.strip_prefix("WIP on ").or_else(|| about.strip_prefix("On "))?;
            let (branch, _) = on.split_once(": ")?;
            branches.contains(branch).then(|| id.parse().ok()).flatten()
        };
        Ok(fields(&output).filter_map(entry).collect())
    }
}
