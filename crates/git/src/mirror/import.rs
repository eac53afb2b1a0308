//! Bytes into the mirror by `git fast-import`: git gets the content of files and never opens them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::checkpoint::{CheckpointRequest, mode_of};
use super::held::HEAD_TRAILER;
use super::walk::{FileKind, FoundFile, stamp};
use super::{Mirror, NotHeld, NotHeldReason};
use crate::run::{Feed, Input};
use crate::tree_files::TreeRoot;
use crate::{Commit, Error, Git, ObjectId, path_of};

/// Files up to this size are read into memory. fast-import must be told the size before the bytes,
/// and a file can change while it is read; larger ones are copied first.
const MAX_BYTES_IN_MEMORY: u64 = 16 << 20;

/// Tells the commits without a name of one process apart while they are made.
static SCRATCH_NUMBER: AtomicU64 = AtomicU64::new(0);

/// A commit to be made.
pub(super) struct Import<'a> {
    pub(super) request: &'a CheckpointRequest<'a>,
    pub(super) gone: Vec<Vec<u8>>,
    /// Files whose blob is in the mirror already.
    pub(super) changed: Vec<(Vec<u8>, &'static str, ObjectId)>,
    pub(super) time: i64,
}

pub(super) struct Imported {
    pub(super) commit: Commit,
    /// Files that were read, did not change meanwhile, and their blobs.
    pub(super) blobs: Vec<(FoundFile, ObjectId)>,
    pub(super) failed: Vec<NotHeld>,
}

/// What became of a file that was to be read.
enum ReadFile {
    Held { file: FoundFile, mark: usize, steady: bool },
    Failed(NotHeld),
}

impl Mirror {
    pub(super) fn import(
        &self,
        import: &Import<'_>,
        unknown: Vec<FoundFile>,
    ) -> Result<Imported, Error> {
        let failed = |error| Error::io("write in", &self.path, error);
        let marks = tempfile::NamedTempFile::new_in(&self.path).map_err(failed)?;
        let scratch = format!(
            "refs/scratch/{}-{}",
            std::process::id(),
            SCRATCH_NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let reference = import.request.reference.unwrap_or(&scratch);
        let tree = import.request.tree;
        let root = TreeRoot::open(tree).map_err(|error| Error::io("open", tree, error))?;
        let read: Arc<Mutex<Vec<ReadFile>>> = Arc::default();
        let feed = self.feed(import, reference, root, unknown, Arc::clone(&read));
        let mut export = std::ffi::OsString::from("--export-marks=");
        export.push(marks.path());
        let line = self.line().args(["fast-import", "--quiet", "--force", "--done"]).arg(export);
        let finished = self.git.finish(&line, Input::Feed(feed), None)?;
        Git::succeeded(&line, finished)?;

        let ids = read_marks(marks.path()).map_err(failed)?;
        let id = |mark: usize| {
            let missing = || Error::unexpected("fast-import", format!("no mark {mark}"));
            ids.get(&mark).cloned().ok_or_else(missing)
        };
        let commit = id(COMMIT_MARK)?;
        let (mut blobs, mut not_held) = (Vec::new(), Vec::new());
        for one in std::mem::take(&mut *read.lock().unwrap_or_else(PoisonError::into_inner)) {
            match one {
                ReadFile::Held { file, mark, steady } => {
                    let blob = id(mark)?;
                    if steady {
                        blobs.push((file, blob));
                    }
                }
                ReadFile::Failed(one) => not_held.push(one),
            }
        }
        if import.request.reference.is_none() {
            self.git.read(self.line().args(["update-ref", "-d", &scratch]))?;
        }
        Ok(Imported { commit, blobs, failed: not_held })
    }

    /// Writes the whole input of fast-import: the blobs, then the commit.
    fn feed(
        &self,
        import: &Import<'_>,
        reference: &str,
        root: TreeRoot,
        unknown: Vec<FoundFile>,
        read: Arc<Mutex<Vec<ReadFile>>>,
    ) -> Feed {
        let head = commit_head(import, reference);
        let deletions: Vec<Vec<u8>> = import.gone.clone();
        let known = import.changed.clone();
        let folder = self.path.clone();
        Box::new(move |stdin| {
            let mut stdin = BufWriter::with_capacity(256 << 10, stdin);
            let mut modified = Vec::new();
            for (number, file) in unknown.into_iter().enumerate() {
                let mark = number + COMMIT_MARK + 1;
                let mode = mode_of(&file);
                let path = file.path.clone();
                let one = match content(&root, &file, &folder) {
                    Ok((mut content, steady)) => {
                        content.write(&mut stdin, mark)?;
                        modified.push((path, mode, mark));
                        ReadFile::Held { file, mark, steady }
                    }
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(error),
                    Err(error) => ReadFile::Failed(NotHeld {
                        path: path_of(&path),
                        reason: NotHeldReason::Unreadable(error.to_string()),
                    }),
                };
                read.lock().unwrap_or_else(PoisonError::into_inner).push(one);
            }
            stdin.write_all(&head)?;
            // Deletions first: a file may be where a folder was.
            for path in deletions {
                writeln_path(&mut stdin, "D", &path)?;
            }
            for (path, mode, blob) in known {
                writeln_path(&mut stdin, &format!("M {mode} {blob}"), &path)?;
            }
            for (path, mode, mark) in modified {
                writeln_path(&mut stdin, &format!("M {mode} :{mark}"), &path)?;
            }
            stdin.write_all(b"\ndone\n")?;
            stdin.flush()
        })
    }
}

const COMMIT_MARK: usize = 1;

fn commit_head(import: &Import<'_>, reference: &str) -> Vec<u8> {
    let CheckpointRequest { author, message, trailers, parent, head, .. } = import.request;
    let who = author.clean();
    let mut trailers = trailers.to_vec();
    trailers.extend(head.map(|head| (HEAD_TRAILER, head.as_str())));
    let text = super::super::commit::message_text(message, &trailers);
    let mut head = format!(
        "commit {reference}\nmark :{COMMIT_MARK}\ncommitter {} <{}> {} +0000\ndata {}\n{text}\n",
        who.name,
        who.email,
        import.time,
        text.len(),
    );
    if let Some(parent) = parent {
        head.push_str(&format!("from {parent}\n"));
    } else {
        head.push_str("deleteall\n");
    }
    head.into_bytes()
}

/// A path as fast-import reads it: always quoted, so that no byte in it means anything.
fn writeln_path(out: &mut dyn Write, command: &str, path: &[u8]) -> io::Result<()> {
    let mut quoted = Vec::with_capacity(path.len() + 2);
    for byte in path {
        match byte {
            b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', *byte]),
            b'\n' => quoted.extend_from_slice(b"\\n"),
            other => quoted.push(*other),
        }
    }
    write!(out, "{command} \"")?;
    out.write_all(&quoted)?;
    out.write_all(b"\"\n")
}

enum Content {
    Bytes(Vec<u8>),
    Copy(File, u64),
}

impl Content {
    fn write(&mut self, out: &mut dyn Write, mark: usize) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => {
                write!(out, "blob\nmark :{mark}\ndata {}\n", bytes.len())?;
                out.write_all(bytes)?;
            }
            Self::Copy(file, size) => {
                write!(out, "blob\nmark :{mark}\ndata {size}\n")?;
                io::copy(file, out)?;
            }
        }
        out.write_all(b"\n")
    }
}

/// The content of a file, and whether it is what the walk saw.
fn content(root: &TreeRoot, file: &FoundFile, folder: &Path) -> io::Result<(Content, bool)> {
    let path = path_of(&file.path);
    if file.kind == FileKind::Link {
        return Ok((Content::Bytes(root.read_link(&path)?), false));
    }
    let mut open = root.read(&path)?;
    let size = open.metadata()?.len();
    let content = if size <= MAX_BYTES_IN_MEMORY {
        let mut bytes = Vec::with_capacity(size as usize);
        (&mut open).take(MAX_BYTES_IN_MEMORY).read_to_end(&mut bytes)?;
        Content::Bytes(bytes)
    } else {
        let mut copy = tempfile::tempfile_in(folder)?;
        // A file that grows for ever must not keep us: it is what it was when it was opened.
        let size = io::copy(&mut (&mut open).take(size), &mut copy)?;
        copy.seek(SeekFrom::Start(0))?;
        Content::Copy(copy, size)
    };
    let after = stamp(&rustix::fs::fstat(open.as_fd())?);
    Ok((content, after == file.stamp))
}

fn read_marks(path: &Path) -> io::Result<HashMap<usize, ObjectId>> {
    let mut marks = HashMap::new();
    for line in io::BufReader::new(File::open(path)?).lines() {
        let line = line?;
        let parsed = line.strip_prefix(':').and_then(|rest| rest.split_once(' '));
        if let Some((mark, id)) = parsed
            && let (Ok(mark), Ok(id)) = (mark.parse(), id.parse())
        {
            marks.insert(mark, id);
        }
    }
    Ok(marks)
}
