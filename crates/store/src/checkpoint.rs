//! Up to where the journal of a session must reach, kept in the state folder.
//!
//! A journal that is cut off behind one of its lines is still sealed. So with
//! every fact its number and its tag are written down where a job cannot write. A journal that is
//! shorter, or has another fact there, was changed by another program.
//!
//! The file is overwritten in place and not synced: a process that is killed loses nothing, and
//! after a power cut an older checkpoint counts.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use coven_folder::{Durability, FileError, OpenFolder, OpenObstacle};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::journal::{DamagedJournal, JournalDamage, damaged, encode_line, read_line};
use crate::seal::{SealChain, SealKey, SealTag, hex, read_hex};

/// A name that no task has.
const CHECKPOINT_FILE: &str = ".checkpoint";

/// The version that is written.
const CHECKPOINT_VERSION: u32 = 1;

/// The numbers are padded to this, so that every checkpoint has the same length and a shorter one
/// leaves nothing behind.
const CHECKPOINT_BYTES: usize = 128;

/// The checkpoint of a session whose facts are being recorded. Its file stays open.
#[derive(Debug, Default)]
pub(crate) struct CheckpointFile(Option<File>);

impl CheckpointFile {
    pub(crate) fn write(
        &mut self,
        jobs: &OpenFolder,
        checkpoint: Checkpoint,
    ) -> Result<(), FileError> {
        // One that was deleted has no name any more.
        let named = |file: &File| file.metadata().is_ok_and(|about| about.nlink() > 0);
        let bytes = checkpoint.encode();
        if !self.0.as_ref().is_some_and(named) {
            self.0 = match jobs.file(CHECKPOINT_FILE, OFlags::WRONLY) {
                Ok(file) => Some(file),
                Err(error) if error.obstacle == OpenObstacle::Missing => {
                    return jobs.replace(CHECKPOINT_FILE, &bytes, Durability::Cache);
                }
                Err(error) => return Err(error),
            };
        }
        let written = self.0.as_ref().map_or(Ok(()), |file| file.write_all_at(&bytes, 0));
        written.map_err(|source| {
            self.0 = None;
            jobs.error("write", CHECKPOINT_FILE, source)
        })
    }
}

/// A fact that was recorded for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) seq: u64,
    pub(crate) tag: SealTag,
}

#[derive(Serialize, Deserialize)]
struct CheckpointLine {
    v: u32,
    seq: u64,
    tag: String,
}

impl Checkpoint {
    /// The checkpoint of a session in the folder of its jobs. One that cannot be read, which a power
    /// cut can leave, is none.
    pub(crate) fn read(jobs: &OpenFolder) -> Result<Option<Self>, FileError> {
        let Some(bytes) = jobs.read(CHECKPOINT_FILE)? else { return Ok(None) };
        let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let line: Option<CheckpointLine> =
            read_line(line).ok().and_then(|json| serde_json::from_slice(json).ok());
        Ok(line.and_then(|line| Some(Self { seq: line.seq, tag: read_hex(&line.tag)? })))
    }

    pub(crate) fn write(self, jobs: &OpenFolder) -> Result<(), FileError> {
        CheckpointFile::default().write(jobs, self)
    }

    /// Whether the fact with this number is another one than was recorded.
    pub(crate) fn differs(&self, seq: u64, chain: &SealChain, key: &SealKey) -> bool {
        self.seq == seq && !key.is_tag(chain, &self.tag)
    }

    /// Fails for a journal that ends after a fact before this one.
    pub(crate) fn check_reached(
        &self,
        path: &Path,
        last: u64,
        end: u64,
    ) -> Result<(), DamagedJournal> {
        if last >= self.seq {
            return Ok(());
        }
        let damage = JournalDamage::Shorter { last, sealed: self.seq };
        Err(damaged(path, last + 1, end, damage))
    }

    fn encode(self) -> Vec<u8> {
        let line = CheckpointLine { v: CHECKPOINT_VERSION, seq: self.seq, tag: hex(&self.tag) };
        // A struct of numbers and text always becomes JSON.
        let json = serde_json::to_vec(&line).unwrap_or_default();
        let mut bytes = Vec::new();
        encode_line(&json, &mut bytes);
        bytes.resize(CHECKPOINT_BYTES.max(bytes.len()), b'\n');
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_newest_checkpoint_is_read_and_half_a_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = OpenFolder::open(folder.path()).unwrap();
        assert_eq!(Checkpoint::read(&jobs).unwrap(), None);
        let file = folder.path().join(CHECKPOINT_FILE);
        let mut open = CheckpointFile::default();
        for seq in [1, 2, u64::MAX, 7] {
            let checkpoint = Checkpoint { seq, tag: [3; 16] };
            open.write(&jobs, checkpoint).unwrap();
            assert_eq!(Checkpoint::read(&jobs).unwrap(), Some(checkpoint));
            if seq == u64::MAX {
                fs::remove_file(&file).unwrap();
            }
        }
        let bytes = fs::read(&file).unwrap();
        assert_eq!(bytes.len(), CHECKPOINT_BYTES);
        fs::write(&file, &bytes[..40]).unwrap();
        assert_eq!(Checkpoint::read(&jobs).unwrap(), None);
    }
}
