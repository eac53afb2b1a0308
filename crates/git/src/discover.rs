//! Finding the repository of a folder: the one time that git looks for it itself.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::{CommandLine, Commit, Error, Git, fields, object_id, path_line};

/// Where a repository is. It is found once, kept by the caller, and passed to every call; nothing
/// that is in a work tree is asked for it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The folder that is checked out.
    pub root: PathBuf,
    /// The git dir of that checkout: the common dir, or `worktrees/<id>` in it.
    pub git_dir: PathBuf,
    /// The git dir that all work trees of the repository share.
    pub common_dir: PathBuf,
}

/// What a folder is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub repository: Repository,
    /// Where the folder is below the root; empty for the root itself.
    pub prefix: PathBuf,
    pub head: Commit,
    /// The branch that is checked out; `None` if the head is detached.
    pub branch: Option<String>,
    /// Whether the history is cut off.
    pub shallow: bool,
    /// Whether only a part of the files is checked out.
    pub sparse: bool,
    /// How many paths differ from the head; a folder of untracked files counts once.
    pub dirty_files: usize,
}

impl Repository {
    /// The same repository, as seen from another of its work trees.
    #[must_use]
    pub fn in_worktree(&self, root: &Path, git_dir: &Path) -> Self {
        let (root, git_dir) = (root.to_owned(), git_dir.to_owned());
        Self { root, git_dir, common_dir: self.common_dir.clone() }
    }
}

impl Git {
    /// The repository that a folder is in; `None` if it is in none. A repository that no tree can be
    /// made of is an error that says why: no commits, bare, or somebody else's.
    pub fn discover(&self, dir: &Path) -> Result<Option<Found>, Error> {
        let ask = |what: &str| self.read(self.personal(dir).args(["rev-parse", what]));
        let git_dir = match ask("--absolute-git-dir") {
            Ok(output) => path_line(&output),
            Err(Error::Failed { words, .. }) if words.contains("not a git repository") => {
                return Ok(None);
            }
            Err(Error::Failed { words, .. }) if words.contains("dubious ownership") => {
                return Err(Error::UnsafeOwner { words });
            }
            Err(error) => return Err(error),
        };
        if ask("--is-inside-work-tree")?.starts_with(b"false") {
            return Err(Error::Bare { git_dir });
        }
        let root = path_line(&ask("--show-toplevel")?);
        let prefix = path_line(&ask("--show-prefix")?);
        let common_dir = dir.join(path_line(&ask("--git-common-dir")?));
        let common_dir = std::fs::canonicalize(&common_dir)
            .map_err(|error| Error::io("find", common_dir, error))?;
        let repository = Repository { root, git_dir, common_dir };

        let head = self.line_in(&repository).args(["rev-parse", "--verify", "-q", "HEAD^{commit}"]);
        let Some(head) = self.answer(head)? else {
            return Err(Error::NoCommits { root: repository.root });
        };
        let head = object_id("rev-parse", &head)?;
        let branch = self.line_in(&repository).args(["symbolic-ref", "-q", "--short", "HEAD"]);
        let branch = self.answer(branch)?.map(|name| path_line(&name));
        let branch = branch.map(|name| name.to_string_lossy().into_owned());
        let shallow =
            self.read(self.line_in(&repository).args(["rev-parse", "--is-shallow-repository"]))?;
        let sparse = ["config", "--type=bool", "--get", "core.sparseCheckout"];
        let sparse = self.answer(self.line_in(&repository).args(sparse))?;
        let dirty_files = self.changed_paths(&repository)?.len();
        Ok(Some(Found {
            // `--show-prefix` ends in a slash.
            prefix: prefix.components().collect(),
            head,
            branch,
            shallow: shallow.starts_with(b"true"),
            sparse: sparse.is_some_and(|value| value.starts_with(b"true")),
            dirty_files,
            repository,
        }))
    }

    /// A call in a repository with everything given, hooks off and no network. Programs that its
    /// configuration names are not replaced: this is for calls that run none.
    pub(crate) fn line_in(&self, repository: &Repository) -> CommandLine {
        self.located(repository)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "")
            .config([("core.hooksPath", "/dev/null"), ("core.fsmonitor", "false")])
    }

    /// A call in a repository that finds nothing by itself.
    pub(crate) fn located(&self, repository: &Repository) -> CommandLine {
        self.personal(&repository.root)
            .env("GIT_DIR", &repository.git_dir)
            .env("GIT_WORK_TREE", &repository.root)
            .env("GIT_COMMON_DIR", &repository.common_dir)
    }

    /// Which paths of a checkout differ from its head, untracked ones included, as `git status`
    /// names them. No filter runs: what one changed may be among them.
    pub(crate) fn changed_paths(&self, repository: &Repository) -> Result<Vec<PathBuf>, Error> {
        let line = self.without_programs(repository)?;
        // In a submodule git would start another git, whose configuration nobody has looked at.
        let line = line.args(["status", "--porcelain=v1", "-z", "--ignore-submodules=dirty"]);
        let output = self.read(line.arg("--untracked-files=normal"))?;
        let mut paths = Vec::new();
        let mut fields = fields(&output);
        while let Some(field) = fields.next() {
            let Some((status, path)) = field.split_at_checked(3) else { continue };
            paths.push(std::ffi::OsStr::from_bytes(path).into());
            if status.starts_with(b"R") || status.starts_with(b"C") {
                paths.extend(fields.next().map(|old| std::ffi::OsStr::from_bytes(old).into()));
            }
        }
        Ok(paths)
    }
}
