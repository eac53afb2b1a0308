//! Objects that are made apart from the repository, as git itself does with what is pushed to it, and
//! brought in as one pack.
//!
//! Whatever tidies up in the repository meanwhile (`git gc`, `git repack -ad`, `git prune`) takes
//! objects away to which no reference leads yet, also between two calls that make one commit. It never
//! looks into the quarantine, and it leaves a pack alone that has a `.keep` file; that stays until a
//! reference leads to what is in the pack.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::run::Input;
use crate::{Commit, Error, Git, ObjectId, Repository};

/// What a `.keep` file of ours says, so that one that a killed process left is told from all others.
const KEEP_MESSAGE: &str = "coven: commits that are being landed";

/// What the names of the folders with objects begin with.
const FOLDER_PREFIX: &str = "objects-";

/// How often a pack is written: `git prune` also removes the file that is being written, because it
/// does not look whether anybody writes it.
const MAX_TRIES: usize = 5;

/// A place for objects that are no part of the repository yet. What is in it goes with it.
#[derive(Debug)]
pub struct Quarantine {
    /// The git whose new objects come here.
    git: Git,
    outside: Git,
    folder: TempDir,
}

/// A pack that nothing removes from the repository as long as this value lives.
#[derive(Debug)]
#[must_use = "what is in the pack may be removed as soon as this is dropped"]
pub struct KeptPack {
    keep: Option<PathBuf>,
}

impl Git {
    /// A quarantine below a folder that nobody hostile can write. No two of one repository may be
    /// there at the same time: what an interrupted one left is removed.
    pub fn quarantine(&self, repository: &Repository, below: &Path) -> Result<Quarantine, Error> {
        let failed = |error| Error::io("make a folder in", below, error);
        std::fs::create_dir_all(below).map_err(failed)?;
        for left in std::fs::read_dir(below).map_err(failed)?.flatten() {
            if left.file_name().as_bytes().starts_with(FOLDER_PREFIX.as_bytes()) {
                // One that stays takes room and harms nobody.
                std::fs::remove_dir_all(left.path()).ok();
            }
        }
        remove_left_keeps(repository);
        let folder = tempfile::Builder::new().prefix(FOLDER_PREFIX).tempdir_in(below);
        let folder = folder.map_err(failed)?;
        let objects = repository.common_dir.join("objects");
        let apart = self
            .clone()
            .with_variable("GIT_OBJECT_DIRECTORY", folder.path())
            .with_variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&objects))
            // git then refuses to let a reference lead to what is only here.
            .with_variable("GIT_QUARANTINE_PATH", folder.path());
        Ok(Quarantine { git: apart, outside: self.clone(), folder })
    }
}

impl Quarantine {
    /// The git whose new objects come here. It has everything of the repository as well, and moves no
    /// reference.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Brings everything into the repository that `commit` has and `without` has not, whether it was
    /// made here or is there already. Let a reference lead to it before the pack is dropped.
    pub fn bring_in(
        &self,
        repository: &Repository,
        commit: &Commit,
        without: &Commit,
    ) -> Result<KeptPack, Error> {
        let failed = |error| Error::io("write a pack in", self.folder.path(), error);
        let pack = tempfile::NamedTempFile::new_in(self.folder.path()).map_err(failed)?;
        let line = self.git.line_in(repository).args(["pack-objects", "--revs", "--stdout"]);
        // What a partial clone lacks is no part of what was made.
        let line = line.args(["-q", "--missing=allow-promisor"]);
        let output = pack.as_file().try_clone().map_err(failed)?;
        let wanted = format!("{commit}\n^{without}\n").into_bytes();
        let finished = self.git.finish(&line, Input::Bytes(wanted), Some(output))?;
        Git::succeeded(&line, finished)?;
        self.outside.keep_pack(repository, pack.path())
    }
}

impl Git {
    /// Puts a pack into a repository and keeps it there.
    pub(crate) fn keep_pack(
        &self,
        repository: &Repository,
        pack: &Path,
    ) -> Result<KeptPack, Error> {
        let failed = |error| Error::io("read the pack", pack, error);
        let line = self.line_in(repository).args(["index-pack", "--stdin", "--fix-thin"]);
        let line = line.arg(format!("--keep={KEEP_MESSAGE}"));
        let mut tries = 1..=MAX_TRIES;
        loop {
            tries.next();
            let input = std::fs::File::open(pack).map_err(failed)?;
            match self.read_with(line.clone(), Input::File(input)) {
                Ok(output) => return KeptPack::parse(repository, &output),
                Err(Error::Failed { .. }) if !tries.is_empty() => remove_left_keeps(repository),
                Err(error) => return Err(error),
            }
        }
    }
}

impl KeptPack {
    /// Of what is in the repository anyway.
    pub(crate) fn nothing() -> Self {
        Self { keep: None }
    }

    /// `keep`, or `pack` where somebody else keeps the same pack, then a tab and the pack's name.
    fn parse(repository: &Repository, output: &[u8]) -> Result<Self, Error> {
        let text = String::from_utf8_lossy(output);
        let line = text.lines().next().unwrap_or_default();
        let parts = line.split_once('\t');
        let parts = parts.and_then(|(how, id)| Some((how, id.parse::<ObjectId>().ok()?)));
        match parts {
            Some(("keep", id)) => {
                let keep = packs(repository).join(format!("pack-{id}.keep"));
                Ok(Self { keep: Some(keep) })
            }
            Some(("pack", _)) => Ok(Self::nothing()),
            _ => Err(Error::unexpected("index-pack", line)),
        }
    }
}

impl Drop for KeptPack {
    fn drop(&mut self) {
        if let Some(keep) = &self.keep {
            // One that stays costs disk space until the next landing removes it.
            std::fs::remove_file(keep).ok();
        }
    }
}

fn packs(repository: &Repository) -> PathBuf {
    repository.common_dir.join("objects/pack")
}

/// Removes the `.keep` files of ours that a killed process left.
fn remove_left_keeps(repository: &Repository) {
    let entries = std::fs::read_dir(packs(repository)).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let is_keep = path.extension().is_some_and(|end| end == "keep");
        if is_keep
            && crate::worktree::read_pointer(&path)
                .is_ok_and(|text| text.trim_ascii() == KEEP_MESSAGE.as_bytes())
        {
            std::fs::remove_file(&path).ok();
        }
    }
}

/// A path as it stands in a list that is parted by colons.
fn quoted(path: &Path) -> OsString {
    let mut quoted = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}
