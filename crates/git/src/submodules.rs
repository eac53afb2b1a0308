//! At which commits the submodules of a tree are checked out. No git is asked in them: their
//! configuration is not the user's. What says it is a file, or two.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::worktree::{normal, read_pointer, trimmed};
use crate::{Error, Git, ObjectId, Repository};

/// The longest list of packed references that is read.
const MAX_PACKED_BYTES: u64 = 8 << 20;

impl Git {
    /// The submodules that the index of a tree has, each with the commit that is checked out in it;
    /// with the staged one where none is, or where that cannot be told.
    pub fn checked_out_gitlinks(
        &self,
        tree: &Repository,
    ) -> Result<Vec<(PathBuf, ObjectId)>, Error> {
        let staged = self.gitlinks(tree)?.into_iter();
        let found = staged.map(|(path, staged)| {
            let at = checked_out(tree, &path);
            let at = at.filter(|at| at.as_str().len() == staged.as_str().len() && !at.is_zero());
            (path, at.unwrap_or(staged))
        });
        Ok(found.collect())
    }
}

/// The commit that is checked out in a submodule.
fn checked_out(tree: &Repository, path: &Path) -> Option<ObjectId> {
    let root = std::fs::canonicalize(&tree.root).ok()?;
    let folder = std::fs::canonicalize(tree.root.join(path)).ok()?;
    // A link would lead to a repository that is none of this tree.
    if folder != root.join(path) {
        return None;
    }
    let pointer = folder.join(".git");
    let git_dir = if std::fs::symlink_metadata(&pointer).ok()?.is_dir() {
        pointer
    } else {
        let bytes = read_pointer(&pointer).ok()?;
        let target = trimmed(bytes.strip_prefix(b"gitdir: ")?);
        std::fs::canonicalize(normal(&folder.join(target))).ok()?
    };
    let common = std::fs::canonicalize(&tree.common_dir).ok()?;
    if !git_dir.starts_with(&root) && !git_dir.starts_with(&common) {
        return None;
    }
    let head = read_pointer(&git_dir.join("HEAD")).ok()?;
    let Some(reference) = head.strip_prefix(b"ref: ") else { return id(&head) };
    let reference = std::str::from_utf8(reference).ok()?.trim().to_owned();
    crate::branch::check_reference(&reference).ok()?;
    match read_pointer(&git_dir.join(&reference)) {
        Ok(bytes) => id(&bytes),
        Err(_) => packed(&git_dir.join("packed-refs"), &reference),
    }
}

fn packed(file: &Path, reference: &str) -> Option<ObjectId> {
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW).bits() as i32;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(file).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_PACKED_BYTES).read_to_end(&mut bytes).ok()?;
    let line = |line: &[u8]| {
        let (found, name) = line.split_at_checked(line.iter().position(|byte| *byte == b' ')?)?;
        (name.trim_ascii() == reference.as_bytes()).then(|| id(found))?
    };
    bytes.split(|byte| *byte == b'\n').find_map(line)
}

fn id(bytes: &[u8]) -> Option<ObjectId> {
    ObjectId::from_bytes(bytes.trim_ascii())
}
