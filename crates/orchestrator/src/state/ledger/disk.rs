//! The ledger on disk: a file for each stretch, and one that says whether all is well.
//!
//! ```text
//! head                      `coven feed 1`, the start of the system it was last written in, and
//!                           `clean` or `dirty`; locked by the process that has the ledger
//! 00000000000000000001.feed a stretch, named by its first position: a header and records
//! floor                     the last fact of sessions that have no position any more
//! ```
//!
//! The header and each record have 40 bytes. A record is the session's UUID, the fact's number,
//! the time in milliseconds, a mark, and the CRC-32 of these and of the position, all
//! little-endian. Records are written and not synced: a process that is killed loses none, and
//! after a power cut the ones that are missing were in the newest file. Then, as after writing
//! failed, positions jump.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_folder::best_effort;
use coven_model::Timestamp;
use coven_runtime::machine;
use uuid::Uuid;

use super::{LedgerMark, LedgerPlace, LedgerStretch};

const RECORD_BYTES: usize = 40;
const LEDGER_VERSION: u8 = 1;
const LEDGER_MAGIC: [u8; 7] = *b"covenfd";
const STRETCH_FILE_SUFFIX: &str = ".feed";
const HEAD_FILE: &str = "head";
const FLOOR_FILE: &str = "floor";
const TITLE: &str = "coven feed ";
/// The words have the same length, so that one can be written over the other on a full disk.
const CLEAN: &str = "clean";
const DIRTY: &str = "dirty";

/// The folder of a ledger.
#[derive(Debug)]
pub(super) struct LedgerFolder {
    folder: PathBuf,
    head: File,
    dirty: bool,
}

/// What was found in a folder.
pub(super) struct FoundLedger {
    pub(super) disk: LedgerFolder,
    pub(super) stretches: Vec<LedgerStretch>,
    pub(super) floor: BTreeMap<Uuid, u64>,
    /// Whether positions may have been told that are not here.
    pub(super) may_have_lost: bool,
}

impl LedgerFolder {
    pub(super) fn open(folder: &Path) -> io::Result<FoundLedger> {
        fs::create_dir_all(folder)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let head = options.open(folder.join(HEAD_FILE))?;
        match head.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("{} is in use by another process", folder.display());
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let text = fs::read_to_string(folder.join(HEAD_FILE))?;
        let mut lines = text.lines();
        if let Some(version) = lines.next().and_then(|line| line.strip_prefix(TITLE))
            && version.parse::<u32>().is_ok_and(|version| version > u32::from(LEDGER_VERSION))
        {
            return Err(newer(folder));
        }
        let same_boot = lines.next() == Some(boot_id().as_str());
        let clean = lines.next() == Some(CLEAN);
        let mut disk = Self { folder: folder.to_owned(), head, dirty: false };
        let stretches = disk.stretches()?;
        let all_well = same_boot && clean;
        let may_have_lost = !all_well && !stretches.is_empty();
        if stretches.is_empty() {
            disk.settle()?;
        }
        Ok(FoundLedger { floor: disk.read_floor(), disk, stretches, may_have_lost })
    }

    fn stretches(&self) -> io::Result<Vec<LedgerStretch>> {
        let names = fs::read_dir(&self.folder)?.flatten().map(|entry| entry.file_name());
        let mut firsts: Vec<u64> = names
            .filter_map(|name| name.to_str()?.strip_suffix(STRETCH_FILE_SUFFIX)?.parse().ok())
            .filter(|first| *first > 0)
            .collect();
        firsts.sort_unstable();
        firsts.into_iter().map(|first| self.read_stretch(first)).collect()
    }

    fn path(&self, first: u64) -> PathBuf {
        stretch_path(&self.folder, first)
    }

    /// Reads a stretch up to where it is torn, and cuts it there: no subscriber was told of what
    /// comes then, or the whole ledger jumps.
    fn read_stretch(&self, first: u64) -> io::Result<LedgerStretch> {
        let path = self.path(first);
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        let bytes = fs::read(&path)?;
        if bytes.starts_with(&LEDGER_MAGIC)
            && bytes.get(LEDGER_MAGIC.len()).is_some_and(|is| *is > LEDGER_VERSION)
        {
            return Err(newer(&path));
        }
        let mut places = Vec::new();
        if bytes.get(..RECORD_BYTES) == Some(&header(first)[..]) {
            for (record, position) in bytes[RECORD_BYTES..].chunks(RECORD_BYTES).zip(first..) {
                let Some(place) = decode(record, position) else { break };
                places.push(place);
            }
        } else {
            file.write_all_at(&header(first), 0)?;
        }
        let whole = RECORD_BYTES * (places.len() + 1);
        if bytes.len() != whole {
            file.set_len(whole as u64)?;
        }
        let written = places.len();
        Ok(LedgerStretch { first, places, file: Some(Arc::new(file)), written })
    }

    /// Makes the file of a new stretch, so that its first position is taken whatever happens.
    pub(super) fn begin(&mut self, stretch: &mut LedgerStretch) -> io::Result<()> {
        stretch.file = Some(Arc::new(make_stretch(&self.folder, stretch.first)?));
        Ok(())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes what is not written yet. If that fails, the folder says so as well as it can, and it
    /// is tried again the next time.
    pub(super) fn write(&mut self, stretches: &mut VecDeque<LedgerStretch>) {
        let result = self.try_write(stretches);
        if result.is_ok() == self.dirty {
            self.dirty = result.is_err();
            // On a full disk this still works, because nothing becomes longer.
            best_effort("write the head of the feed", self.write_head());
        }
    }

    fn try_write(&mut self, stretches: &mut VecDeque<LedgerStretch>) -> io::Result<()> {
        let newest = stretches.len().saturating_sub(1);
        for (at, stretch) in stretches.iter_mut().enumerate() {
            let complete = stretch.written == stretch.places.len();
            if complete && (stretch.file.is_some() || stretch.places.is_empty()) {
                continue;
            }
            if stretch.file.is_none() {
                self.begin(stretch)?;
            }
            let Some(file) = &stretch.file else { continue };
            let mut bytes = Vec::with_capacity(RECORD_BYTES);
            let from = stretch.written;
            for (place, position) in
                stretch.places[from..].iter().zip(stretch.first + from as u64..)
            {
                bytes.extend_from_slice(&encode(place, position));
            }
            // Where half a record was written before, it is written over.
            file.write_all_at(&bytes, (RECORD_BYTES * (from + 1)) as u64)?;
            stretch.written = stretch.places.len();
            // One that the disk did not take in time, and that others follow.
            if at < newest {
                file.sync_data()?;
            }
        }
        Ok(())
    }

    pub(super) fn remove(&self, first: u64) {
        // What stays is dropped the next time.
        best_effort("remove old positions of the feed", fs::remove_file(self.path(first)));
    }

    /// Says that all is well, as of this start of the system.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        self.dirty = false;
        self.write_head()?;
        self.head.sync_all()
    }

    fn write_head(&self) -> io::Result<()> {
        let word = if self.dirty { DIRTY } else { CLEAN };
        let text = format!("{TITLE}{LEDGER_VERSION}\n{}\n{word}\n", boot_id());
        self.head.write_all_at(text.as_bytes(), 0)
    }

    pub(super) fn write_floor(&self, floor: &BTreeMap<Uuid, u64>) {
        let text: String =
            floor.iter().map(|(session, seq)| format!("{session} {seq}\n")).collect();
        let draft = self.folder.join("floor.new");
        // If it cannot be written, facts of a session that was silent for very long may be told a
        // second time.
        let written = fs::write(&draft, text);
        let written = written.and_then(|()| fs::rename(&draft, self.folder.join(FLOOR_FILE)));
        best_effort("write which facts were dropped from the feed", written);
    }

    fn read_floor(&self) -> BTreeMap<Uuid, u64> {
        let text = fs::read_to_string(self.folder.join(FLOOR_FILE)).unwrap_or_default();
        let line = |line: &str| {
            let (session, seq) = line.split_once(' ')?;
            Some((session.parse().ok()?, seq.parse().ok()?))
        };
        text.lines().filter_map(line).collect()
    }
}

impl Drop for LedgerFolder {
    fn drop(&mut self) {
        // Closing the file would not do: a process that is just being started has it open too.
        best_effort("unlock the feed", self.head.unlock());
    }
}

fn stretch_path(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:020}{STRETCH_FILE_SUFFIX}"))
}

/// Makes the file of a new stretch, on the disk with its name.
pub(super) fn make_stretch(folder: &Path, first: u64) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    let file = options.open(stretch_path(folder, first))?;
    file.write_all_at(&header(first), 0)?;
    file.sync_all()?;
    File::open(folder)?.sync_all()?;
    Ok(file)
}

fn newer(path: &Path) -> io::Error {
    let message =
        format!("{} was written by a newer version: use the newer program", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn boot_id() -> String {
    let id = machine::boot_id().unwrap_or_default();
    // The length never changes, because it is written over.
    format!("{id:<36.36}")
}

fn header(first: u64) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..7].copy_from_slice(&LEDGER_MAGIC);
    bytes[7] = LEDGER_VERSION;
    bytes[8..16].copy_from_slice(&first.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..36]);
    bytes[36..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn checksum(record: &[u8], position: u64) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(record);
    hasher.update(&position.to_le_bytes());
    hasher.finalize()
}

fn encode(place: &LedgerPlace, position: u64) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..16].copy_from_slice(place.session.as_bytes());
    bytes[16..24].copy_from_slice(&place.seq.to_le_bytes());
    bytes[24..32].copy_from_slice(&place.time.as_millis().to_le_bytes());
    bytes[32] = match place.mark {
        LedgerMark::None => 0,
        LedgerMark::Over => 1,
        LedgerMark::Deleted => 2,
    };
    let sum = checksum(&bytes[..36], position);
    bytes[36..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn decode(record: &[u8], position: u64) -> Option<LedgerPlace> {
    let number =
        |from: usize| Some(u64::from_le_bytes(record.get(from..from + 8)?.try_into().ok()?));
    let sum = u32::from_le_bytes(record.get(36..RECORD_BYTES)?.try_into().ok()?);
    if sum != checksum(&record[..36], position) {
        return None;
    }
    Some(LedgerPlace {
        session: Uuid::from_slice(record.get(..16)?).ok()?,
        seq: number(16)?,
        time: Timestamp::from_millis(number(24)?),
        mark: match record[32] {
            1 => LedgerMark::Over,
            2 => LedgerMark::Deleted,
            _ => LedgerMark::None,
        },
    })
}
