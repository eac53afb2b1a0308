//! A picture of the metadata of a folder, taken before a job that may only read, and compared with
//! what is there when it has ended.
//!
//! The kernel keeps such a job from changing what files contain and how they are called. It does
//! not keep it from changing modes, owners, times and extended attributes. That cannot be
//! prevented here, but it can be seen: each of these moves the time of the last change, which no
//! program can set back.
//!
//! Others may work in the same folder at the same time. So a difference is told as what it is,
//! something that changed meanwhile; and where the kernel does confine the job, a file whose
//! content changed is left out, because another program must have changed it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coven_folder::OpenFolder;

/// More files than this are not looked at: a picture must not take longer than the job.
const MAX_FILES: usize = 200_000;

/// How many differences are told one by one.
const MAX_LISTED_CHANGES: usize = 50;

/// The file with a picture, in the folder of an attempt, and the file that becomes it.
pub(super) const FILE: &str = "metadata";
const DRAFT: &str = "metadata.new";

/// The first line of the file, with its version.
const HEADER: &str = "coven-metadata 1";

/// The metadata of everything in a folder, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FolderMetadata {
    entries: BTreeMap<PathBuf, FileMetadata>,
    /// There was more than was looked at.
    pub(super) capped: bool,
}

/// What is known of one file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileMetadata {
    mode: u32,
    owner: (u32, u32),
    inode: u64,
    size: u64,
    /// When its content was changed, in nanoseconds.
    modified: i128,
    /// When anything of it was changed. Unlike the time above, programs cannot set this one.
    changed: i128,
}

impl FileMetadata {
    fn new(metadata: &Metadata) -> Self {
        let time = |seconds: i64, nanoseconds: i64| {
            i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
        };
        Self {
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: time(metadata.mtime(), metadata.mtime_nsec()),
            changed: time(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn read(fields: &str) -> Option<Self> {
        let mut fields = fields.split(' ');
        let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
        let owner = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let inode = fields.next()?.parse().ok()?;
        let size = fields.next()?.parse().ok()?;
        let modified = fields.next()?.parse().ok()?;
        let changed = fields.next()?.parse().ok()?;
        Some(Self { mode, owner, inode, size, modified, changed })
    }

    fn is_folder(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    /// What differs between two looks at the same path, in words.
    fn difference(&self, now: &Self) -> String {
        let mut what = Vec::new();
        if self.mode != now.mode {
            what.push(format!("mode {:o} to {:o}", self.mode & 0o7777, now.mode & 0o7777));
        }
        if self.owner != now.owner {
            let (before, after) = (self.owner, now.owner);
            what.push(format!("owner {}:{} to {}:{}", before.0, before.1, after.0, after.1));
        }
        if self.modified != now.modified {
            what.push("times".to_owned());
        }
        if what.is_empty() {
            what.push("attributes, or something that was set back".to_owned());
        }
        what.join(", ")
    }
}

impl FolderMetadata {
    /// Looks at everything below a folder, but for what lies in one of `without`, what git keeps
    /// its objects in, and other file systems. What cannot be looked at is left out: a job with
    /// our rights cannot get there either.
    pub(super) fn take(folder: &Path, without: &BTreeSet<PathBuf>) -> Self {
        Self::take_most(folder, without, MAX_FILES)
    }

    fn take_most(folder: &Path, without: &BTreeSet<PathBuf>, most: usize) -> Self {
        let mut picture = Self::default();
        let Ok(root) = fs::canonicalize(folder) else { return picture };
        let Ok(metadata) = fs::symlink_metadata(&root) else { return picture };
        let device = metadata.dev();
        picture.entries.insert(PathBuf::from("."), FileMetadata::new(&metadata));
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            let Ok(children) = fs::read_dir(&folder) else { continue };
            let mut children: Vec<PathBuf> = children.flatten().map(|child| child.path()).collect();
            // Always in the same order, so that a picture that is cut is cut at the same place.
            children.sort_unstable();
            for path in children {
                let objects = path.ends_with(".git/objects");
                let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
                if objects || without.contains(&path) || metadata.dev() != device {
                    continue;
                }
                if picture.entries.len() == most {
                    picture.capped = true;
                    return picture;
                }
                let relative = path.strip_prefix(&root).unwrap_or(&path).to_owned();
                picture.entries.insert(relative, FileMetadata::new(&metadata));
                if metadata.is_dir() {
                    folders.push(path);
                }
            }
        }
        picture
    }

    /// How many files and folders it has.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What differs, in words. Where the job was `confined`, only what that allowed it to change.
    pub(super) fn differences(&self, now: &Self, confined: bool) -> Vec<String> {
        let told = |path: &Path, what: &str| format!("{} ({what})", shown(path));
        let whole = !self.capped && !now.capped;
        let mut found = Vec::new();
        let mut busy: BTreeSet<&Path> = BTreeSet::new();
        for path in self.entries.keys().filter(|path| !now.entries.contains_key(*path)) {
            busy.insert(parent(path));
            if !confined && whole {
                found.push(told(path, "gone"));
            }
        }
        for path in now.entries.keys().filter(|path| !self.entries.contains_key(*path)) {
            busy.insert(parent(path));
            if !confined && whole {
                found.push(told(path, "new"));
            }
        }
        for (path, before) in &self.entries {
            let Some(after) = now.entries.get(path).filter(|after| *after != before) else {
                continue;
            };
            let rights = (before.mode, before.owner) != (after.mode, after.owner);
            let content = (before.inode, before.size) != (after.inode, after.size)
                || (before.is_folder() && busy.contains(path.as_path()));
            if rights || (!content && before.changed != after.changed) {
                found.push(told(path, &before.difference(after)));
            } else if content && !confined && !before.is_folder() {
                found.push(told(path, "content"));
            }
        }
        found.sort_unstable();
        let more = found.len().saturating_sub(MAX_LISTED_CHANGES);
        if more > 0 {
            found.truncate(MAX_LISTED_CHANGES);
            found.push(format!("and {more} more"));
        }
        found
    }

    /// Writes it to the folder of an attempt: the process that sees the end of the job may be
    /// another one.
    pub(super) fn save(&self, folder: &OpenFolder) -> io::Result<()> {
        let mut file = io::BufWriter::new(folder.create_anew(DRAFT)?);
        write!(file, "{HEADER} {}\0", if self.capped { "capped" } else { "whole" })?;
        for (path, entry) in &self.entries {
            let FileMetadata { mode, owner, inode, size, modified, changed } = entry;
            let (user, group) = owner;
            writeln!(file, "{mode:o} {user} {group} {inode} {size} {modified} {changed}")?;
            file.write_all(path.as_os_str().as_bytes())?;
            file.write_all(&[0])?;
        }
        file.flush()?;
        Ok(folder.rename(DRAFT, folder, FILE)?)
    }

    /// Reads it back; nothing if it is not there or not ours to read.
    pub(super) fn load(folder: &OpenFolder) -> Option<Self> {
        let bytes = folder.read(FILE).ok()??;
        let mut records = bytes.split(|byte| *byte == 0);
        let header = std::str::from_utf8(records.next()?).ok()?;
        let capped = header.strip_prefix(HEADER)?.trim() == "capped";
        let mut entries = BTreeMap::new();
        for record in records.filter(|record| !record.is_empty()) {
            let end = record.iter().position(|byte| *byte == b'\n')?;
            let (fields, path) = record.split_at(end);
            let entry = FileMetadata::read(std::str::from_utf8(fields).ok()?)?;
            entries.insert(PathBuf::from(OsStr::from_bytes(&path[1..])), entry);
        }
        Some(Self { entries, capped })
    }
}

/// The folder that a path of a picture lies in.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A path as it may stand in a line of text. The agent named the file, so the name may contain
/// line ends and terminal sequences.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests;
