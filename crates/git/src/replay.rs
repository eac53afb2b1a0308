//! The commits of a branch on another one, without a checkout: rebased one by one, merged where the
//! branch has merges itself, or squashed into one.

use crate::{Commit, Error, Git, Merged, ObjectId, Repository};

/// What became of the commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// They are on the other branch. `tip` is to be put there by a reference.
    Done {
        tip: Commit,
        /// Each commit and what became of it; a commit whose change was there already is missing.
        commits: Vec<(Commit, Commit)>,
        /// Whether it took a merge commit, because the branch has merges.
        merged: bool,
    },
    Conflict {
        /// The commit that does not fit.
        commit: Commit,
        paths: Vec<std::path::PathBuf>,
        messages: Vec<String>,
    },
}

impl Git {
    /// Puts the commits of `base..tip` on `onto`, with their authors, dates and messages. If there are
    /// merges among them, the result is one merge commit with `merge_message`.
    pub fn rebase_onto(
        &self,
        repository: &Repository,
        onto: &Commit,
        base: &Commit,
        tip: &Commit,
        merge_message: &str,
    ) -> Result<Replayed, Error> {
        let Some(originals) = self.linear(repository, base, tip)? else {
            return self.merge_onto(repository, onto, tip, merge_message);
        };
        let mut current = onto.clone();
        let mut commits = Vec::new();
        for (original, parent) in originals {
            if parent == current {
                // It stands where it should stand.
                current = original.clone();
                commits.push((original.clone(), original));
                continue;
            }
            // `merge-tree --merge-base` is younger than the oldest git that we take. A commit with the
            // files of the new base and the parent of the old one has the same effect.
            let ours = self.tree_of(repository, &current)?;
            let ours = self.commit_tree(repository, &[&parent], &ours, "merge base", None)?;
            match self.merge_tree(repository, &ours, &original)? {
                Merged::Conflict { paths, messages } => {
                    return Ok(Replayed::Conflict { commit: original, paths, messages });
                }
                Merged::Clean(tree) if tree == self.tree_of(repository, &current)? => {}
                Merged::Clean(tree) => {
                    current = self.copy_commit(repository, &original, &current, &tree)?;
                    commits.push((original, current.clone()));
                }
            }
        }
        Ok(Replayed::Done { tip: current, commits, merged: false })
    }

    /// Merges `tip` into `onto`, with one merge commit where one is needed: if `onto` has everything
    /// already it stays, and if `tip` goes on from it, it moves forward.
    pub fn merge_onto(
        &self,
        repository: &Repository,
        onto: &Commit,
        tip: &Commit,
        message: &str,
    ) -> Result<Replayed, Error> {
        for (older, newer) in [(tip, onto), (onto, tip)] {
            if self.is_ancestor(repository, older, newer)? {
                let tip = newer.clone();
                return Ok(Replayed::Done { tip, commits: Vec::new(), merged: false });
            }
        }
        match self.merge_tree(repository, onto, tip)? {
            Merged::Conflict { paths, messages } => {
                Ok(Replayed::Conflict { commit: tip.clone(), paths, messages })
            }
            Merged::Clean(tree) if tree == self.tree_of(repository, onto)? => {
                Ok(Replayed::Done { tip: onto.clone(), commits: Vec::new(), merged: true })
            }
            Merged::Clean(tree) => {
                let made = self.commit_tree(repository, &[onto, tip], &tree, message, None)?;
                let commits = vec![(tip.clone(), made.clone())];
                Ok(Replayed::Done { tip: made, commits, merged: true })
            }
        }
    }

    /// Puts everything that `tip` has since `since` on `onto` as one commit. `since` is a commit below
    /// `tip` whose content is in `onto` already, whether or not it is below `onto`.
    pub fn squash_onto(
        &self,
        repository: &Repository,
        onto: &Commit,
        since: &Commit,
        tip: &Commit,
        message: &str,
    ) -> Result<Replayed, Error> {
        // As in a rebase: the files of the one with the parent of the other.
        let files = self.tree_of(repository, onto)?;
        let ours = self.commit_tree(repository, &[since], &files, "merge base", None)?;
        match self.merge_tree(repository, &ours, tip)? {
            Merged::Conflict { paths, messages } => {
                Ok(Replayed::Conflict { commit: tip.clone(), paths, messages })
            }
            Merged::Clean(tree) if tree == files => {
                Ok(Replayed::Done { tip: onto.clone(), commits: Vec::new(), merged: false })
            }
            Merged::Clean(tree) => {
                let made = self.commit_tree(repository, &[onto], &tree, message, None)?;
                let commits = vec![(tip.clone(), made.clone())];
                Ok(Replayed::Done { tip: made, commits, merged: false })
            }
        }
    }

    /// Whether `onto` has the change of every commit that `tip` has since `base`, one by one or all of them
    /// as one commit, whatever came on top of it there. A change that `onto` took back counts as there,
    /// as it does for git.
    pub fn has_changes(
        &self,
        repository: &Repository,
        onto: &Commit,
        base: &Commit,
        tip: &Commit,
    ) -> Result<bool, Error> {
        // A merge has no change of its own that could be looked for.
        if self.linear(repository, base, tip)?.is_some() {
            let commits = self.cherry(repository, onto, tip)?;
            if !commits.is_empty() && commits.iter().all(|one| one.landed) {
                return Ok(true);
            }
        }
        let files = self.tree_of(repository, tip)?;
        if files == self.tree_of(repository, base)? {
            return Ok(false);
        }
        let squashed = self.commit_tree(repository, &[base], &files, "all of it", None)?;
        let found = self.cherry(repository, onto, &squashed)?;
        Ok(!found.is_empty() && found.iter().all(|one| one.landed))
    }

    /// Commits with their parents, oldest first; `None` if one of them is a merge.
    fn linear(
        &self,
        repository: &Repository,
        base: &Commit,
        tip: &Commit,
    ) -> Result<Option<Vec<(Commit, Commit)>>, Error> {
        let line = self.line_in(repository).args(["rev-list", "--reverse", "--topo-order"]);
        let output = self.read(line.arg("--parents").arg(tip).arg(format!("^{base}")))?;
        let mut commits = Vec::new();
        for line in String::from_utf8_lossy(&output).lines() {
            let ids: Vec<&str> = line.split(' ').collect();
            let [commit, parent] = ids[..] else { return Ok(None) };
            commits.push((commit.parse()?, parent.parse()?));
        }
        Ok(Some(commits))
    }

    /// The same commit with other files on another parent.
    fn copy_commit(
        &self,
        repository: &Repository,
        original: &Commit,
        parent: &Commit,
        tree: &ObjectId,
    ) -> Result<Commit, Error> {
        let object =
            self.read(self.line_in(repository).args(["cat-file", "commit"]).arg(original))?;
        let odd = || Error::unexpected("cat-file", format!("commit {original} is not understood"));
        let split = object.windows(2).position(|two| two == b"\n\n").ok_or_else(odd)?;
        let (headers, message) = (&object[..split], &object[split + 2..]);
        let header = |name: &[u8]| {
            headers.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name))
        };
        let (name, email, date) = header(b"author ").and_then(split_ident).ok_or_else(odd)?;
        let encoding = header(b"encoding ").unwrap_or(b"UTF-8");
        let line = self
            .line_in(repository)
            .env("GIT_AUTHOR_NAME", crate::path_of(name))
            .env("GIT_AUTHOR_EMAIL", crate::path_of(email))
            .env("GIT_AUTHOR_DATE", crate::path_of(&[b"@", date].concat()))
            .config([("i18n.commitEncoding", String::from_utf8_lossy(encoding))]);
        self.commit_object(line, &[parent], tree, message)
    }
}

/// `name <address> seconds zone`.
fn split_ident(ident: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let open = ident.iter().position(|byte| *byte == b'<')?;
    let close = ident.iter().rposition(|byte| *byte == b'>')?;
    let email = ident.get(open + 1..close)?;
    Some((ident[..open].trim_ascii(), email, ident[close + 1..].trim_ascii()))
}
