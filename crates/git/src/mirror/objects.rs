//! Where the objects of a mirror come from: hard links to those of the repository when it is made,
//! packs for what came later. The repository's configuration decides nothing here.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{CONFIG, Mirror, write_anew};
use crate::run::Input;
use crate::{Commit, Error, Git, KeptPack, Repository};

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
        if !self.has_files(repository, commit)? {
            self.fetch(repository, commit)?;
        }
        self.git.read(self.line().args(["update-ref", &reference]).arg(commit)).map(drop)
    }

    /// Makes sure that the repository has a commit with its history, if need be from here: what
    /// nothing leads to any more is pruned there. Let a reference lead to it before the answer is
    /// dropped, or it may be pruned again.
    pub fn give_back(&self, repository: &Repository, commit: &Commit) -> Result<KeptPack, Error> {
        let line = self.git.line_in(repository).args(["rev-list", "--objects", "--quiet"]);
        let line = line.args(["--no-walk", "--missing=allow-promisor"]);
        // Since 2.45, git takes a commit that is missing for one that may be.
        let is_there = self.git.has_commit(repository, commit)?;
        if is_there && self.git.read(line.arg(commit)).is_ok() {
            return Ok(KeptPack::nothing());
        }
        let failed = |error| Error::io("write a pack in", &self.path, error);
        let pack = tempfile::NamedTempFile::new_in(&self.path).map_err(failed)?;
        let mut wanted = format!("{commit}\n");
        let known = self.git.line_in(repository).args(["for-each-ref", "--format=%(objectname)"]);
        let mut known = self.git.read(known.args(["--", "refs/heads/", "refs/tags/"]))?;
        // Only what is there can be left out: a branch may be at a commit that was removed. And only what
        // is here.
        for line in [self.git.line_in(repository), self.line()] {
            let line = line.args(["cat-file", "--batch-check"]);
            known = commits_of(&self.git.read_with(line, Input::Bytes(known))?);
        }
        wanted.extend(String::from_utf8_lossy(&known).lines().map(|id| format!("^{id}\n")));
        let line = self.line().args(["pack-objects", "--revs", "--stdout", "-q"]);
        // What a partial clone lacks was never here.
        let line = line.arg("--missing=allow-any");
        let output = pack.as_file().try_clone().map_err(failed)?;
        let finished = self.git.finish(&line, Input::Bytes(wanted.into_bytes()), Some(output))?;
        Git::succeeded(&line, finished)?;
        let kept = self.git.keep_pack(repository, pack.path())?;
        if !self.git.has_commit(repository, commit)? {
            return Err(Error::unexpected("pack-objects", format!("nothing of {commit}")));
        }
        Ok(kept)
    }

    /// Whether a commit is here with every file of it that the repository has: a partial clone has not
    /// all of them. Its history is not looked through, which takes minutes in a large repository, and
    /// which comparing does not need.
    fn has_files(&self, repository: &Repository, commit: &Commit) -> Result<bool, Error> {
        let line = self.line().args(["rev-list", "--objects", "--quiet", "--no-walk"]);
        let output = match self.git.read(line.arg("--missing=print").arg(commit)) {
            Ok(output) => output,
            Err(Error::Failed { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let lines = output.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"?"));
        let missing = lines.collect::<Vec<_>>().join(&b'\n');
        if missing.is_empty() {
            return Ok(true);
        }
        // Since 2.45, git takes a commit that is missing for one that may be.
        if missing.split(|byte| *byte == b'\n').any(|id| id == commit.as_str().as_bytes()) {
            return Ok(false);
        }
        let line = self.git.line_in(repository).args(["cat-file", "--batch-check"]);
        let there = self.git.read_with(line, Input::Bytes([&missing[..], b"\n"].concat()))?;
        let there = String::from_utf8_lossy(&there);
        Ok(there.lines().all(|line| line.ends_with(" missing")))
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
        let known = commits_of(&known);
        wanted.extend(String::from_utf8_lossy(&known).lines().map(|id| format!("^{id}\n")));
        let line = self.git.line_in(repository).args(["pack-objects", "--revs", "--stdout", "-q"]);
        let line = line.arg("--missing=allow-promisor");
        let output = pack.as_file().try_clone().map_err(failed)?;
        let finished = self.git.finish(&line, Input::Bytes(wanted.into_bytes()), Some(output))?;
        Git::succeeded(&line, finished)?;
        let input = File::open(pack.path()).map_err(failed)?;
        let line = self.line().args(["index-pack", "--stdin", "--fix-thin"]);
        self.git.read_with(line, Input::File(input)).map(drop)
    }
}

/// The ids of those that are commits, one in a line, of what `cat-file --batch-check` printed.
fn commits_of(output: &[u8]) -> Vec<u8> {
    let output = String::from_utf8_lossy(output);
    let pairs = output.lines().filter_map(|line| line.split_once(' '));
    let commits = pairs.filter(|(_, about)| about.starts_with("commit "));
    commits.flat_map(|(id, _)| [id, "\n"]).collect::<String>().into_bytes()
}
