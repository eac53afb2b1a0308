//! A register: small entries that must outlast a crash, one a line, in a file of the state folder.
//!
//! The lines are framed as in a journal, and the first says what the file is and its version. The
//! file only grows, and now and then its owner, who has all that still counts in memory, has it
//! written anew. So a file that was deleted, or that could not be written to for a while, comes
//! back by itself.
//!
//! A last line that is torn was never relied on and is cut off. Another line that cannot be read is
//! left out, and a copy of the whole file stays beside it as `NAME.damaged`. What a newer version
//! wrote is not read, and never written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use coven_folder::{
    Durability, FileError, OpenFolder, OpenObstacle, absent_is_none, best_effort, disk_wait,
    same_file,
};
use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::journal::{encode_line, read_line};
use crate::layout::make_private_path;

/// The version that is written.
const REGISTER_VERSION: u32 = 1;

/// So many lines may be superfluous before the file is written anew.
const MAX_STALE_LINES: usize = 1000;

/// A register cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// Something cannot be reached.
    #[error(transparent)]
    File(#[from] FileError),
    /// A newer program wrote it.
    #[error("{file} has version {version}, newer than this program writes ({REGISTER_VERSION})")]
    Newer { file: String, version: u32 },
    /// An entry cannot be a line: a mistake of the caller.
    #[error("an entry of {file} cannot be written: {why}")]
    Entry { file: String, why: String },
}

/// When an entry is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurableWhen {
    /// When it was added.
    Now,
    /// When the system gets to it: a process that is killed loses nothing, a power cut may.
    Later,
}

#[derive(Serialize, Deserialize)]
struct RegisterHeader {
    coven: String,
    v: u32,
}

/// A file of framed lines with one writer: the process that holds the lock of the base directory
/// that it is about.
#[derive(Debug)]
pub struct Register {
    folder: PathBuf,
    name: &'static str,
    state: RegisterState,
}

#[derive(Debug)]
enum RegisterState {
    /// It may be added to.
    Open {
        file: File,
        end: u64,
        lines: usize,
    },
    /// It has to be written anew first: there is none, or what it ends with is not known.
    Anew,
    Newer(u32),
}

impl Register {
    /// Opens a register in a folder, which is made with the first entry, and reads all that is in
    /// it.
    pub fn open<T: DeserializeOwned>(
        folder: &Path,
        name: &'static str,
    ) -> Result<(Self, Vec<T>), FileError> {
        let mut register = Self { folder: folder.to_owned(), name, state: RegisterState::Anew };
        let Some(folder) = absent_is_none(OpenFolder::open(folder))? else {
            return Ok((register, Vec::new()));
        };
        let Some(bytes) = folder.read(name)? else { return Ok((register, Vec::new())) };
        let read = RegisterContent::of(name, &bytes);
        if let Some(version) = read.newer {
            register.state = RegisterState::Newer(version);
        } else if read.damaged {
            let copy = format!("{name}.damaged");
            folder.replace(&copy, &bytes, Durability::Synced)?;
        } else {
            match folder.file(name, OFlags::WRONLY) {
                Ok(file) => {
                    file.set_len(read.end).map_err(|source| folder.error("write", name, source))?;
                    register.state = RegisterState::Open { file, end: read.end, lines: read.lines };
                }
                // It is written anew, which leaves the file behind the other name as it is.
                Err(error) if error.obstacle == OpenObstacle::HardLink => {}
                Err(error) => return Err(error),
            }
        }
        Ok((register, read.entries))
    }

    /// Reads all that is in a register and changes nothing.
    pub fn read<T: DeserializeOwned>(
        folder: &Path,
        name: &'static str,
    ) -> Result<Vec<T>, FileError> {
        let Some(folder) = absent_is_none(OpenFolder::open(folder))? else { return Ok(Vec::new()) };
        let bytes = folder.read(name)?.unwrap_or_default();
        Ok(RegisterContent::of(name, &bytes).entries)
    }

    /// Adds entries. If it is time, or there is no other way, the whole register is written anew
    /// from `all`, which must tell everything that counts, these entries included.
    ///
    /// When this fails, none of them is there.
    pub fn add<T: Serialize>(
        &mut self,
        entries: &[T],
        when: DurableWhen,
        all: impl FnOnce() -> Vec<T>,
    ) -> Result<(), RegisterError> {
        let in_place = self.is_in_place()?;
        match &mut self.state {
            RegisterState::Newer(version) => {
                let (file, version) = (self.name.to_owned(), *version);
                Err(RegisterError::Newer { file, version })
            }
            RegisterState::Open { file, end, lines } if in_place => {
                let bytes = encode(self.name, entries)?;
                let written = file.write_all_at(&bytes, *end).and_then(|()| match when {
                    DurableWhen::Now => {
                        disk_wait::check("syncing a register");
                        file.sync_data()
                    }
                    DurableWhen::Later => Ok(()),
                });
                if let Err(source) = written {
                    // Whether or not it can be taken back, nothing is added behind it.
                    best_effort("take back a line that was not written", file.set_len(*end));
                    self.state = RegisterState::Anew;
                    return Err(FileError::new("write", &self.path(), source).into());
                }
                *end += bytes.len() as u64;
                *lines += entries.len();
                if *lines > MAX_STALE_LINES {
                    let all = all();
                    if *lines > 2 * all.len() + MAX_STALE_LINES {
                        // What was added is there already, so this can wait if it fails.
                        best_effort("rewrite a register without old lines", self.rewrite(&all));
                    }
                }
                Ok(())
            }
            RegisterState::Open { .. } | RegisterState::Anew => self.rewrite(&all()),
        }
    }

    /// Adds one entry to those that `before` tells, which are written with it where the whole
    /// register is written anew.
    pub fn add_one<T: Serialize + Clone>(
        &mut self,
        entry: &T,
        when: DurableWhen,
        before: impl FnOnce() -> Vec<T>,
    ) -> Result<(), RegisterError> {
        self.add(std::slice::from_ref(entry), when, || {
            let mut all = before();
            all.push(entry.clone());
            all
        })
    }

    fn path(&self) -> PathBuf {
        self.folder.join(self.name)
    }

    /// Whether the file is still where it was opened.
    fn is_in_place(&self) -> Result<bool, FileError> {
        let RegisterState::Open { file, .. } = &self.state else { return Ok(false) };
        let failed =
            |errno: rustix::io::Errno| FileError::new("look at", &self.path(), errno.into());
        let ours = rustix::fs::fstat(file).map_err(failed)?;
        // By its path and not by its folder: that may have been deleted and made again.
        match rustix::fs::lstat(self.path()) {
            Ok(there) => Ok(same_file(&ours, &there)),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(false),
            Err(errno) => Err(failed(errno)),
        }
    }

    fn rewrite<T: Serialize>(&mut self, all: &[T]) -> Result<(), RegisterError> {
        let header = RegisterHeader { coven: self.name.to_owned(), v: REGISTER_VERSION };
        let mut bytes = encode(self.name, &[header])?;
        bytes.extend_from_slice(&encode(self.name, all)?);
        // The folder may have been deleted since it was opened.
        let folder = make_private_path(&self.folder)?;
        folder.replace(self.name, &bytes, Durability::Synced)?;
        let opened = absent_is_none(folder.file(self.name, OFlags::WRONLY))?;
        self.state = match opened {
            Some(file) => RegisterState::Open { file, end: bytes.len() as u64, lines: all.len() },
            None => RegisterState::Anew,
        };
        Ok(())
    }
}

/// What the bytes of a register say.
struct RegisterContent<T> {
    entries: Vec<T>,
    lines: usize,
    /// Where the last whole line ends.
    end: u64,
    damaged: bool,
    /// The version, if a newer program wrote it; then nothing else is known.
    newer: Option<u32>,
}

impl<T: DeserializeOwned> RegisterContent<T> {
    fn of(name: &str, bytes: &[u8]) -> Self {
        let mut content =
            Self { entries: Vec::new(), lines: 0, end: 0, damaged: false, newer: None };
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let header: Option<RegisterHeader> = lines.next().and_then(json);
        let Some(header) = header.filter(|header| header.coven == name) else {
            content.damaged = true;
            return content;
        };
        if header.v > REGISTER_VERSION {
            content.newer = Some(header.v);
            return content;
        }
        for line in lines {
            match json(line) {
                Some(entry) => content.entries.push(entry),
                // Only the last line can be one that was cut short.
                None if line.last() != Some(&b'\n') => break,
                None => content.damaged = true,
            }
            content.lines += 1;
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        content.end = whole as u64;
        content
    }
}

fn json<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(read_line(line).ok()?).ok()
}

fn encode<T: Serialize>(name: &str, entries: &[T]) -> Result<Vec<u8>, RegisterError> {
    let mut bytes = Vec::new();
    for entry in entries {
        let json = serde_json::to_vec(entry).map_err(|error: serde_json::Error| {
            let (file, why) = (name.to_owned(), io::Error::from(error).to_string());
            RegisterError::Entry { file, why }
        })?;
        encode_line(&json, &mut bytes);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    const NAME: &str = "register.jsonl";

    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap() }
        }

        fn open(&self) -> (Register, Vec<String>) {
            Register::open(&self.path(), NAME).unwrap()
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("state")
        }

        fn file(&self) -> PathBuf {
            self.path().join(NAME)
        }

        fn with(entries: &[&str]) -> Self {
            let place = Self::new();
            let (mut register, _) = place.open();
            let mut all: Vec<String> = Vec::new();
            for entry in entries {
                all.push((*entry).to_owned());
                register.add(&all[all.len() - 1..], DurableWhen::Now, || all.clone()).unwrap();
            }
            place
        }
    }

    #[test]
    fn what_was_added_is_there_afterwards() {
        assert_eq!(Place::with(&["a", "b"]).open().1, ["a", "b"]);
        assert_eq!(Place::new().open().1, [] as [&str; 0]);
    }

    #[test]
    fn a_torn_last_line_is_cut_and_the_next_entry_takes_its_place() {
        let place = Place::with(&["a", "b"]);
        let bytes = fs::read(place.file()).unwrap();
        fs::write(place.file(), &bytes[..bytes.len() - 3]).unwrap();
        let (mut register, entries) = place.open();
        assert_eq!(entries, ["a"]);
        register
            .add(&["a longer one than was there".to_owned()], DurableWhen::Now, Vec::new)
            .unwrap();
        assert_eq!(place.open().1, ["a", "a longer one than was there"]);
    }

    #[test]
    fn a_damaged_line_hides_no_other_and_the_file_is_kept_aside() {
        let place = Place::with(&["a", "b", "c"]);
        let text = fs::read_to_string(place.file()).unwrap().replace("\"b\"", "\"x\"");
        fs::write(place.file(), &text).unwrap();
        assert_eq!(place.open().1, ["a", "c"]);
        let copy = place.file().with_file_name(format!("{NAME}.damaged"));
        assert_eq!(fs::read_to_string(copy).unwrap(), text);
    }

    #[test]
    fn a_file_that_is_deleted_comes_back_with_everything() {
        let place = Place::with(&["a"]);
        let (mut register, mut all) = place.open();
        fs::remove_dir_all(place.path()).unwrap();
        all.push("b".to_owned());
        register.add(&["b".to_owned()], DurableWhen::Later, || all.clone()).unwrap();
        assert_eq!(place.open().1, ["a", "b"]);
    }

    #[test]
    fn a_file_of_a_newer_version_is_left_alone() {
        let place = Place::new();
        fs::create_dir(place.path()).unwrap();
        let mut bytes = Vec::new();
        encode_line(format!(r#"{{"coven":"{NAME}","v":2}}"#).as_bytes(), &mut bytes);
        fs::write(place.file(), &bytes).unwrap();
        let (mut register, _) = place.open();
        let added = register.add(&["a".to_owned()], DurableWhen::Now, Vec::new);
        assert!(matches!(added, Err(RegisterError::Newer { version: 2, .. })));
        assert_eq!(fs::read(place.file()).unwrap(), bytes);
    }

    #[test]
    fn a_file_with_mostly_superfluous_lines_is_written_anew() {
        let place = Place::new();
        let (mut register, _) = place.open();
        for number in 0..=MAX_STALE_LINES + 3 {
            let entry = vec![number.to_string()];
            register.add(&entry, DurableWhen::Later, || entry.clone()).unwrap();
        }
        assert!(place.open().1.len() < 10);
    }
}
