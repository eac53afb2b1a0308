//! A bare repository of our own beside a repository that others can write: it keeps what was in the
//! files of a tree at some moment, and compares. It has its own configuration, no hooks and no
//! filters, and objects of its own, so that what happens in the repository takes nothing from it.
//! Nothing in it is ever pruned.

mod as_checked_out;
mod changes;
mod checkpoint;
mod held;
mod hunks;
mod import;
mod left_out;
mod objects;
mod restore;
mod stat_cache;
mod uncommitted;
mod walk;

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

pub use self::changes::{ChangeStatus, ChangedFile};
pub use self::checkpoint::{Checkpoint, CheckpointRequest};
pub use self::held::{COMMITTED_TRAILER, HeldCheckpoint};
pub use self::hunks::{FileDiff, Hunk, HunkLine, LineKind};
pub use self::left_out::{InnerRepository, LeftOut, MAX_LEFT_OUT_BYTES, MAX_LEFT_OUT_FILES};
pub use self::restore::{RestoreRequest, Restored};
pub use self::uncommitted::{CommittedState, FilteredFile};
pub use self::walk::{NotHeld, NotHeldReason};

use crate::{CommandLine, Commit, Error, Git, ObjectId, Repository, path_line};

/// Settings that hold in a mirror whatever git's defaults are.
const CONFIG: &str = "\
[core]
\tbare = true
\tlogAllRefUpdates = false
\tprotectHFS = false
\tprotectNTFS = false
\tsymlinks = true
\tfileMode = true
\tignoreCase = false
\tprecomposeUnicode = false
\tautocrlf = false
\tquotePath = true
\tbigFileThreshold = 8m
\thooksPath = /dev/null
\tattributesFile = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tfsync = committed,loose-object,reference
\tfsyncMethod = batch
[gc]
\tauto = 0
[maintenance]
\tauto = false
[diff]
\trenames = true
\trenameLimit = 2000
\tnoPrefix = false
\tmnemonicPrefix = false
[submodule]
\trecurse = false
";

/// Attributes of every path, before those that a tree brings: the bytes are the bytes. An encoding
/// cannot be switched off, only left unspecified.
const ATTRIBUTES: &str = "* -text -crlf -eol -ident -filter !working-tree-encoding !diff !merge\n";

/// The mirror of one repository. Several can use it at the same time.
#[derive(Clone, Debug)]
pub struct Mirror {
    git: Git,
    path: PathBuf,
    /// What the user has git ignore everywhere; read as data.
    excludes: Option<PathBuf>,
    /// What the index of the tree has as submodules.
    staged: Vec<(Vec<u8>, ObjectId)>,
}

impl Mirror {
    /// Opens the mirror of a repository, and makes it if it is not there: with the objects of the
    /// repository as hard links, or as copies where those are not possible.
    ///
    /// `path` must be a folder that nobody hostile can write.
    pub fn open_or_make(git: &Git, path: &Path, repository: &Repository) -> Result<Self, Error> {
        if !path.join("HEAD").exists() {
            objects::make(git, path, repository)?;
        }
        let excludes = user_excludes(git, repository);
        let mirror = Self { git: git.clone(), path: path.to_owned(), excludes, staged: Vec::new() };
        mirror.configure(repository)?;
        Ok(mirror)
    }

    /// The mirror that is there, to look at: nothing is made. Nothing if there is none.
    pub fn existing(git: &Git, path: &Path) -> Option<Self> {
        let mirror =
            || Self { git: git.clone(), path: path.to_owned(), excludes: None, staged: Vec::new() };
        path.join("HEAD").exists().then(mirror)
    }

    /// The same for a tree in whose index these are the submodules ([`Git::gitlinks`]): what is
    /// staged is what the next commit has, and so what is shown and kept.
    #[must_use]
    pub fn with_staged(mut self, staged: Vec<(PathBuf, ObjectId)>) -> Self {
        let bytes = |path: PathBuf| path.into_os_string().into_vec();
        self.staged = staged.into_iter().map(|(path, id)| (bytes(path), id)).collect();
        self
    }

    /// The folder of the mirror.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A call in the mirror, which has nothing of the user and nothing of the tree in it.
    fn line(&self) -> CommandLine {
        let line = self.git.isolated(&self.path).env("GIT_DIR", &self.path);
        match self.excludes.as_deref().and_then(Path::to_str) {
            Some(excludes) => line.config([("core.excludesFile", excludes)]),
            None => line.config([("core.excludesFile", "/dev/null")]),
        }
    }

    fn configure(&self, repository: &Repository) -> Result<(), Error> {
        let info = self.path.join("info");
        write_anew(&info.join("attributes"), ATTRIBUTES.as_bytes())?;
        let exclude = std::fs::read(repository.common_dir.join("info/exclude")).unwrap_or_default();
        write_anew(&info.join("exclude"), &exclude)
    }

    /// The commit that a reference of the mirror is at.
    pub fn commit_of(&self, reference: &str) -> Result<Option<Commit>, Error> {
        crate::branch::check_reference(reference)?;
        let line = self.line().args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        let output = self.git.answer(line.arg(format!("{reference}^{{commit}}")))?;
        output.map(|output| crate::object_id("rev-parse", &output)).transpose()
    }

    /// Whether everything in `older` is in `newer`, as far as the mirror has them.
    pub fn is_ancestor(&self, older: &Commit, newer: &Commit) -> Result<bool, Error> {
        let line = self.line().args(["merge-base", "--is-ancestor"]).arg(older).arg(newer);
        match self.git.answer(line) {
            Ok(answer) => Ok(answer.is_some()),
            Err(Error::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Every reference of the mirror below a prefix such as `refs/coven/`, by name.
    pub fn references(&self, below: &str) -> Result<Vec<(String, Commit)>, Error> {
        let line = self.line().args(["for-each-ref", "--format=%(objectname) %(refname)"]);
        let output = self.git.read(line.arg("--").arg(below))?;
        let output = String::from_utf8_lossy(&output);
        let pairs = output.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(id, name)| Ok((name.to_owned(), id.parse()?))).collect()
    }

    /// Gives a commit of the mirror a name that is not there yet.
    pub fn keep_as(&self, reference: &str, commit: &Commit) -> Result<(), Error> {
        crate::branch::check_reference(reference)?;
        let line = self.line().args(["update-ref", reference]).arg(commit).arg(commit.zero_like());
        self.git.read(line).map(drop)
    }

    /// Removes a reference of the mirror. The objects stay.
    pub fn delete_reference(&self, reference: &str, expected: &Commit) -> Result<(), Error> {
        crate::branch::check_reference(reference)?;
        let line = self.line().args(["update-ref", "-d", reference]).arg(expected);
        self.git.read(line).map(drop)
    }
}

/// What the user has git ignore everywhere: configured, or at the default place. Only what the user
/// configured counts: a repository that names an ignore file could hide its files with it.
fn user_excludes(git: &Git, repository: &Repository) -> Option<PathBuf> {
    let get = ["config", "--global", "--includes", "--type=path", "--get", "core.excludesFile"];
    let line = git.personal(Path::new("/")).env("GIT_DIR", &repository.common_dir).args(get);
    // A user without a configuration file has none.
    if let Ok(Some(path)) = git.answer(line) {
        return Some(path_line(&path));
    }
    let variable = |name: &str| {
        let found = git.environment.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    config.map(|config| config.join("git/ignore"))
}

/// Writes a file under another name and puts it in its place, so that readers see all or nothing.
fn write_anew(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let failed = |error| Error::io("write", path, error);
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    std::io::Write::write_all(&mut file, bytes).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
