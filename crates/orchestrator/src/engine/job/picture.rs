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
use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coven_folder::OpenFolder;

use super::look::FolderLook;

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
    /// The paths are bytes, because comparing them part by part takes longer than all the rest.
    entries: BTreeMap<Vec<u8>, FileMetadata>,
    /// There was more than was looked at.
    capped: bool,
}

/// How much a picture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PictureSize {
    pub(super) files: usize,
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
    pub(super) fn take(folder: &Path, without: &BTreeSet<PathBuf>, look: &FolderLook) -> Self {
        Self::take_most(folder, without, MAX_FILES, look)
    }

    fn take_most(
        folder: &Path,
        without: &BTreeSet<PathBuf>,
        most: usize,
        look: &FolderLook,
    ) -> Self {
        let mut picture = Self::default();
        let Ok(root) = fs::canonicalize(folder) else { return picture };
        let Ok(metadata) = fs::symlink_metadata(&root) else { return picture };
        let device = metadata.dev();
        let without: BTreeSet<&[u8]> =
            without.iter().filter_map(|path| path.strip_prefix(&root).ok()).map(bytes).collect();
        let mut found = vec![(b".".to_vec(), FileMetadata::new(&metadata))];
        // Folders that are still to be looked at, relative to the root.
        let mut folders: Vec<Vec<u8>> = vec![Vec::new()];
        'folders: while let Some(folder) = folders.pop() {
            let at = root.join(std::ffi::OsStr::from_bytes(&folder));
            let Ok(children) = fs::read_dir(at) else { continue };
            let mut children: Vec<fs::DirEntry> = children.flatten().collect();
            // Always in the same order, so that a picture that is cut is cut at the same place.
            children.sort_by_cached_key(fs::DirEntry::file_name);
            for child in children {
                let mut path = folder.clone();
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.append(&mut child.file_name().into_vec());
                // Looks from the open folder, and not through the whole path again.
                let Ok(metadata) = child.metadata() else { continue };
                let objects = path == b".git/objects" || path.ends_with(b"/.git/objects");
                if objects || without.contains(&*path) || metadata.dev() != device {
                    continue;
                }
                if found.len() == most {
                    picture.capped = true;
                    break 'folders;
                }
                if metadata.is_dir() {
                    folders.push(path.clone());
                }
                found.push((path, FileMetadata::new(&metadata)));
                look.count();
            }
        }
        picture.entries = found.into_iter().collect();
        picture
    }

    pub(super) fn size(&self) -> PictureSize {
        PictureSize { files: self.entries.len(), capped: self.capped }
    }

    /// What differs, in words. Where the job was `confined`, only what that allowed it to change.
    pub(super) fn differences(&self, now: &Self, confined: bool) -> Vec<String> {
        let told = |path: &[u8], what: &str| format!("{} ({what})", shown(path));
        let whole = !self.capped && !now.capped;
        let mut found = Vec::new();
        let mut busy: BTreeSet<&[u8]> = BTreeSet::new();
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
                || (before.is_folder() && busy.contains(&**path));
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
            file.write_all(path)?;
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
        let mut entries = Vec::new();
        for record in records.filter(|record| !record.is_empty()) {
            let end = record.iter().position(|byte| *byte == b'\n')?;
            let (fields, path) = record.split_at(end);
            let entry = FileMetadata::read(std::str::from_utf8(fields).ok()?)?;
            entries.push((path[1..].to_vec(), entry));
        }
        Some(Self { entries: entries.into_iter().collect(), capped })
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// The folder that a path of a picture lies in.
fn parent(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte == b'/');
    end.map_or(b".", |end| &path[..end])
}

/// A path as it may stand in a line of text. The agent named the file, so the name may contain
/// line ends and terminal sequences.
fn shown(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests;
