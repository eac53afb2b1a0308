//! Repositories inside a tree: those of submodules, whose git dirs lie in that of the tree, and those
//! that somebody made or cloned in it. No git is run in them: what is in them decides what it would do.

use std::path::{Path, PathBuf};

use crate::run::Input;
use crate::{Error, Git, path_of};

/// How deep folders are followed in a git dir.
const MAX_DEPTH: usize = 20;

/// A repository inside a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerRepository {
    /// Where its files are, relative to the tree; for a submodule, its name.
    pub path: PathBuf,
    /// Its git dir.
    pub git_dir: PathBuf,
}

impl InnerRepository {
    /// Moves the git dir to a path where nothing is, as a repository without files: everything that
    /// git can find of its commits is there.
    pub fn move_to(&self, git: &Git, to: &Path) -> Result<(), Error> {
        let failed = |error| Error::io("keep a repository in", to, error);
        std::fs::create_dir_all(to.parent().unwrap_or(to)).map_err(failed)?;
        match std::fs::rename(&self.git_dir, to) {
            Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
                copy(&self.git_dir, to).map_err(failed)?;
            }
            moved => moved.map_err(failed)?,
        }
        let config = to.join("config");
        // A link would lead git to another file.
        if std::fs::symlink_metadata(&config).is_ok_and(|metadata| metadata.is_file()) {
            let line = git.isolated(Path::new("/")).args(["config", "--file"]).arg(&config);
            // It names the folder that the files were in. Most have no such setting.
            git.finish(&line.args(["--unset-all", "core.worktree"]), Input::Nothing, None)?;
        }
        Ok(())
    }
}

/// Copies a folder, links as links.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &to)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, &to)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}

/// The repositories of a tree that go when it goes. `folders` have a `.git`.
pub(super) fn inner(tree: &Path, git_dir: &Path, folders: &[Vec<u8>]) -> Vec<InnerRepository> {
    let own = folders.iter().map(|folder| {
        let path = path_of(folder);
        InnerRepository { git_dir: tree.join(&path).join(".git"), path }
    });
    let mut found: Vec<InnerRepository> = own.filter(|inner| is_folder(&inner.git_dir)).collect();
    let modules = git_dir.join("modules");
    let mut below = vec![(modules.clone(), 0)];
    while let Some((folder, depth)) = below.pop() {
        if is_folder(&folder.join("objects")) {
            let path = folder.strip_prefix(&modules).unwrap_or(&folder).to_owned();
            below.push((folder.join("modules"), depth + 1));
            found.push(InnerRepository { path, git_dir: folder });
            continue;
        }
        if depth < MAX_DEPTH {
            below.extend(entries(&folder).filter(|path| is_folder(path)).map(|at| (at, depth + 1)));
        }
    }
    found.sort_by(|one, other| one.git_dir.cmp(&other.git_dir));
    found.dedup();
    found
}

/// The files with the objects of a repository.
pub(super) fn objects(git_dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(git_dir.join("objects"), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for path in entries(&folder) {
            if !is_folder(&path) {
                found.push(path);
            } else if depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            }
        }
    }
    found
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Whether it is a folder and no link to one.
fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}
