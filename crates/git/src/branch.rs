//! Branches: looked up and changed only from a commit that the caller expects there.

use crate::run::Input;
use crate::{Commit, Error, Git, ObjectId, Repository, object_id};

/// How many names are tried before a caller is told that there is none.
const MAX_NAMES_TRIED: u32 = 10_000;

impl Git {
    /// The commit that a branch is at; `None` if there is no such branch.
    pub fn tip(&self, repository: &Repository, branch: &str) -> Result<Option<Commit>, Error> {
        check_branch_name(branch)?;
        self.commit_of(repository, &format!("refs/heads/{branch}"))
    }

    /// The commit that a full reference is at; `None` if there is no such reference.
    pub fn commit_of(
        &self,
        repository: &Repository,
        reference: &str,
    ) -> Result<Option<Commit>, Error> {
        check_reference(reference)?;
        let line = self.line_in(repository).args(["rev-parse", "--verify", "--quiet"]);
        let line = line.arg("--end-of-options").arg(format!("{reference}^{{commit}}"));
        self.answer(line)?.map(|output| object_id("rev-parse", &output)).transpose()
    }

    /// What a full reference is at, whether or not the repository has it still; `None` if there is no
    /// such reference.
    pub fn target_of(
        &self,
        repository: &Repository,
        reference: &str,
    ) -> Result<Option<ObjectId>, Error> {
        check_reference(reference)?;
        let line = self.line_in(repository).args(["rev-parse", "--verify", "--quiet"]);
        let line = line.arg("--end-of-options").arg(reference);
        self.answer(line)?.map(|output| object_id("rev-parse", &output)).transpose()
    }

    /// Whether the repository has a commit, on whatever branch or on none.
    pub fn has_commit(&self, repository: &Repository, commit: &Commit) -> Result<bool, Error> {
        let line = self.line_in(repository).args(["cat-file", "-e"]).arg(commit);
        Ok(self.answer(line)?.is_some())
    }

    /// Whether there is a branch of this name.
    pub fn branch_exists(&self, repository: &Repository, branch: &str) -> Result<bool, Error> {
        Ok(self.tip(repository, branch)?.is_some())
    }

    /// A name for a new branch: `prefix/name`, or `prefix-name` where `prefix` is a branch itself and
    /// so can have nothing below it; with a number where it is taken.
    pub fn free_branch_name(
        &self,
        repository: &Repository,
        prefix: &str,
        name: &str,
    ) -> Result<String, Error> {
        let line = self.line_in(repository).args(["for-each-ref", "--format=%(refname)"]);
        let output = self.read(line.arg("refs/heads/"))?;
        let output = String::from_utf8_lossy(&output);
        // A file system that folds case keeps two branches in one file.
        let taken: Vec<String> = output
            .lines()
            .filter_map(|line| line.strip_prefix("refs/heads/"))
            .map(str::to_lowercase)
            .collect();
        let below_a_branch = taken.contains(&prefix.to_lowercase());
        let stem =
            if below_a_branch { format!("{prefix}-{name}") } else { format!("{prefix}/{name}") };
        check_branch_name(&stem)?;
        let is_free = |candidate: &String| {
            let candidate = candidate.to_lowercase();
            !taken.iter().any(|other| {
                *other == candidate
                    || other.strip_prefix(&candidate).is_some_and(|rest| rest.starts_with('/'))
                    || candidate.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        std::iter::once(stem.clone())
            .chain((2..MAX_NAMES_TRIED).map(|number| format!("{stem}-{number}")))
            .find(is_free)
            .ok_or(Error::InvalidName { name: stem })
    }

    /// Makes a branch that does not exist yet.
    pub fn create_branch(
        &self,
        repository: &Repository,
        branch: &str,
        at: &Commit,
    ) -> Result<(), Error> {
        check_branch_name(branch)?;
        self.update_reference(repository, &format!("refs/heads/{branch}"), at, None, "made")
    }

    /// Deletes a branch that is at `expected`, and in no work tree.
    pub fn delete_branch(
        &self,
        repository: &Repository,
        branch: &str,
        expected: &Commit,
    ) -> Result<(), Error> {
        check_branch_name(branch)?;
        if let Some(used) = self.branch_use(repository, branch)? {
            let path = used.path().to_owned();
            return Err(Error::BranchInUse { branch: branch.to_owned(), path });
        }
        let reference = format!("refs/heads/{branch}");
        let line = self.line_in(repository).args(["update-ref", "-d", &reference]).arg(expected);
        self.moved(&reference, || self.read(line.clone()))
    }

    /// Puts a reference at a commit, if it is where the caller expects it: at `old`, or missing.
    /// `why` goes into the reflog. A branch that is checked out must not be moved like this.
    pub fn update_reference(
        &self,
        repository: &Repository,
        reference: &str,
        new: &Commit,
        old: Option<&Commit>,
        why: &str,
    ) -> Result<(), Error> {
        check_reference(reference)?;
        let old = old.map_or_else(|| new.zero_like(), ToString::to_string);
        let line = self.line_in(repository).args(["update-ref", "-m", why, "--stdin", "-z"]);
        let command = format!("update {reference}\0{new}\0{old}\0");
        self.moved(reference, || {
            self.read_with(line.clone(), Input::Bytes(command.clone().into_bytes()))
        })
    }

    /// Tells a reference that is elsewhere from all other failures.
    fn moved(
        &self,
        reference: &str,
        call: impl FnMut() -> Result<Vec<u8>, Error>,
    ) -> Result<(), Error> {
        match self.with_lock_retries(call) {
            Ok(_) => Ok(()),
            Err(Error::Failed { words, .. })
                if ["but expected", "already exists", "unable to resolve reference"]
                    .iter()
                    .any(|sign| words.contains(sign)) =>
            {
                Err(Error::Moved { reference: reference.to_owned(), words })
            }
            Err(error) => Err(error),
        }
    }
}

/// Refuses what git would not take as a branch, or would take as something else.
pub(crate) fn check_branch_name(branch: &str) -> Result<(), Error> {
    check_reference(&format!("refs/heads/{branch}"))?;
    let first = branch.as_bytes().first();
    if matches!(first, Some(b'-') | None) || branch == "HEAD" {
        return Err(Error::InvalidName { name: branch.to_owned() });
    }
    Ok(())
}

/// git's own rules for references (`git check-ref-format`).
pub(crate) fn check_reference(reference: &str) -> Result<(), Error> {
    let part_is_fine = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && std::path::Path::new(part).extension().is_none_or(|end| end != "lock")
    };
    let fine = reference.starts_with("refs/")
        && reference.split('/').all(part_is_fine)
        && !reference.contains("..")
        && !reference.contains("@{")
        && !reference.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c));
    if fine { Ok(()) } else { Err(Error::InvalidName { name: reference.to_owned() }) }
}
