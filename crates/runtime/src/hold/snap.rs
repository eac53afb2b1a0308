//! The screen of a held process on disk (`screen.snap`), so that adopting it is quick and exact
//! even when the beginning of its output is no longer kept.
//!
//! A snap is a dump of the screen and the offset of the output it stands for. The runner that
//! follows the output saves one when it is quiet or after some megabytes; the next runner loads it
//! and feeds the rest.
//!
//! The file: `COVENSNP`, version `u32`, CRC-32 of all that follows `u32`, offset `u64`, columns
//! `u16`, rows `u16`, and the dump. Numbers are little-endian.

use std::io;

use coven_folder::Durability;
use coven_tape::{TapeEvent, TapeReader};
use coven_terminal::screen::{GridSize, Options, Screen};

use super::folder::HolderFolder;

const SNAP_FILE: &str = "screen.snap";
const SNAP_MAGIC: &[u8; 8] = b"COVENSNP";
const SNAP_VERSION: u32 = 1;

/// After this much output a snap is due even without a quiet moment. Feeding it takes about 50 ms.
pub const SNAP_EVERY: u64 = 4 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenSnap {
    /// The end of the output it stands for.
    pub offset: u64,
    pub size: GridSize,
    pub dump: Vec<u8>,
}

impl ScreenSnap {
    /// A snap of a screen that was fed all output up to `offset`.
    pub fn of(screen: &mut Screen, offset: u64) -> Self {
        Self { offset, size: screen.size(), dump: screen.dump() }
    }

    /// Saves it in place of any older one.
    pub fn save(&self, folder: &HolderFolder) -> io::Result<()> {
        let mut body = Vec::with_capacity(12 + self.dump.len());
        body.extend_from_slice(&self.offset.to_le_bytes());
        body.extend_from_slice(&self.size.columns.to_le_bytes());
        body.extend_from_slice(&self.size.rows.to_le_bytes());
        body.extend_from_slice(&self.dump);
        let mut file = SNAP_MAGIC.to_vec();
        file.extend_from_slice(&SNAP_VERSION.to_le_bytes());
        file.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        file.extend_from_slice(&body);
        Ok(folder.open()?.replace(SNAP_FILE, &file, Durability::Cache)?)
    }

    /// The saved screen, if there is one that holds. A damaged or newer one is as good as none:
    /// the tape has it all.
    pub fn load(folder: &HolderFolder) -> Option<Self> {
        Self::read(&folder.open().ok()?.read(SNAP_FILE).ok()??)
    }

    fn read(file: &[u8]) -> Option<Self> {
        let rest = file.strip_prefix(SNAP_MAGIC)?;
        let (version, rest) = rest.split_first_chunk()?;
        let (crc, body) = rest.split_first_chunk()?;
        if u32::from_le_bytes(*version) != SNAP_VERSION
            || u32::from_le_bytes(*crc) != crc32fast::hash(body)
        {
            return None;
        }
        let (offset, rest) = body.split_first_chunk()?;
        let (columns, rest) = rest.split_first_chunk()?;
        let (rows, dump) = rest.split_first_chunk()?;
        Some(Self {
            offset: u64::from_le_bytes(*offset),
            size: GridSize::new(u16::from_le_bytes(*columns), u16::from_le_bytes(*rows)),
            dump: dump.to_vec(),
        })
    }
}

/// A screen rebuilt from a folder.
pub struct RebuiltScreen {
    /// The screen, with replies off: what was asked then was answered then.
    pub screen: Screen,
    /// The end of the output it was fed.
    pub offset: u64,
    /// Whether every byte since its beginning, or since the snap, was there.
    pub exact: bool,
}

/// Rebuilds the screen of a process from its snap and its tape.
pub fn rebuild(
    folder: &HolderFolder,
    options: &Options,
) -> Result<RebuiltScreen, coven_tape::Error> {
    let snap = ScreenSnap::load(folder);
    let size = snap.as_ref().map_or(options.size, |snap| snap.size);
    let mut screen = Screen::with_options(&Options { size, replies: false, ..options.clone() });
    let begin = snap.as_ref().map_or(0, |snap| snap.offset);
    if let Some(snap) = &snap {
        screen.feed(&snap.dump);
        screen.take_signals();
    }
    let reader = TapeReader::open(folder.path())?;
    let mut rebuilt = RebuiltScreen { screen, offset: begin, exact: true };
    // Sizes at the very offset of the snap came before it; only the last may not be in it.
    let mut size_at_begin = None;
    for record in reader.records(begin) {
        let record = record?;
        if record.end() > rebuilt.offset
            && let Some(size) = size_at_begin.take()
        {
            rebuilt.screen.resize(size);
        }
        match &record.event {
            TapeEvent::Resize { cols, rows } if record.offset == begin => {
                size_at_begin = Some(GridSize::new(*cols, *rows));
            }
            TapeEvent::Resize { cols, rows } => rebuilt.screen.resize(GridSize::new(*cols, *rows)),
            TapeEvent::Output { bytes, .. } if record.end() > rebuilt.offset => {
                rebuilt.exact &= record.offset <= rebuilt.offset;
                let skip = rebuilt.offset.saturating_sub(record.offset) as usize;
                rebuilt.screen.feed(&bytes[skip..]);
                rebuilt.offset = record.end();
            }
            TapeEvent::Gap(_) if record.end() > rebuilt.offset => {
                rebuilt.exact = false;
                rebuilt.offset = record.end();
            }
            _ => {}
        }
    }
    if let Some(size) = size_at_begin {
        rebuilt.screen.resize(size);
    }
    rebuilt.screen.take_signals();
    Ok(rebuilt)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_snap_is_read_as_it_was_saved_and_never_half() {
        let directory = tempfile::tempdir().unwrap();
        let folder = HolderFolder::new(fs::canonicalize(directory.path()).unwrap());
        assert_eq!(ScreenSnap::load(&folder), None);
        let mut screen = Screen::new(GridSize::new(40, 5));
        screen.feed("\x1b[?1049h\x1b[31m漢字 half \x1b[3".as_bytes());
        let snap = ScreenSnap::of(&mut screen, 77);
        snap.save(&folder).unwrap();
        assert_eq!(ScreenSnap::load(&folder), Some(snap));

        let path = directory.path().join("screen.snap");
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            assert_eq!(ScreenSnap::read(&whole[..length]), None, "cut at {length}");
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            assert_eq!(ScreenSnap::read(&flipped), None, "flipped at {at}");
        }
    }
}
