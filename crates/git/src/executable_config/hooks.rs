//! The hooks of a repository, by the digest of their bytes.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::run::Input;
use crate::{Error, Git, Repository, object_id, path_line};

/// In the place of a digest; never equal to one, and never allowed.
pub(super) const NOT_READ: &str = "not read";

/// How many files of a folder of hooks are looked at. In a folder with more, the rest counts as one
/// that nobody allowed.
const MAX_HOOKS: usize = 100;

/// More than any hook has; a program of this size is still read to its end.
const MAX_HOOK_BYTES: u64 = 64 << 20;

impl Git {
    pub(crate) fn hooks(&self, repository: &Repository) -> Result<BTreeMap<String, String>, Error> {
        let get = ["config", "--type=path", "--get", "core.hooksPath"];
        let folder = match self.answer(self.located(repository).args(get))? {
            // A relative path is one of the work tree, as for git.
            Some(path) => repository.root.join(path_line(&path)),
            None => repository.common_dir.join("hooks"),
        };
        let mut hooks = BTreeMap::new();
        // A repository without that folder has no hooks.
        let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(hooks) };
        // All files and not only the hooks that we know: newer versions of git have more, and hooks
        // run files that are beside them.
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let is_sample = |name: &String| Path::new(name).extension().is_some_and(|e| e == "sample");
        let mut names: Vec<String> = names.filter(|name| !is_sample(name)).collect();
        names.sort();
        for (number, name) in names.into_iter().enumerate() {
            if number == MAX_HOOKS {
                hooks.insert(name, format!("{NOT_READ}: there are more than {MAX_HOOKS} files"));
                break;
            }
            if let Some(digest) = self.digest(&folder.join(&name))? {
                hooks.insert(name, digest);
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
            return Ok(exists.then(|| NOT_READ.to_owned()));
        };
        match file.metadata() {
            Ok(metadata) if metadata.is_file() => {}
            // git runs no folder.
            Ok(metadata) if metadata.is_dir() => return Ok(None),
            _ => return Ok(Some(NOT_READ.to_owned())),
        }
        let mut bytes = Vec::new();
        if file.take(MAX_HOOK_BYTES).read_to_end(&mut bytes).is_err() {
            return Ok(Some(NOT_READ.to_owned()));
        }
        let hash = self.isolated(Path::new("/")).args(["hash-object", "--no-filters", "--stdin"]);
        let output = self.read_with(hash, Input::Bytes(bytes))?;
        Ok(Some(object_id("hash-object", &output)?.to_string()))
    }
}
