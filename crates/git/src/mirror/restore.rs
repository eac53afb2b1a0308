//! Files of a checkpoint, back into a folder.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Mirror;
use super::checkpoint::GITLINK;
use crate::run::Input;
use crate::tree_files::TreeRoot;
use crate::{Commit, Error, Git, ObjectId, path_of};

/// How many bytes of small files are asked of git at once.
const BATCH_BYTES: u64 = 32 << 20;

/// What to bring back, and where.
#[derive(Clone, Debug)]
pub struct RestoreRequest<'a> {
    pub checkpoint: &'a Commit,
    /// An existing folder.
    pub into: &'a Path,
    /// Files, or folders with everything below them; `None` for all.
    pub only: Option<&'a [PathBuf]>,
    /// Whether files that are there and differ are replaced.
    pub overwrite: bool,
}

/// What was brought back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    pub written: Vec<PathBuf>,
    /// Left as they are, because something is there.
    pub kept: Vec<PathBuf>,
    /// Could not be written, and why; also submodules, of which only the commit is known.
    pub failed: Vec<(PathBuf, String)>,
}

impl Mirror {
    /// Writes files of a checkpoint. Nothing is deleted, no link is followed, and what is there is
    /// kept unless the request says otherwise.
    pub fn restore(&self, request: &RestoreRequest<'_>) -> Result<Restored, Error> {
        let into = request.into;
        let root = TreeRoot::open(into).map_err(|error| Error::io("open", into, error))?;
        let mut restored = Restored::default();
        let mut wanted: Vec<(PathBuf, String, ObjectId)> = Vec::new();
        for (path, (mode, id)) in self.entries(request.checkpoint)? {
            let path = path_of(&path);
            if request.only.is_some_and(|only| !only.iter().any(|one| path.starts_with(one))) {
                continue;
            }
            if mode == GITLINK {
                restored.failed.push((path, "is a submodule".to_owned()));
            } else if !request.overwrite && root.is_taken(&path) {
                restored.kept.push(path);
            } else {
                wanted.push((path, mode, id));
            }
        }
        wanted.sort();
        let ids: Vec<ObjectId> = wanted.iter().map(|(_, _, id)| id.clone()).collect();
        let sizes = self.sizes(&ids)?;
        let mut batch = Vec::new();
        let mut bytes = 0;
        for file in wanted {
            let size = sizes.get(&file.2).copied().unwrap_or(0);
            if size > BATCH_BYTES {
                self.restore_large(&root, file, &mut restored)?;
                continue;
            }
            if bytes + size > BATCH_BYTES {
                self.restore_batch(&root, std::mem::take(&mut batch), &mut restored)?;
                bytes = 0;
            }
            bytes += size;
            batch.push(file);
        }
        self.restore_batch(&root, batch, &mut restored)?;
        restored.written.sort();
        restored.kept.sort();
        Ok(restored)
    }

    fn restore_batch(
        &self,
        root: &TreeRoot,
        files: Vec<(PathBuf, String, ObjectId)>,
        restored: &mut Restored,
    ) -> Result<(), Error> {
        if files.is_empty() {
            return Ok(());
        }
        let wanted: String = files.iter().map(|(_, _, id)| format!("{id}\n")).collect();
        let line = self.line().args(["cat-file", "--batch=%(objectsize)"]);
        let output = self.git.read_with(line, Input::Bytes(wanted.into_bytes()))?;
        let mut rest = output.as_slice();
        for (path, mode, id) in files {
            let content = next_content(&mut rest)
                .ok_or_else(|| Error::unexpected("cat-file", format!("nothing for {id}")))?;
            note(
                restored,
                path.clone(),
                put(root, &path, &mode, |file| file.write_all(content), content),
            );
        }
        Ok(())
    }

    fn restore_large(
        &self,
        root: &TreeRoot,
        (path, mode, id): (PathBuf, String, ObjectId),
        restored: &mut Restored,
    ) -> Result<(), Error> {
        let line = self.line().args(["cat-file", "blob"]).arg(&id);
        let result = replace(root, &path, &mode);
        let written = match result {
            Ok(file) => {
                let finished = self.git.finish(&line, Input::Nothing, Some(file))?;
                Git::succeeded(&line, finished)?;
                Ok(())
            }
            Err(error) => Err(error),
        };
        note(restored, path, written);
        Ok(())
    }
}

fn note(restored: &mut Restored, path: PathBuf, result: io::Result<()>) {
    match result {
        Ok(()) => restored.written.push(path),
        Err(error) => restored.failed.push((path, error.to_string())),
    }
}

fn put(
    root: &TreeRoot,
    path: &Path,
    mode: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    content: &[u8],
) -> io::Result<()> {
    if mode == "120000" {
        remove_old(root, path)?;
        return root.link(path, content);
    }
    write(&mut replace(root, path, mode)?)
}

fn replace(root: &TreeRoot, path: &Path, mode: &str) -> io::Result<File> {
    remove_old(root, path)?;
    root.create(path, if mode == "100755" { 0o755 } else { 0o644 })
}

/// Removes the name, so that a link or a second name of the file is not written through.
fn remove_old(root: &TreeRoot, path: &Path) -> io::Result<()> {
    match root.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A size on a line of its own, that many bytes, and a line feed.
fn next_content<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let size: usize = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let content = rest.get(end + 1..end + 1 + size)?;
    *rest = rest.get(end + 2 + size..)?;
    Some(content)
}
