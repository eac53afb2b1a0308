//! Comments that a person has written and not sent yet, in the user's state folder.
//!
//! All drafts about a tree are about the same state of its files. When another is added after the
//! files have changed, those that are there are looked for by the text of their lines; one whose
//! lines are gone is kept with what they were.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use coven_api::changes::{FileChanges, ReviewComment, ReviewSide};
use serde::{Deserialize, Serialize};

use crate::failure::{CommandFailure, Result};
use crate::folders;

/// The version of the file. One that is newer is left alone.
const VERSION: u32 = 1;

/// The comments about one tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Drafts {
    version: u32,
    /// What the files were compared with when the lines were counted.
    pub(crate) against: String,
    /// The state of the files that the lines were counted in.
    pub(crate) head: String,
    pub(crate) comments: Vec<Draft>,
}

/// One comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Draft {
    pub(crate) comment: ReviewComment,
    /// The lines that it is about, as they were seen.
    pub(crate) lines: Vec<String>,
    /// Whether these lines are gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) outdated: bool,
}

impl Drafts {
    pub(crate) fn new(against: &str, head: &str) -> Self {
        Self {
            version: VERSION,
            against: against.to_owned(),
            head: head.to_owned(),
            comments: Vec::new(),
        }
    }
}

/// The file of the drafts about one tree, held so that no other command writes it meanwhile.
#[derive(Debug)]
pub(crate) struct DraftFile {
    path: PathBuf,
    /// Its lock ends with it.
    _lock: File,
}

impl DraftFile {
    /// Opens the drafts about a tree. `tree` is a task or `@run`, as the daemon names it.
    pub(crate) fn open(session: &str, tree: &str) -> Result<Self> {
        let folder = folders::places()?.state_dir.join("drafts");
        Self::open_in(&folder, session, tree).map_err(|error| {
            CommandFailure::failed(format!("{} cannot be used: {error}", folder.display()))
        })
    }

    fn open_in(folder: &Path, session: &str, tree: &str) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let name = format!("{session}.{tree}").replace('/', "_");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(folder.join(format!("{name}.lock")))?;
        lock.lock()?;
        Ok(Self { path: folder.join(format!("{name}.json")), _lock: lock })
    }

    /// What was written and not sent; nothing if there is none.
    pub(crate) fn read(&self) -> Result<Option<Drafts>> {
        let wrong = |what: String| {
            CommandFailure::failed(format!("{} cannot be read: {what}", self.path.display()))
                .hint("move it away to begin anew")
        };
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(error.to_string())),
        };
        let drafts: Drafts =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if drafts.version > VERSION {
            return Err(wrong(format!("it is of version {}, which is newer", drafts.version)));
        }
        Ok(Some(drafts))
    }

    /// Writes what there is now.
    pub(crate) fn write(&self, drafts: &Drafts) -> Result {
        let text = serde_json::to_string_pretty(drafts).map_err(CommandFailure::failed)?;
        self.replace(text.as_bytes()).map_err(|error| {
            CommandFailure::failed(format!("{} cannot be written: {error}", self.path.display()))
        })
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let mut file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(new, &self.path)
    }

    /// Throws the drafts away.
    pub(crate) fn clear(&self) -> Result {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CommandFailure::failed(
                format!("{} cannot be removed: {error}", self.path.display()),
            )),
            _ => Ok(()),
        }
    }
}

/// The lines of one side that a comment is about, as they are shown; `None` if not all of them are.
pub(crate) fn lines_of(
    file: &FileChanges,
    side: ReviewSide,
    first: u32,
    last: u32,
) -> Option<Vec<String>> {
    (first..=last)
        .map(|number| {
            let mut lines = shown_lines(file, side);
            lines.find(|(at, _)| *at == number).map(|(_, text)| text.to_owned())
        })
        .collect()
}

fn shown_lines(file: &FileChanges, side: ReviewSide) -> impl Iterator<Item = (u32, &str)> {
    file.hunks.iter().flat_map(|hunk| &hunk.lines).filter_map(move |line| {
        let number = match side {
            ReviewSide::Old => line.o,
            ReviewSide::New => line.n,
        };
        Some((number?, line.t.as_str()))
    })
}

/// Finds the lines of a comment in the file as it is now. They may have moved; if they are not
/// there, or more than once, the comment is outdated.
pub(crate) fn anchor(draft: &mut Draft, now: Option<&FileChanges>) {
    let comment = &mut draft.comment;
    let (side, first) = (comment.side, comment.line);
    let last = comment.end_line.unwrap_or(first);
    let found = now.and_then(|now| {
        if lines_of(now, side, first, last).as_ref() == Some(&draft.lines) {
            return Some(first);
        }
        let span = last - first;
        let mut places = shown_lines(now, side)
            .map(|(at, _)| at)
            .filter(|at| lines_of(now, side, *at, at + span).as_ref() == Some(&draft.lines));
        places.next().filter(|_| places.next().is_none())
    });
    match found {
        Some(at) => {
            comment.end_line = comment.end_line.map(|end| at + (end - first));
            comment.line = at;
        }
        None => draft.outdated = true,
    }
}

#[cfg(test)]
mod tests {
    use coven_api::changes::{
        ChangeHunk, ChangeLine, ChangeLineKind, FileChange, FileChangeStatus, FileKind,
    };

    use super::*;

    fn file(lines: &[&str]) -> FileChanges {
        let line = |(place, text): (usize, &&str)| ChangeLine {
            k: ChangeLineKind::Added,
            o: None,
            n: Some(place as u32 + 1),
            t: (*text).to_owned(),
            cr: false,
            end: false,
        };
        FileChanges {
            tree: "build.1".into(),
            base: "0".repeat(40),
            head: "1".repeat(40),
            file: FileChange {
                path: "a".into(),
                old: None,
                status: FileChangeStatus::Added,
                kind: FileKind::File,
                added: lines.len() as u64,
                removed: 0,
                binary: false,
                too_large: false,
                mode: None,
            },
            hunks: vec![ChangeHunk {
                old_start: 0,
                new_start: 1,
                lines: lines.iter().enumerate().map(line).collect(),
            }],
            cut: false,
            marked: false,
        }
    }

    fn draft(line: u32, end: Option<u32>, lines: &[&str]) -> Draft {
        Draft {
            comment: ReviewComment {
                path: "a".into(),
                side: ReviewSide::New,
                line,
                end_line: end,
                text: "why?".into(),
            },
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            outdated: false,
        }
    }

    #[test]
    fn a_comment_follows_its_lines_and_is_outdated_when_they_are_gone() {
        let mut moved = draft(1, Some(2), &["one", "two"]);
        anchor(&mut moved, Some(&file(&["new", "one", "two"])));
        assert_eq!((moved.comment.line, moved.comment.end_line), (2, Some(3)));
        assert!(!moved.outdated);
        let mut same = draft(2, None, &["x"]);
        anchor(&mut same, Some(&file(&["x", "x"])));
        assert_eq!((same.comment.line, same.outdated), (2, false), "where it was");
        let mut twice = draft(3, None, &["x"]);
        anchor(&mut twice, Some(&file(&["x", "x"])));
        assert!(twice.outdated, "which of the two cannot be known");
        let mut gone = draft(1, None, &["one"]);
        anchor(&mut gone, None);
        assert!(gone.outdated);
    }

    #[test]
    fn drafts_are_kept_until_they_are_cleared_and_newer_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let open = || DraftFile::open_in(&folder.path().join("drafts"), "id", "build.1").unwrap();
        assert_eq!(open().read().unwrap(), None);
        let mut drafts = Drafts::new("base", "11");
        drafts.comments.push(draft(1, None, &["one"]));
        open().write(&drafts).unwrap();
        assert_eq!(open().read().unwrap(), Some(drafts.clone()));
        drafts.version = 2;
        open().write(&drafts).unwrap();
        assert!(open().read().is_err());
        open().clear().unwrap();
        assert_eq!(open().read().unwrap(), None);
        open().clear().unwrap();
    }
}
