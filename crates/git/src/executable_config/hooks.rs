//! The hooks of a repository, by the digest of their bytes.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::run::Input;
use crate::{Error, Git, Repository, object_id, path_line};

/// The hooks that a call of this crate could run, and those that others could.
const NAMES: [&str; 18] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
];

/// More than any hook has; a program of this size is still read to its end.
const MAX_HOOK_BYTES: u64 = 64 << 20;

impl Git {
    pub(super) fn hooks(&self, repository: &Repository) -> Result<BTreeMap<String, String>, Error> {
        let get = ["config", "--type=path", "--get", "core.hooksPath"];
        let folder = match self.answer(self.located(repository).args(get))? {
            // A relative path is one of the work tree, as for git.
            Some(path) => repository.root.join(path_line(&path)),
            None => repository.common_dir.join("hooks"),
        };
        let mut hooks = BTreeMap::new();
        for name in NAMES {
            if let Some(digest) = self.digest(&folder.join(name))? {
                hooks.insert(name.to_owned(), digest);
            }
        }
        Ok(hooks)
    }

    /// The digest of a hook; `None` if there is none. What cannot be read gets a digest that says so.
    fn digest(&self, path: &Path) -> Result<Option<String>, Error> {
        // Not waiting: a pipe in the place of the hook would keep us for ever.
        let nonblocking = OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path);
        let Ok(file) = file else {
            let exists = std::fs::symlink_metadata(path).is_ok();
            return Ok(exists.then(|| "cannot be read".to_owned()));
        };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Ok(Some("is no file".to_owned()));
        }
        let mut bytes = Vec::new();
        if file.take(MAX_HOOK_BYTES).read_to_end(&mut bytes).is_err() {
            return Ok(Some("cannot be read".to_owned()));
        }
        let hash = self.isolated(Path::new("/")).args(["hash-object", "--no-filters", "--stdin"]);
        let output = self.read_with(hash, Input::Bytes(bytes))?;
        Ok(Some(object_id("hash-object", &output)?.to_string()))
    }
}
