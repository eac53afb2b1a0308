//! The number of a journal's last fact, from its end alone.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use coven_folder::OpenFolder;
use coven_model::SessionId;
use rustix::fs::OFlags;

use super::error::{JournalDamage, OpenError};
use super::frame::{FrameEnvelope, FrameHeader, split_line};
use super::scan::damaged;
use super::{FILE, MAX_LINE};

/// How much is read first. Most lines are much shorter.
const TAIL_WINDOW_BYTES: u64 = 4096;

/// The number of the last fact in a folder's journal; 0 if there is none. The lines before the last
/// are not looked at, and a last line that is torn or damaged is an error: who wants to know more
/// opens the journal.
pub(crate) fn last_seq(folder: &OpenFolder, session: &SessionId) -> Result<u64, OpenError> {
    let path = folder.path().join(FILE);
    let file = folder.file(FILE, OFlags::RDONLY)?;
    let failed = |source| folder.error("read", FILE, source);
    let len = file.metadata().map_err(failed)?.len();
    let (offset, line) = last_line(&file, len).map_err(failed)?;
    let wrong = |damage: JournalDamage| OpenError::from(damaged(&path, 0, offset, damage));
    let (json, _) = split_line(&line).map_err(wrong)?;
    if offset == 0 {
        let header = FrameHeader::read(&line).map_err(wrong)?;
        return if header.session == session.as_str() {
            Ok(0)
        } else {
            Err(wrong(JournalDamage::Header))
        };
    }
    Ok(FrameEnvelope::read(json).map_err(wrong)?.seq)
}

/// Where the last line begins, and the line.
fn last_line(file: &File, len: u64) -> io::Result<(u64, Vec<u8>)> {
    let mut window = TAIL_WINDOW_BYTES;
    loop {
        let from = len.saturating_sub(window);
        let mut bytes = vec![0; usize::try_from(len - from).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, from)?;
        // The last byte is the newline of the last line itself.
        let before = memchr::memrchr(b'\n', &bytes[..bytes.len().saturating_sub(1)]);
        match before {
            Some(at) => return Ok((from + at as u64 + 1, bytes.split_off(at + 1))),
            None if from == 0 => return Ok((0, bytes)),
            None if window > MAX_LINE as u64 => return Err(io::ErrorKind::InvalidData.into()),
            None => window *= 8,
        }
    }
}
