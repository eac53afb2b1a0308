//! Where the objects of a mirror come from: hard links to those of the repository when it is made,
//! packs for what came later. The repository's configuration decides nothing here.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{CONFIG, Mirror, write_anew};
use crate::run::Input;
use crate::{Commit, Error, Git, Repository};

/// Makes a mirror under another name and puts it in its place.
pub(super) fn make(git: &Git, path: &Path, repository: &Repository) -> Result<(), Error> {
    let failed = |error| Error::io("make", path, error);
    let parent = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).map_err(failed)?;
    let scratch = tempfile::Builder::new().prefix(".mirror-").tempdir_in(parent).map_err(failed)?;
    let made = scratch.path().join("git");

    let format = git.read(git.line_in(repository).args(["rev-parse", "--show-object-format"]))?;
    let format = String::from_utf8_lossy(&format).trim().to_owned();
    let init = git.isolated(parent).args(["init", "--quiet", "--bare", "--template="]);
    let init = init.arg(format!("--object-format={format}")).arg("--").arg(&made);
    git.read(init)?;
    let config = std::fs::read_to_string(made.join("config")).map_err(failed)?;
    write_anew(&made.join("config"), format!("{config}{CONFIG}").as_bytes())?;
    link_objects(&repository.common_dir.join("objects"), &made.join("objects")).map_err(failed)?;

    match std::fs::rename(&made, path) {
        Ok(()) => Ok(()),
        // Another caller was faster.
        Err(_) if path.join("HEAD").exists() => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Links every object. What disappears while we look was packed anew by a git in the repository; if
/// it is needed, it is fetched by its id later.
fn link_objects(from: &Path, to: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_fan = name.len() == 2 && name.to_str().is_some_and(is_hex);
        if (is_fan || name == "pack") && entry.file_type()?.is_dir() {
            link_folder(&entry.path(), &to.join(&name))?;
        }
    }
    Ok(())
}

fn is_hex(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn link_folder(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let stem = Path::new(&name);
        let end = stem.extension().and_then(|end| end.to_str());
        let wanted = matches!(end, Some("pack" | "idx" | "rev")) || is_hex(&name);
        if wanted && entry.file_type()?.is_file() {
            files.push(name);
        }
    }
    // A pack counts from when its index is there.
    files.sort_by_key(|name| Path::new(name).extension().is_some_and(|end| end == "idx"));
    for name in files {
        let (from, to) = (from.join(&name), to.join(&name));
        match std::fs::hard_link(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => match std::fs::copy(&from, &to) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => drop(other?),
            },
            Ok(()) => {}
        }
    }
    Ok(())
}

impl Mirror {
    /// Makes sure that the mirror has a commit of the repository with its files, and keeps it,
    /// whatever becomes of it there.
    pub fn take_in(&self, repository: &Repository, commit: &Commit) -> Result<(), Error> {
        let reference = format!("refs/taken-in/{commit}");
        if self.commit_of(&reference)?.is_some() {
            return Ok(());
        }
        if !self.has_files(commit)? {
            self.fetch(repository, commit)?;
        }
        self.git.read(self.line().args(["update-ref", &reference]).arg(commit)).map(drop)
    }

    /// Makes sure that the repository has a commit with its history, if need be from here: what
    /// nothing leads to any more is pruned there.
    pub fn give_back(&self, repository: &Repository, commit: &Commit) -> Result<(), Error> {
        let line = self.git.line_in(repository).args(["rev-list", "--objects", "--quiet"]);
        if self.git.read(line.arg("--no-walk").arg(commit)).is_ok() {
            return Ok(());
        }
        let failed = |error| Error::io("write a pack in", &self.path, error);
        let pack = tempfile::NamedTempFile::new_in(&self.path).map_err(failed)?;
        let mut wanted = format!("{commit}\n");
        let known = self.git.line_in(repository).args(["for-each-ref", "--format=%(objectname)"]);
        let known = self.git.read(known.args(["--", "refs/heads/", "refs/tags/"]))?;
        // Only what is here can be left out.
        let line = self.line().args(["cat-file", "--batch-check"]);
        let known = self.git.read_with(line, Input::Bytes(known))?;
        for line in String::from_utf8_lossy(&known).lines() {
            if let Some((id, rest)) = line.split_once(' ')
                && rest.starts_with("commit ")
            {
                wanted.push_str(&format!("^{id}\n"));
            }
        }
        let line = self.line().args(["pack-objects", "--revs", "--stdout", "-q"]);
        let output = pack.as_file().try_clone().map_err(failed)?;
        let finished = self.git.finish(&line, Input::Bytes(wanted.into_bytes()), Some(output))?;
        Git::succeeded(&line, finished)?;
        let input = File::open(pack.path()).map_err(failed)?;
        let line = self.git.line_in(repository).args(["index-pack", "--stdin", "--fix-thin"]);
        self.git.read_with(line, Input::File(input)).map(drop)
    }

    /// Whether a commit is here with every file of it. Its history is not looked through, which
    /// takes minutes in a large repository, and which comparing does not need.
    fn has_files(&self, commit: &Commit) -> Result<bool, Error> {
        let line = self.line().args(["rev-list", "--objects", "--quiet", "--no-walk"]).arg(commit);
        match self.git.read(line) {
            Ok(_) => Ok(true),
            Err(Error::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Copies objects as a pack. `git fetch` would start a server in the repository, which reads its
    /// configuration; `pack-objects` only reads objects.
    fn fetch(&self, repository: &Repository, commit: &Commit) -> Result<(), Error> {
        let failed = |error| Error::io("write a pack in", &self.path, error);
        let pack = tempfile::NamedTempFile::new_in(&self.path).map_err(failed)?;
        let mut wanted = format!("{commit}\n");
        // Only what the repository still has can be left out.
        let known: String =
            self.references("refs/taken-in/")?.iter().map(|(_, id)| format!("{id}\n")).collect();
        let line = self.git.line_in(repository).args(["cat-file", "--batch-check"]);
        let known = self.git.read_with(line, Input::Bytes(known.into_bytes()))?;
        for line in String::from_utf8_lossy(&known).lines() {
            if let Some((id, rest)) = line.split_once(' ')
                && rest.starts_with("commit ")
            {
                wanted.push_str(&format!("^{id}\n"));
            }
        }
        let line = self.git.line_in(repository).args(["pack-objects", "--revs", "--stdout", "-q"]);
        let output = pack.as_file().try_clone().map_err(failed)?;
        let finished = self.git.finish(&line, Input::Bytes(wanted.into_bytes()), Some(output))?;
        Git::succeeded(&line, finished)?;
        let input = File::open(pack.path()).map_err(failed)?;
        let line = self.line().args(["index-pack", "--stdin", "--fix-thin"]);
        self.git.read_with(line, Input::File(input)).map(drop)
    }
}
