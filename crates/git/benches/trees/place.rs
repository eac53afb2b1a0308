//! A repository with as many files as are asked for, in a folder of its own.

use std::error::Error;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coven_git::{Commit, Git, Mirror, Repository};
use coven_testkit::folders;
use tempfile::TempDir;

/// How many files lie in one folder.
const FILES_PER_FOLDER: usize = 100;

/// How many lines a file has; about two kilobytes.
const LINES: usize = 50;

pub(crate) struct Place {
    folder: TempDir,
    git: Git,
    pub(crate) repository: Repository,
}

impl Place {
    pub(crate) fn with_files(files: usize) -> Result<Self, Box<dyn Error>> {
        let folder = folders::temporary()?;
        let path = folder.path();
        for name in ["home", "repo", "state"] {
            fs::create_dir(path.join(name))?;
        }
        let config = "[user]\n\tname = Pat Person\n\temail = pat@example.invalid\n";
        fs::write(path.join("home/.gitconfig"), config)?;
        let repo = path.join("repo");
        for number in 0..files {
            let file = repo.join(name_of(number));
            if number.is_multiple_of(FILES_PER_FOLDER) {
                fs::create_dir_all(file.parent().unwrap_or(&repo))?;
            }
            fs::write(file, text_of(number))?;
        }
        let git = Git::new()
            .with_variable("HOME", path.join("home"))
            .with_variable("XDG_CONFIG_HOME", path.join("home/.config"));
        plain(path, &repo, &["init", "-q", "-b", "main"])?;
        plain(path, &repo, &["add", "-A"])?;
        plain(path, &repo, &["commit", "-q", "-m", "all"])?;
        plain(path, &repo, &["gc", "-q"])?;
        let found = git.discover(&repo)?.ok_or("no repository was made")?;
        Ok(Self { git, repository: found.repository, folder })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn plain(&self, folder: &Path, line: &[&str]) -> io::Result<String> {
        plain(self.folder.path(), folder, line)
    }

    pub(crate) fn head(&self) -> Result<Commit, Box<dyn Error>> {
        Ok(self.plain(&self.path("repo"), &["rev-parse", "HEAD"])?.trim().parse()?)
    }

    /// A tree as git makes it when it is asked for nothing else.
    pub(crate) fn add_bare(&self, path: &Path, branch: &str) -> io::Result<()> {
        let path = path.display().to_string();
        let line = ["worktree", "add", "-q", "--no-track", "-b", branch, &path];
        self.plain(&self.path("repo"), &line).map(drop)
    }

    /// A tree as Coven makes it.
    pub(crate) fn add(
        &self,
        name: &str,
        branch: &str,
        head: &Commit,
    ) -> Result<(), coven_git::Error> {
        self.git.add_worktree(&self.repository, &self.path(name), branch, head).map(drop)
    }

    pub(crate) fn mirror(&self) -> Result<Mirror, coven_git::Error> {
        Mirror::open_or_make(&self.git, &self.path("state/mirror.git"), &self.repository)
    }

    pub(crate) fn status(&self, tree: &Path) -> io::Result<()> {
        self.plain(tree, &["status", "--porcelain", "--untracked-files=all"]).map(drop)
    }

    /// Changes a line in each of the first files of a tree.
    pub(crate) fn change(tree: &Path, files: usize) -> io::Result<usize> {
        for number in 0..files {
            let text = text_of(number).replacen("line 7 ", "another line 7 ", 1);
            fs::write(tree.join(name_of(number)), text)?;
        }
        Ok(files)
    }
}

fn name_of(number: usize) -> String {
    format!("part-{}/file-{number}.txt", number / FILES_PER_FOLDER)
}

fn text_of(number: usize) -> String {
    (0..LINES).map(|line| format!("line {line} of the file with the number {number}\n")).collect()
}

/// git as anybody would call it, with a home of its own.
fn plain(place: &Path, folder: &Path, line: &[&str]) -> io::Result<String> {
    let output = Command::new("git")
        .args(line)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", place.join("home"))
        .env("LC_ALL", "C")
        .output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("git {}: {words}", line.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// How much a folder takes on the disk.
pub(crate) fn size_of(folder: &Path) -> io::Result<u64> {
    sum(folder, &|_| true)
}

/// How much of that are files that have another name elsewhere.
pub(crate) fn linked_size_of(folder: &Path) -> io::Result<u64> {
    sum(folder, &|metadata| metadata.nlink() > 1)
}

fn sum(folder: &Path, counts: &dyn Fn(&fs::Metadata) -> bool) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            bytes += sum(&entry.path(), counts)?;
        } else if counts(&metadata) {
            bytes += metadata.blocks() * 512;
        }
    }
    Ok(bytes)
}
