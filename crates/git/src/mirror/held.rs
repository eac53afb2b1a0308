//! Which checkpoints a mirror holds.

use super::Mirror;
use crate::{Commit, Error};

/// The trailer that says which commit the branch of a tree was at when a checkpoint was made.
pub(super) const HEAD_TRAILER: &str = "Coven-Head";

/// The trailer of a checkpoint whose files were just committed: what the commit was made of.
pub const COMMITTED_TRAILER: &str = "Coven-Committed";

/// A checkpoint as the mirror has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldCheckpoint {
    pub reference: String,
    pub commit: Commit,
    /// When it was made, in seconds since 1970.
    pub seconds: i64,
    /// What the branch of the tree was at then, where that was written down.
    pub head: Option<Commit>,
    /// Whether it has [`COMMITTED_TRAILER`]: `head` was made of exactly these files.
    pub committed: bool,
}

impl Mirror {
    /// Every checkpoint whose reference begins with a prefix such as `refs/coven/…/`, by name.
    pub fn held(&self, below: &str) -> Result<Vec<HeldCheckpoint>, Error> {
        let format = format!(
            "--format=%(objectname) %(committerdate:unix) %(refname)%00\
             %(contents:trailers:key={HEAD_TRAILER},valueonly)%00\
             %(contents:trailers:key={COMMITTED_TRAILER},valueonly)%00"
        );
        let line = self.line().arg("for-each-ref").arg(format).arg("--").arg(below);
        let output = self.git.read(line)?;
        let output = String::from_utf8_lossy(&output);
        let mut held = Vec::new();
        let mut fields = output.split('\0');
        while let (Some(about), Some(head), Some(committed)) =
            (fields.next(), fields.next(), fields.next())
        {
            let mut words = about.trim().split(' ');
            let (Some(commit), Some(seconds), Some(reference)) =
                (words.next(), words.next(), words.next())
            else {
                return Err(Error::unexpected("for-each-ref", about));
            };
            held.push(HeldCheckpoint {
                reference: reference.to_owned(),
                commit: commit.parse()?,
                seconds: seconds.parse().map_err(|_| Error::unexpected("for-each-ref", about))?,
                head: head.trim().parse().ok(),
                committed: !committed.trim().is_empty(),
            });
        }
        Ok(held)
    }
}
