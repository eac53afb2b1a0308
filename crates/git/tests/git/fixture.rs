//! A repository with a home of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coven_git::{
    AddedWorktree, Commit, ExecutableConfig, Found, Git, Identity, Mirror, Repository,
    mirror::{Checkpoint, CheckpointRequest},
};
use tempfile::TempDir;

pub(crate) struct Fixture {
    folder: TempDir,
    pub(crate) git: Git,
}

impl Fixture {
    /// A repository `repo` with one commit that has `a.txt`.
    pub(crate) fn new() -> Self {
        let fixture = Self::empty();
        fixture.plain(&fixture.root(), &["init", "-q", "-b", "main"]);
        fixture.write("repo/a.txt", "one\ntwo\nthree\n");
        fixture.commit("first");
        fixture
    }

    /// A home and an empty folder `repo`.
    pub(crate) fn empty() -> Self {
        let folder = coven_testkit::folders::temporary().unwrap();
        let path = folder.path();
        for name in ["home", "repo", "state"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        let config = "[user]\n\tname = Pat Person\n\temail = pat@example.invalid\n";
        std::fs::write(path.join("home/.gitconfig"), config).unwrap();
        let git = Git::new()
            .with_variable("HOME", path.join("home"))
            .with_variable("XDG_CONFIG_HOME", path.join("home/.config"));
        Self { folder, git }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("repo")
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A program that leaves a trace: `self.ran("pwned")` says whether it ran.
    pub(crate) fn trap(&self, name: &str) -> String {
        let script = format!("#!/bin/sh\ntouch '{}'\ncat\n", self.path(name).display());
        let path = self.path(&format!("{name}.sh"));
        std::fs::write(&path, script).unwrap();
        make_executable(&path);
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn ran(&self, name: &str) -> bool {
        let path = self.path(name);
        let ran = path.exists();
        std::fs::remove_file(path).ok();
        ran
    }

    /// git as anybody would call it.
    pub(crate) fn naive(&self, folder: &Path, line: &[&str]) -> Output {
        Command::new("git")
            .args(line)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("LC_ALL", "C")
            .output()
            .unwrap()
    }

    pub(crate) fn plain(&self, folder: &Path, line: &[&str]) -> String {
        let output = self.naive(folder, line);
        assert!(
            output.status.success(),
            "git {line:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(crate) fn commit(&self, message: &str) -> Commit {
        self.commit_in(&self.root(), message)
    }

    pub(crate) fn commit_in(&self, folder: &Path, message: &str) -> Commit {
        self.plain(folder, &["add", "-A"]);
        self.plain(folder, &["commit", "-q", "-m", message]);
        self.plain(folder, &["rev-parse", "HEAD"]).parse().unwrap()
    }

    pub(crate) fn found(&self) -> Found {
        self.git.discover(&self.root()).unwrap().unwrap()
    }

    pub(crate) fn repository(&self) -> Repository {
        self.found().repository
    }

    pub(crate) fn head(&self) -> Commit {
        self.plain(&self.root(), &["rev-parse", "HEAD"]).parse().unwrap()
    }

    /// A tree `tree/NAME` on the branch `coven/NAME`, with filters as the user has them.
    pub(crate) fn tree(&self, name: &str) -> (PathBuf, AddedWorktree) {
        let path = self.path(&format!("tree/{name}"));
        let (repository, branch) = (self.repository(), format!("coven/{name}"));
        let begun = self.git.begin_worktree(&repository, &path, &branch, &self.head()).unwrap();
        if begun.is_empty {
            let inside = repository.in_worktree(&path, &begun.git_dir);
            let files = self.git.check_out_command(&inside, &self.allowed()).unwrap();
            self.git.run(&files).unwrap();
            self.git.finish_worktree(&repository, &path).unwrap();
        }
        (path, begun)
    }

    pub(crate) fn allowed(&self) -> ExecutableConfig {
        self.git.executable_config(&self.repository()).unwrap()
    }

    pub(crate) fn mirror(&self) -> Mirror {
        let mirror =
            Mirror::open_or_make(&self.git, &self.path("state/mirror"), &self.repository())
                .unwrap();
        mirror.take_in(&self.repository(), &self.head()).unwrap();
        mirror
    }
}

pub(crate) fn hold(mirror: &Mirror, tree: &Path, parent: &Commit) -> Checkpoint {
    hold_as(mirror, tree, Some(parent), "refs/coven/test")
}

pub(crate) fn hold_as(
    mirror: &Mirror,
    tree: &Path,
    parent: Option<&Commit>,
    reference: &str,
) -> Checkpoint {
    let author = Identity::new("Coven", "coven@localhost");
    let request = CheckpointRequest {
        tree,
        parent,
        head: None,
        message: "turn 1",
        trailers: &[("Coven-Task", "brisk-otter/build.0")],
        author: &author,
        reference: Some(reference),
    };
    mirror.checkpoint(&request).unwrap()
}

pub(crate) fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
