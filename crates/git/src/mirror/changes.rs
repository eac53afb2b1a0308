//! What differs between two commits of a mirror, file by file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::checkpoint::GITLINK;
use super::{CheckpointRequest, Mirror};
use crate::run::Input;
use crate::{CommandLine, Commit, Error, Identity, ObjectId, fields, path_of};

/// Files with more than this are not shown line by line.
pub(super) const MAX_FILE_BYTES: u64 = 512 << 10;

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeStatus {
    Added,
    Modified,
    Deleted,
    Renamed,
    /// A file became a link, a link a submodule, and so on.
    TypeChanged,
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts that are shown one by one")]
pub struct ChangedFile {
    pub path: PathBuf,
    /// Where it was, if it was renamed.
    pub old_path: Option<PathBuf>,
    pub status: ChangeStatus,
    /// Lines; zero for what is binary.
    pub added: u64,
    pub removed: u64,
    pub binary: bool,
    /// Whether one side has more than 512 KiB.
    pub too_large: bool,
    /// Modes in octal, such as `100644`; zeros for "not there".
    pub old_mode: String,
    pub new_mode: String,
    pub submodule: bool,
    pub symlink: bool,
}

impl ChangedFile {
    /// Whether the file got or lost the right to be executed.
    pub fn mode_changed(&self) -> bool {
        self.old_mode != self.new_mode
            && self.old_mode.starts_with("100")
            && self.new_mode.starts_with("100")
    }
}

impl Mirror {
    /// The files of a tree at this moment, as a commit without a name, to compare with.
    /// `parent` and `head` are as in [`CheckpointRequest`].
    pub fn present(
        &self,
        tree: &Path,
        parent: Option<&Commit>,
        head: Option<&Commit>,
    ) -> Result<Commit, Error> {
        let author = Identity::new("Coven", "coven@localhost");
        let request = CheckpointRequest {
            tree,
            parent,
            head,
            message: "present files",
            trailers: &[],
            author: &author,
            reference: None,
        };
        Ok(self.checkpoint(&request)?.commit)
    }

    /// Every file that differs between two commits. Compare checkpoints with checkpoints: a commit of
    /// the repository has what the user's filters made of the files.
    pub fn changes(&self, from: &Commit, to: &Commit) -> Result<Vec<ChangedFile>, Error> {
        let raw =
            self.git.read(self.diff_tree().arg("--raw").arg("--abbrev=64").arg(from).arg(to))?;
        let counts = self.git.read(self.diff_tree().arg("--numstat").arg(from).arg(to))?;
        let counts = parse_counts(&counts);
        let mut changes = Vec::new();
        let mut ids = Vec::new();
        let mut fields = fields(&raw);
        while let Some(about) = fields.next() {
            let understood = parse_raw(about, &mut fields);
            let (mut change, old, new) = understood.ok_or_else(|| {
                Error::unexpected("diff-tree", String::from_utf8_lossy(about).into_owned())
            })?;
            match counts.get(&change.path) {
                Some(Some((added, removed))) => (change.added, change.removed) = (*added, *removed),
                Some(None) => change.binary = true,
                None => {}
            }
            if !change.submodule {
                ids.extend([old.clone(), new.clone()]);
            }
            changes.push((change, old, new));
        }
        let sizes = self.sizes(&ids)?;
        let size = |id: &ObjectId| sizes.get(id).copied().unwrap_or(0);
        let judged = changes.into_iter().map(|(mut change, old, new)| {
            change.too_large = size(&old).max(size(&new)) > MAX_FILE_BYTES;
            change
        });
        Ok(judged.collect())
    }

    /// All differences as a patch that `git apply` takes, for a pager.
    pub fn patch(&self, from: &Commit, to: &Commit) -> Result<Vec<u8>, Error> {
        self.git.read(self.patch_line().args(["--binary", "--full-index"]).arg(from).arg(to))
    }

    fn diff_tree(&self) -> CommandLine {
        self.line().args(["diff-tree", "-r", "-z", "-M", "--no-ext-diff", "--no-textconv"])
    }

    pub(super) fn patch_line(&self) -> CommandLine {
        let line = self.line().args(["diff-tree", "-r", "-M", "-p", "--no-color", "--unified=3"]);
        line.args(["--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"])
    }

    /// The sizes of blobs; what is not here is left out.
    pub(super) fn sizes(&self, ids: &[ObjectId]) -> Result<HashMap<ObjectId, u64>, Error> {
        let wanted: String =
            ids.iter().filter(|id| !id.is_zero()).map(|id| format!("{id}\n")).collect();
        let check = "--batch-check=%(objectname) %(objectsize)";
        let line = self.line().args(["cat-file", check]);
        let output = self.git.read_with(line, Input::Bytes(wanted.into_bytes()))?;
        let output = String::from_utf8_lossy(&output);
        let pairs = output.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.filter_map(|(id, size)| Some((id.parse().ok()?, size.parse().ok()?))).collect())
    }
}

/// `:old-mode new-mode old-id new-id status`, then one path, or two for a rename.
fn parse_raw<'a>(
    about: &[u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
) -> Option<(ChangedFile, ObjectId, ObjectId)> {
    let about = std::str::from_utf8(about.strip_prefix(b":")?).ok()?;
    let words: Vec<&str> = about.split(' ').collect();
    let [old_mode, new_mode, old, new, letter] = words[..] else { return None };
    let status = match letter.as_bytes().first()? {
        b'A' => ChangeStatus::Added,
        b'D' => ChangeStatus::Deleted,
        b'R' => ChangeStatus::Renamed,
        b'T' => ChangeStatus::TypeChanged,
        _ => ChangeStatus::Modified,
    };
    let first = path_of(rest.next()?);
    let (path, old_path) = match status {
        ChangeStatus::Renamed => (path_of(rest.next()?), Some(first)),
        _ => (first, None),
    };
    let change = ChangedFile {
        path,
        old_path,
        status,
        added: 0,
        removed: 0,
        binary: false,
        too_large: false,
        submodule: old_mode == GITLINK || new_mode == GITLINK,
        symlink: old_mode == "120000" || new_mode == "120000",
        old_mode: old_mode.to_owned(),
        new_mode: new_mode.to_owned(),
    };
    Some((change, old.parse().ok()?, new.parse().ok()?))
}

/// Added and removed lines by path; `None` for what is binary.
fn parse_counts(output: &[u8]) -> HashMap<PathBuf, Option<(u64, u64)>> {
    let mut counts = HashMap::new();
    let mut fields = fields(output);
    while let Some(field) = fields.next() {
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok();
        let count = number().zip(number());
        let mut parts = field.splitn(3, |byte| *byte == b'\t').skip(2);
        let path = match parts.next() {
            // A rename: the two paths are fields of their own.
            Some(b"") => fields.nth(1),
            path => path,
        };
        if let Some(path) = path {
            counts.insert(path_of(path), count);
        }
    }
    counts
}
