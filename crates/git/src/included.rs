//! Ignored files that a new tree needs all the same, such as `.env`: those that the repository's
//! `.worktreeinclude` names, in the syntax of gitignore.

use std::collections::HashSet;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::tree_files::TreeRoot;
use crate::{Error, Git, Repository, fields, path_of};

/// What was copied into a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Included {
    pub copied: Vec<PathBuf>,
    pub bytes: u64,
    pub skipped: Vec<SkippedFile>,
}

/// A file that matched and was not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    pub path: PathBuf,
    pub why: String,
}

impl Git {
    /// The files of a checkout that are ignored by git and matched by the patterns of `list`, a file
    /// relative to the root. Tracked files and plain untracked ones never are.
    pub fn included_files(
        &self,
        repository: &Repository,
        list: &Path,
    ) -> Result<Vec<PathBuf>, Error> {
        let list = repository.root.join(list);
        if !std::fs::symlink_metadata(&list).is_ok_and(|metadata| metadata.is_file()) {
            return Ok(Vec::new());
        }
        let others = ["ls-files", "-z", "--others", "--ignored"];
        let ignored = self.line_in(repository).args(others).arg("--exclude-standard");
        let ignored = self.read(ignored)?;
        let ignored: HashSet<&[u8]> = fields(&ignored).collect();
        let mut from = std::ffi::OsString::from("--exclude-from=");
        from.push(&list);
        let matched = self.line_in(repository).config([("core.excludesFile", "/dev/null")]);
        let matched = self.read(matched.args(others).arg(from))?;
        let both = fields(&matched).filter(|path| ignored.contains(path) && !path.ends_with(b"/"));
        Ok(both.map(path_of).collect())
    }

    /// Whether git ignores what would be at a path of a tree if it were no folder: a pattern that ends
    /// with a slash is about folders alone.
    pub fn is_ignored(&self, tree: &Repository, path: &Path) -> Result<bool, Error> {
        // This verb refuses to take paths literally. Behind a `./` nothing in them means more.
        let line = self.line_in(tree).env("GIT_LITERAL_PATHSPECS", "0");
        let line = line.args(["check-ignore", "--quiet", "--"]).arg(Path::new(".").join(path));
        Ok(self.answer(line)?.is_some())
    }

    /// Copies the included files into a new tree, with their modes. Links are skipped, nothing that is
    /// there is written over, and from `max_bytes` on nothing more is copied.
    pub fn copy_included(
        &self,
        repository: &Repository,
        list: &Path,
        tree: &Path,
        max_bytes: u64,
    ) -> Result<Included, Error> {
        let open =
            |path: &Path| TreeRoot::open(path).map_err(|error| Error::io("open", path, error));
        let files = self.included_files(repository, list)?;
        let (from, into) = (open(&repository.root)?, open(tree)?);
        let mut included = Included::default();
        for path in files {
            match copy(&from, &into, &path, max_bytes - included.bytes) {
                Ok(bytes) => {
                    included.bytes += bytes;
                    included.copied.push(path);
                }
                Err(why) => included.skipped.push(SkippedFile { path, why }),
            }
        }
        Ok(included)
    }
}

fn copy(from: &TreeRoot, into: &TreeRoot, path: &Path, room: u64) -> Result<u64, String> {
    let words = |error: io::Error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => "is a link".to_owned(),
        _ => error.to_string(),
    };
    let file = from.read(path).map_err(words)?;
    let metadata = file.metadata().map_err(words)?;
    if metadata.len() > room {
        return Err("the limit for included files is reached".to_owned());
    }
    if into.is_taken(path) {
        return Err("is there already".to_owned());
    }
    let mode = metadata.permissions().mode() & 0o777;
    let mut copy = into.create(path, mode).map_err(words)?;
    io::copy(&mut file.take(metadata.len()), &mut copy).map_err(words)
}
