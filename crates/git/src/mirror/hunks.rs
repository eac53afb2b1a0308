//! The lines of one file that differ.

use std::path::{Path, PathBuf};

use super::Mirror;
use super::changes::MAX_FILE_BYTES;
use crate::{Commit, Error, ObjectId};

/// How one file differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileDiff {
    Lines(Vec<Hunk>),
    Binary,
    /// One side has more than 512 KiB.
    TooLarge,
}

/// Lines that differ, with those around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    pub old_start: u32,
    pub new_start: u32,
    pub lines: Vec<HunkLine>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkLine {
    pub kind: LineKind,
    /// Its number before; `None` for an added line.
    pub old: Option<u32>,
    /// Its number after; `None` for a removed line.
    pub new: Option<u32>,
    /// Without the line feed. Bytes that are no UTF-8 are replaced.
    pub text: String,
    /// Whether the file ends here without a line feed.
    pub no_line_feed: bool,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

impl Mirror {
    /// How one file differs between two commits; `old_path` is where it was, if it was renamed.
    pub fn file_diff(
        &self,
        from: &Commit,
        to: &Commit,
        path: &Path,
        old_path: Option<&Path>,
    ) -> Result<FileDiff, Error> {
        let paths: Vec<PathBuf> = old_path.into_iter().chain([path]).map(Path::to_owned).collect();
        if self.largest(from, to, &paths)? > MAX_FILE_BYTES {
            return Ok(FileDiff::TooLarge);
        }
        let line = self.patch_line().arg(from).arg(to).arg("--").args(&paths);
        let output = self.git.read(line)?;
        Ok(parse(&output))
    }

    /// The bytes of a file of a commit; nothing if there is none, it is no plain file, or it is too
    /// large to be shown.
    pub fn file(&self, commit: &Commit, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        let line = self.line().args(["ls-tree", "-z", "--full-tree"]).arg(commit);
        let output = self.git.read(line.arg("--").arg(path))?;
        let Some(about) = crate::fields(&output).next() else { return Ok(None) };
        let about = about.split(|byte| *byte == b'\t').next().unwrap_or_default();
        let id = about.rsplit(|byte| *byte == b' ').next().and_then(ObjectId::from_bytes);
        let Some(id) = id.filter(|_| about.starts_with(b"100")) else { return Ok(None) };
        let size = self.sizes(std::slice::from_ref(&id))?.remove(&id);
        if size.is_none_or(|size| size > MAX_FILE_BYTES) {
            return Ok(None);
        }
        self.blob(&id).map(Some)
    }

    fn largest(&self, from: &Commit, to: &Commit, paths: &[PathBuf]) -> Result<u64, Error> {
        let mut ids: Vec<ObjectId> = Vec::new();
        for commit in [from, to] {
            let line = self.line().args(["ls-tree", "-z", "--full-tree"]).arg(commit);
            let output = self.git.read(line.arg("--").args(paths))?;
            ids.extend(crate::fields(&output).filter_map(|field| {
                let about = field.split(|byte| *byte == b'\t').next()?;
                ObjectId::from_bytes(about.rsplit(|byte| *byte == b' ').next()?)
            }));
        }
        Ok(self.sizes(&ids)?.into_values().max().unwrap_or(0))
    }
}

fn parse(output: &[u8]) -> FileDiff {
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut old, mut new) = (0, 0);
    // How many lines the hunk still has; a header of the next file begins where it is over.
    let (mut old_left, mut new_left) = (0, 0);
    for line in output.strip_suffix(b"\n").unwrap_or(output).split(|byte| *byte == b'\n') {
        if old_left == 0 && new_left == 0 {
            if line.starts_with(b"Binary files ") || line.starts_with(b"GIT binary patch") {
                return FileDiff::Binary;
            }
            if let Some(header) = Header::parse(line) {
                (old, new) = (header.old, header.new);
                (old_left, new_left) = (header.old_count, header.new_count);
                hunks.push(Hunk { old_start: old, new_start: new, lines: Vec::new() });
                continue;
            }
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        if line.starts_with(b"\\ ") {
            if let Some(last) = hunk.lines.last_mut() {
                last.no_line_feed = true;
            }
            continue;
        }
        if old_left == 0 && new_left == 0 {
            continue;
        }
        let kind = match line.first() {
            Some(b'+') => LineKind::Added,
            Some(b'-') => LineKind::Removed,
            _ => LineKind::Context,
        };
        let text = String::from_utf8_lossy(line.get(1..).unwrap_or_default()).into_owned();
        let numbers =
            ((kind != LineKind::Added).then_some(old), (kind != LineKind::Removed).then_some(new));
        if numbers.0.is_some() {
            old += 1;
            old_left -= 1;
        }
        if numbers.1.is_some() {
            new += 1;
            new_left -= 1;
        }
        hunk.lines.push(HunkLine {
            kind,
            old: numbers.0,
            new: numbers.1,
            text,
            no_line_feed: false,
        });
    }
    FileDiff::Lines(hunks)
}

/// `@@ -old,count +new,count @@`.
struct Header {
    old: u32,
    old_count: u32,
    new: u32,
    new_count: u32,
}

impl Header {
    fn parse(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line);
        let mut words = text.strip_prefix("@@ ")?.split(' ');
        let range = |word: &str, sign: char| -> Option<(u32, u32)> {
            let range = word.strip_prefix(sign)?;
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        };
        let (old, old_count) = range(words.next()?, '-')?;
        let (new, new_count) = range(words.next()?, '+')?;
        Some(Self { old, old_count, new, new_count })
    }
}
