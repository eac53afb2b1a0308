//! Bringing commits together without a checkout: objects are made first, and one reference is moved
//! last, if it is still where it was.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::run::Input;
use crate::{CommandLine, Commit, Error, Git, ObjectId, Repository, fields, object_id, path_of};

/// A person, as git writes them into a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

impl Identity {
    /// A name and an address.
    pub fn new(name: &str, email: &str) -> Self {
        Self { name: name.to_owned(), email: email.to_owned() }
    }

    /// Without the characters that end a name or an address in a commit.
    pub(crate) fn clean(&self) -> Self {
        let clean = |text: &str| text.replace(['<', '>', '\n', '\r', '\0'], " ").trim().to_owned();
        Self { name: clean(&self.name), email: clean(&self.email) }
    }
}

/// What a merge would give. Nothing was touched but the object database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    Clean(ObjectId),
    Conflict {
        paths: Vec<PathBuf>,
        /// git's own words about each conflict.
        messages: Vec<String>,
    },
}

/// A commit of a branch, and whether its change is in the other branch already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CherryCommit {
    pub commit: Commit,
    pub landed: bool,
}

impl Git {
    /// Merges two commits into a tree. No merge driver runs: files that have one are merged as text.
    pub fn merge_tree(
        &self,
        repository: &Repository,
        ours: &Commit,
        theirs: &Commit,
    ) -> Result<Merged, Error> {
        let line = self.plumbing(repository)?;
        let line = line.args(["merge-tree", "--write-tree", "--name-only", "--messages", "-z"]);
        let line = line.arg(ours).arg(theirs);
        let finished = self.finish(&line, Input::Nothing, None)?;
        // It also ends so if an object is missing, and then it prints nothing.
        if finished.code == Some(1) && !finished.stdout.is_empty() {
            return parse_conflict(&finished.stdout);
        }
        let output = Self::succeeded(&line, finished)?.stdout;
        let tree = fields(&output).next().unwrap_or_default();
        Ok(Merged::Clean(object_id("merge-tree", tree)?))
    }

    /// A call without programs of the user and without network.
    fn plumbing(&self, repository: &Repository) -> Result<CommandLine, Error> {
        let line = self.without_programs(repository)?;
        Ok(line.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", ""))
    }

    /// Whether everything in `older` is in `newer`.
    pub fn is_ancestor(
        &self,
        repository: &Repository,
        older: &Commit,
        newer: &Commit,
    ) -> Result<bool, Error> {
        let line = self.line_in(repository).args(["merge-base", "--is-ancestor"]);
        Ok(self.answer(line.arg(older).arg(newer))?.is_some())
    }

    /// The commit that two branches part from; `None` if they have none.
    pub fn merge_base(
        &self,
        repository: &Repository,
        one: &Commit,
        other: &Commit,
    ) -> Result<Option<Commit>, Error> {
        let line = self.line_in(repository).arg("merge-base").arg(one).arg(other);
        let output = self.answer(line)?;
        output.map(|output| object_id("merge-base", &output)).transpose()
    }

    /// Which commits of `head` have their change in `upstream` already, oldest first. Several commits
    /// that landed as one do not count.
    pub fn cherry(
        &self,
        repository: &Repository,
        upstream: &Commit,
        head: &Commit,
    ) -> Result<Vec<CherryCommit>, Error> {
        let line = self.plumbing(repository)?;
        let output = self.read(line.arg("cherry").arg(upstream).arg(head))?;
        let parse = |line: &str| {
            let (sign, id) = line.split_once(' ')?;
            Some(CherryCommit { commit: id.parse().ok()?, landed: sign == "-" })
        };
        let output = String::from_utf8_lossy(&output).into_owned();
        output
            .lines()
            .map(|line| parse(line).ok_or_else(|| Error::unexpected("cherry", line)))
            .collect()
    }

    /// The tree of a commit.
    pub fn tree_of(&self, repository: &Repository, commit: &Commit) -> Result<ObjectId, Error> {
        let line = self.line_in(repository).args(["rev-parse", "--verify", "--end-of-options"]);
        object_id("rev-parse", &self.read(line.arg(format!("{commit}^{{tree}}")))?)
    }

    /// Makes a commit object; no reference moves and no hook runs. Without an author, the user's own
    /// configuration says who it is; it also says who commits.
    pub fn commit_tree(
        &self,
        repository: &Repository,
        parents: &[&Commit],
        tree: &ObjectId,
        message: &str,
        author: Option<&Identity>,
    ) -> Result<Commit, Error> {
        let mut line = self.line_in(repository);
        if let Some(author) = author.map(Identity::clean) {
            line = line.env("GIT_AUTHOR_NAME", author.name).env("GIT_AUTHOR_EMAIL", author.email);
        }
        self.commit_object(line, parents, tree, message.as_bytes())
    }

    pub(crate) fn commit_object(
        &self,
        line: CommandLine,
        parents: &[&Commit],
        tree: &ObjectId,
        message: &[u8],
    ) -> Result<Commit, Error> {
        let mut line = line.arg("commit-tree").arg("--no-gpg-sign");
        for parent in parents {
            line = line.arg("-p").arg(parent);
        }
        let line = line.args(["-F", "-"]).arg(tree);
        let output = self.read_with(line, Input::Bytes(message.to_vec()))?;
        object_id("commit-tree", &output)
    }

    /// Who the user is, by their configuration.
    pub fn person(&self, repository: &Repository) -> Result<Identity, Error> {
        let output = self.read(self.line_in(repository).args(["var", "GIT_AUTHOR_IDENT"]))?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let parsed = text
            .split_once(" <")
            .and_then(|(name, rest)| Some(Identity::new(name, rest.rsplit_once("> ")?.0)));
        parsed.ok_or_else(|| Error::unexpected("var", text))
    }
}

/// What git calls a file that cannot stay where it is, as where a folder is, has a `~` and a commit
/// behind its own name. Nothing is ever written under that name here.
fn real_path<'a>(path: &Path, about: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let path = path.as_os_str().as_bytes();
    let is_before = |real: &&PathBuf| {
        let rest = path.strip_prefix(real.as_os_str().as_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"~"))
    };
    about.iter().any(|other| other.as_os_str().as_bytes() == path).then_some(())?;
    about.iter().find(is_before)
}

/// Tree, conflicted paths, an empty field, then messages: how many paths, the paths, the kind, text.
fn parse_conflict(output: &[u8]) -> Result<Merged, Error> {
    let mut fields = fields(output).skip(1);
    let mut paths: Vec<PathBuf> = Vec::new();
    for field in fields.by_ref() {
        if field.is_empty() {
            break;
        }
        paths.push(path_of(field));
    }
    let mut messages = Vec::new();
    while let Some(count) = fields.next() {
        let count = std::str::from_utf8(count).ok().and_then(|text| text.parse::<usize>().ok());
        let count = count.ok_or_else(|| Error::unexpected("merge-tree", "no number of paths"))?;
        let about: Vec<PathBuf> = fields.by_ref().take(count).map(path_of).collect();
        let kind = fields.next().unwrap_or_default();
        for path in &mut paths {
            if let Some(real) = real_path(path, &about) {
                *path = real.clone();
            }
        }
        let text = fields.next().unwrap_or_default();
        messages.push(match (kind, &about[..]) {
            (b"CONFLICT (file/directory)", [.., real]) => {
                let kind = String::from_utf8_lossy(kind);
                format!(
                    "{kind}: {} is a file on one side and a folder on the other",
                    real.display()
                )
            }
            _ => String::from_utf8_lossy(text).trim_end().to_owned(),
        });
    }
    paths.sort();
    paths.dedup();
    Ok(Merged::Conflict { paths, messages })
}
