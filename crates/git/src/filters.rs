//! Files that a filter of the user changes when they are checked out, such as those of large-file
//! storage. A filter may run what is in the tree, so this crate runs none: it says which files need
//! one, and gives the calls that check them out, to be run in a sandbox.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::executable_config::Hooks;
use crate::run::Input;
use crate::{CommandLine, Commit, Error, ExecutableConfig, Git, Neutralised, Repository};

/// The user's `post-checkout` hook in a new work tree.
#[derive(Clone, Debug)]
pub struct CheckoutHook {
    /// The call that runs it; nothing if there is none, or one that the user did not have.
    pub command: Option<CommandLine>,
    /// What will not run. It is asked now: whoever can write the configuration afterwards can change
    /// what the call runs.
    pub neutralised: Neutralised,
}

const POST_CHECKOUT: &str = "post-checkout";

impl Git {
    /// The paths of a commit that a configured filter changes when they are checked out, by the
    /// attributes that the commit has; all of them, or those of `among`.
    pub fn filtered_paths(
        &self,
        repository: &Repository,
        commit: &Commit,
        among: Option<&[PathBuf]>,
    ) -> Result<Vec<PathBuf>, Error> {
        if among.is_some_and(<[PathBuf]>::is_empty) {
            return Ok(Vec::new());
        }
        let drivers = self.checkout_filters(repository)?;
        if drivers.is_empty() {
            return Ok(Vec::new());
        }
        let paths = if let Some(paths) = among {
            let paths = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"]);
            paths.collect::<Vec<_>>().concat()
        } else {
            let list = self.line_in(repository).args(["ls-tree", "-r", "-z", "--name-only"]);
            self.read(list.arg("--full-tree").arg(commit))?
        };
        let folder = tempfile::Builder::new().prefix("coven-index-").tempdir();
        let folder =
            folder.map_err(|error| Error::io("make a folder in", std::env::temp_dir(), error))?;
        let line = || self.line_in(repository).env("GIT_INDEX_FILE", folder.path().join("index"));
        self.read(line().arg("read-tree").arg(commit))?;
        let asked = line().args(["check-attr", "-z", "--cached", "--stdin", "filter"]);
        let output = self.read_with(asked, Input::Bytes(paths))?;
        let mut fields = crate::fields(&output);
        let mut filtered = Vec::new();
        while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next())
        {
            if drivers.contains(OsStr::from_bytes(value).to_string_lossy().as_ref()) {
                filtered.push(crate::path_of(path));
            }
        }
        Ok(filtered)
    }

    /// The filters that are configured at this moment and change files that are checked out.
    fn checkout_filters(&self, repository: &Repository) -> Result<BTreeSet<String>, Error> {
        let driver = |key: &String| {
            let name = key.strip_prefix("filter.")?;
            let name = name.strip_suffix(".smudge").or_else(|| name.strip_suffix(".process"))?;
            Some(name.to_owned())
        };
        Ok(self.program_keys(repository)?.keys().filter_map(driver).collect())
    }

    /// The call that checks the files out into a tree that [`Git::begin_worktree`] has made, as the
    /// user's own git would, without hooks.
    pub fn check_out_command(
        &self,
        tree: &Repository,
        allowed: &ExecutableConfig,
    ) -> Result<CommandLine, Error> {
        let (line, _) = self.guarded(tree, allowed, Hooks::Off)?;
        Ok(crate::worktree::reset_files(line.for_programs_of_the_user()))
    }

    /// The hook that the user's own git would run in a new tree whose files are there.
    pub fn checkout_hook(
        &self,
        tree: &Repository,
        head: &Commit,
        allowed: &ExecutableConfig,
    ) -> Result<CheckoutHook, Error> {
        let (line, neutralised) = self.guarded(tree, allowed, Hooks::AsAllowed)?;
        // Each hook costs a process to be looked at, and most repositories have none of these.
        let is_allowed = neutralised.hooks.is_empty() && allowed.hooks.contains_key(POST_CHECKOUT);
        let runs = is_allowed && self.hooks(tree)?.contains_key(POST_CHECKOUT);
        let line = line.args(["hook", "run", "--ignore-missing", POST_CHECKOUT, "--"]);
        let line = line.arg(head.zero_like()).arg(head).arg("1");
        Ok(CheckoutHook { command: runs.then_some(line), neutralised })
    }

    /// The call that moves a checkout and its branch forward to `to` as the user's own git would,
    /// without hooks.
    pub fn fast_forward_command(
        &self,
        checkout: &Repository,
        to: &Commit,
        allowed: &ExecutableConfig,
    ) -> Result<CommandLine, Error> {
        let (line, _) = self.guarded(checkout, allowed, Hooks::Off)?;
        Ok(crate::checkout::merge_forward(line.for_programs_of_the_user(), to))
    }
}
