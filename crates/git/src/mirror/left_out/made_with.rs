//! What was in a tree when it was made, of what checkpoints leave out: copied by `.worktreeinclude`,
//! or made by set-up. Without this file, everything counts as made later.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::super::stat_cache::{Stamp, file_of};
use super::super::write_anew;
use super::repositories;
use crate::Error;

/// The folder of the mirror in which these files are.
const FOLDER: &str = "made-with";

const VERSION: &str = "coven made with 1";

#[derive(Default)]
pub(super) struct MadeWith {
    pub(super) files: HashMap<Vec<u8>, Stamp>,
    /// The files with objects of repositories inside.
    pub(super) objects: HashSet<PathBuf>,
}

impl MadeWith {
    pub(super) fn read(mirror: &Path, tree: &Path) -> Self {
        let bytes = std::fs::read(file_of(mirror, FOLDER, tree)).unwrap_or_default();
        parse(&bytes, tree).unwrap_or_default()
    }

    pub(super) fn write(&self, mirror: &Path, tree: &Path) -> Result<(), Error> {
        let mut bytes = [VERSION.as_bytes(), b"\0", tree.as_os_str().as_bytes(), b"\0"].concat();
        for (path, stamp) in &self.files {
            bytes.extend_from_slice(format!("file {} ", stamp.words()).as_bytes());
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        for path in &self.objects {
            bytes.extend_from_slice(b"objects ");
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        write_anew(&file_of(mirror, FOLDER, tree), &bytes)
    }

    /// Whether a repository has objects that it had not when the tree was made.
    pub(super) fn lacks_objects_of(&self, git_dir: &Path) -> bool {
        repositories::objects(git_dir).iter().any(|file| !self.objects.contains(file))
    }
}

fn parse(bytes: &[u8], tree: &Path) -> Option<MadeWith> {
    let mut records = crate::fields(bytes);
    if records.next()? != VERSION.as_bytes() || records.next()? != tree.as_os_str().as_bytes() {
        return None;
    }
    let mut made = MadeWith::default();
    for record in records {
        if let Some(path) = record.strip_prefix(b"objects ") {
            made.objects.insert(OsString::from_vec(path.to_vec()).into());
            continue;
        }
        let mut parts = record.strip_prefix(b"file ")?.splitn(8, |byte| *byte == b' ');
        let stamp = Stamp::from_words(&mut parts)?;
        made.files.insert(parts.next()?.to_vec(), stamp);
    }
    Some(made)
}
