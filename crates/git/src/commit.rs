//! A commit of everything in a tree, as the user would make it: with their hooks and filters. So it
//! is not run here; the caller runs it, in the sandbox of whoever worked in the tree.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::executable_config::Hooks;
use crate::{
    CommandLine, Error, ExecutableConfig, Git, Identity, Neutralised, ObjectId, Repository, fields,
    path_of,
};

/// What to commit, and how.
#[derive(Clone, Debug)]
pub struct CommitRequest<'a> {
    /// The tree, with the git dir that was kept when it was made ([`Repository::in_worktree`]).
    pub tree: &'a Repository,
    /// A file with the message, which the sandbox must let git read; see [`message_text`].
    pub message_file: &'a Path,
    pub author: Option<&'a Identity>,
    /// Whether commits stay unsigned though the user configured signing: a signing program may ask for
    /// a passphrase, and waits for ever.
    pub unsigned: bool,
}

/// The three calls, in order.
#[derive(Clone, Debug)]
pub struct CommitCommands {
    pub add: CommandLine,
    /// Stages the commits at which submodules are checked out, where those are not what is staged.
    pub add_submodules: Option<CommandLine>,
    /// Exits with 0 if there is nothing to commit after all, and with 1 if there is: a filter can make
    /// what is committed already of a changed file.
    pub is_same: CommandLine,
    pub commit: CommandLine,
    /// What the two will not run. It is asked now: whoever can write the configuration afterwards can
    /// change what they run.
    pub neutralised: Neutralised,
    /// Submodules and other repositories in the tree that its index has: git is not told to add them,
    /// because to look it would run another git in them, with a configuration that nobody has looked
    /// at. At which commit they are is read here instead.
    pub left_out: Vec<PathBuf>,
}

impl Git {
    /// The calls that commit everything in a tree.
    pub fn commit_commands(
        &self,
        request: &CommitRequest<'_>,
        allowed: &ExecutableConfig,
    ) -> Result<CommitCommands, Error> {
        let (line, neutralised) = self.guarded(request.tree, allowed, Hooks::AsAllowed)?;
        // git would start another git in each nested repository, whose configuration nobody has
        // looked at.
        let mut line = line.config([("diff.ignoreSubmodules", "dirty"), ("gc.auto", "0")]);
        if request.unsigned {
            line = line.config([("commit.gpgSign", "false")]);
        }
        if let Some(author) = request.author.map(Identity::clean) {
            line = line.env("GIT_AUTHOR_NAME", author.name).env("GIT_AUTHOR_EMAIL", author.email);
        }
        let staged = self.gitlinks(request.tree)?;
        let mut moved = self.checked_out_gitlinks(request.tree)?;
        moved.retain(|link| !staged.contains(link));
        let left_out: Vec<PathBuf> = staged.into_iter().map(|(path, _)| path).collect();
        let mut add = line.clone().args(["add", "--all", "--", ":(top)"]);
        for path in &left_out {
            let mut pathspec = OsString::from(":(top,exclude,literal)");
            pathspec.push(path);
            add = add.arg(pathspec);
        }
        let add_submodules = (!moved.is_empty()).then(|| {
            let update = line.clone().arg("update-index");
            moved.iter().fold(update, |update, (path, id)| {
                let mut entry = OsString::from(format!("160000,{id},"));
                entry.push(path);
                update.arg("--cacheinfo").arg(entry)
            })
        });
        let is_same = line.clone().args(["diff-index", "--cached", "--quiet", "--no-ext-diff"]);
        let is_same = is_same.args(["--ignore-submodules=dirty", "HEAD", "--"]);
        let commit = line.args(["commit", "--quiet", "--no-edit", "--cleanup=verbatim", "--file"]);
        let commit = commit.arg(request.message_file);
        Ok(CommitCommands { add, add_submodules, is_same, commit, neutralised, left_out })
    }

    /// A call that reads paths, one in a line, and prints the id of what git would commit of each. It
    /// runs the filters of the user on them and writes nothing, so the caller runs it in the sandbox
    /// of whoever worked in the tree, in its top folder.
    pub fn clean_ids_command(
        &self,
        tree: &Repository,
        allowed: &ExecutableConfig,
    ) -> Result<CommandLine, Error> {
        let (line, _) = self.guarded(tree, allowed, Hooks::Off)?;
        Ok(line.for_programs_of_the_user().args(["hash-object", "--stdin-paths"]))
    }

    /// What a commit in a tree writes besides the files of the tree: where objects are, the git dir
    /// of the tree, and the folders of its branch and of that one's log, because git writes a file
    /// beside each and renames it. Configuration and hooks are not among them. What is not there is
    /// left out.
    pub fn written_by_commits(
        &self,
        tree: &Repository,
        branch: &str,
        allowed: &ExecutableConfig,
    ) -> Result<Vec<PathBuf>, Error> {
        let common = &tree.common_dir;
        let reference = PathBuf::from(format!("refs/heads/{branch}"));
        let folder = reference.parent().unwrap_or(&reference);
        let mut paths = vec![
            tree.git_dir.clone(),
            common.join("objects"),
            common.join(folder),
            common.join("logs").join(folder),
            common.join("reftable"),
        ];
        // Its filter keeps the files themselves beside the repository's objects.
        if allowed.keys.keys().any(|key| key.starts_with("filter.lfs.")) {
            let lfs = common.join("lfs");
            std::fs::create_dir_all(&lfs).map_err(|error| Error::io("make", &lfs, error))?;
            paths.push(lfs);
        }
        paths.retain(|path| path.is_dir());
        Ok(paths)
    }

    /// The files of a tree about which a merge, a rebase or the like has not been decided: their conflict
    /// was not resolved, or nobody has told git so.
    pub fn unmerged_paths(&self, tree: &Repository) -> Result<Vec<PathBuf>, Error> {
        let output = self.read(self.line_in(tree).args(["ls-files", "--unmerged", "-z"]))?;
        let path = |field: &[u8]| {
            let tab = field.iter().position(|byte| *byte == b'\t')?;
            Some(path_of(&field[tab + 1..]))
        };
        let mut paths: Vec<PathBuf> = fields(&output).filter_map(path).collect();
        paths.dedup();
        Ok(paths)
    }

    /// What the index of a tree has as commits of other repositories: its submodules, as staged.
    pub fn gitlinks(&self, tree: &Repository) -> Result<Vec<(PathBuf, ObjectId)>, Error> {
        let output = self.read(self.line_in(tree).args(["ls-files", "--stage", "-z"]))?;
        let gitlink = |field: &[u8]| {
            let tab = field.iter().position(|byte| *byte == b'\t')?;
            let id = field.strip_prefix(b"160000 ")?.split(|byte| *byte == b' ').next()?;
            Some((path_of(&field[tab + 1..]), ObjectId::from_bytes(id)?))
        };
        Ok(fields(&output).filter_map(gitlink).collect())
    }
}

/// A message with its trailers. They are written here and not by git, which would run the programs
/// that the configuration has for trailers.
pub fn message_text(message: &str, trailers: &[(&str, &str)]) -> String {
    let mut text = message.replace('\0', " ").trim_end().to_owned();
    text.push('\n');
    if !trailers.is_empty() {
        text.push('\n');
    }
    for (name, value) in trailers {
        let one_line: String = value.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("{name}: {one_line}\n"));
    }
    text
}
