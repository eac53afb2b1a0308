//! What a checkout is at: a branch, or a commit without one.

use crate::{Commit, Error, Git, Repository, object_id};

/// Where the head of a checkout is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The branch without `refs/heads/`; nothing if the head is detached.
    pub branch: Option<String>,
    /// Nothing on a branch without a commit.
    pub commit: Option<Commit>,
}

impl Git {
    /// Where the head of a checkout is.
    pub fn head(&self, checkout: &Repository) -> Result<Head, Error> {
        let branch = self.head_branch(checkout)?;
        let line = self.line_in(checkout).args(["rev-parse", "--verify", "--quiet"]);
        let commit = self.answer(line.args(["--end-of-options", "HEAD^{commit}"]))?;
        let commit = commit.map(|output| object_id("rev-parse", &output)).transpose()?;
        Ok(Head { branch, commit })
    }

    /// The branch of the head without `refs/heads/`; nothing if it is detached.
    pub(crate) fn head_branch(&self, checkout: &Repository) -> Result<Option<String>, Error> {
        let line = self.line_in(checkout).args(["symbolic-ref", "--quiet", "HEAD"]);
        let name = self.answer(line)?;
        let name = name.map(|name| String::from_utf8_lossy(&name).trim().to_owned());
        Ok(name.map(|name| name.strip_prefix("refs/heads/").map_or(name.clone(), str::to_owned)))
    }

    /// Puts a checkout on a branch that is at the commit it is at already: no file changes.
    pub fn put_head_on(&self, checkout: &Repository, branch: &str, why: &str) -> Result<(), Error> {
        crate::branch::check_branch_name(branch)?;
        let line = self.line_in(checkout).args(["symbolic-ref", "-m", why, "HEAD"]);
        let line = line.arg(format!("refs/heads/{branch}"));
        self.with_lock_retries(|| self.read(line.clone())).map(drop)
    }
}
