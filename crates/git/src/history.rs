//! Where branches are and which commits are on them, asked once for many: two calls of git, however many
//! branches there are.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::run::Input;
use crate::{Commit, Error, Git, Repository};

/// The branches of a repository at some moment, and the commits of some of them.
#[derive(Clone, Debug, Default)]
pub struct BranchHistory {
    tips: HashMap<String, Commit>,
    /// The commits of the branches that were asked for, with their parents, down to where they began.
    parents: HashMap<Commit, Vec<Commit>>,
}

impl Git {
    /// Where all branches are, and which commits those of `branches` have that are not in `bases`.
    pub fn branch_history(
        &self,
        repository: &Repository,
        branches: &BTreeSet<String>,
        bases: &BTreeSet<Commit>,
    ) -> Result<BranchHistory, Error> {
        let line =
            self.line_in(repository).args(["for-each-ref", "--format=%(objectname) %(refname)"]);
        let output = self.read(line.args(["--", "refs/heads/"]))?;
        let output = String::from_utf8_lossy(&output);
        let tip = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            Some((name.strip_prefix("refs/heads/")?.to_owned(), id.parse().ok()?))
        };
        let tips: HashMap<String, Commit> = output.lines().filter_map(tip).collect();
        let wanted: String = branches
            .iter()
            .filter_map(|branch| tips.get(branch))
            .map(|tip| format!("{tip}\n"))
            .chain(bases.iter().map(|base| format!("^{base}\n")))
            .collect();
        // What was removed from the repository is no reason to know nothing of the rest.
        let line = self.line_in(repository).args(["rev-list", "--parents", "--ignore-missing"]);
        let output = self.read_with(line.arg("--stdin"), Input::Bytes(wanted.into_bytes()))?;
        let mut parents = HashMap::new();
        for line in String::from_utf8_lossy(&output).lines() {
            let mut ids = line.split(' ').map(str::parse::<Commit>);
            let Some(commit) = ids.next() else { continue };
            parents.insert(commit?, ids.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(BranchHistory { tips, parents })
    }
}

impl BranchHistory {
    /// The commit that a branch was at; nothing if there was none.
    pub fn tip(&self, branch: &str) -> Option<&Commit> {
        self.tips.get(branch)
    }

    /// Whether everything in `older` is in `newer`; nothing where this does not know.
    pub fn is_ancestor(&self, older: &Commit, newer: &Commit) -> Option<bool> {
        if older == newer {
            return Some(true);
        }
        if !self.parents.contains_key(newer) {
            return None;
        }
        let (mut seen, mut open) = (HashSet::from([newer]), vec![newer]);
        while let Some(commit) = open.pop() {
            for parent in self.parents.get(commit).into_iter().flatten() {
                if parent == older {
                    return Some(true);
                }
                if seen.insert(parent) {
                    open.push(parent);
                }
            }
        }
        // One that is below a base may be in all of them.
        self.parents.contains_key(older).then_some(false)
    }
}
