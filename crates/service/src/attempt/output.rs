//! A piece of what a process printed, from its tape.

use std::path::Path;

use coven_api::task::{OutputQuery, OutputStream};
use coven_tape::{Error, TapeEvent, TapeReader, TapeStream};

use crate::error::ServiceError;
use coven_folder::read_plain_file;

/// How many bytes a piece has unless the request says.
const DEFAULT_BYTES: u64 = 1 << 20;
/// How many bytes a piece has at most.
const MAX_BYTES: u64 = 16 << 20;
/// Longer than any escape sequence that a program sends on purpose.
const MAX_SEQUENCE_BYTES: usize = 4096;

/// A piece of what a process printed.
#[derive(Debug, Default)]
pub(super) struct OutputPiece {
    pub(super) bytes: Vec<u8>,
    pub(super) offset: u64,
    /// Where the next one begins.
    pub(super) next: u64,
    /// Where the output ends so far.
    pub(super) end: u64,
    /// What is missing before its beginning and in it.
    pub(super) dropped: u64,
}

/// Whether there is no tape, as of a job that waits for its slot.
pub(super) fn is_absent(error: &Error) -> bool {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return io.kind() == std::io::ErrorKind::NotFound;
        }
        source = error.source();
    }
    matches!(error, Error::NoTape { .. })
}

/// Reads a piece of the readable log, which is all there is of a foreign session.
pub(super) fn read_log(path: &Path, query: &OutputQuery) -> Result<OutputPiece, ServiceError> {
    let text = match read_plain_file(path, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(ServiceError::unreadable(error)),
    };
    let end = text.len() as u64;
    let offset = match query.offset.unwrap_or(0) {
        back if back < 0 => end.saturating_sub(back.unsigned_abs()),
        from => (from as u64).min(end),
    };
    let next = end.min(offset.saturating_add(query.limit.unwrap_or(DEFAULT_BYTES)));
    let bytes = text[offset as usize..next as usize].to_vec();
    Ok(OutputPiece { bytes, offset, next, end, dropped: 0 })
}

/// Reads a piece. If it is to be `clean`, it ends where no sequence or character is cut.
pub(super) fn read(
    folder: &Path,
    query: &OutputQuery,
    clean: bool,
) -> Result<OutputPiece, ServiceError> {
    let limit = query.limit.unwrap_or(DEFAULT_BYTES);
    if !(1..=MAX_BYTES).contains(&limit) {
        return Err(ServiceError::BadRequest(format!("`limit` is 1 to {MAX_BYTES}")));
    }
    let reader = match TapeReader::open(folder) {
        Ok(reader) => reader,
        Err(error) if is_absent(&error) => return Ok(OutputPiece::default()),
        Err(error) => return Err(ServiceError::unreadable(error)),
    };
    let kept = reader.range();
    let wanted = match query.offset.unwrap_or(0) {
        back if back < 0 => kept.end.saturating_sub(back.unsigned_abs()),
        from => from as u64,
    };
    let offset = wanted.clamp(kept.start, kept.end);
    let mut piece = OutputPiece {
        bytes: Vec::new(),
        offset,
        next: offset,
        end: kept.end,
        dropped: kept.start.saturating_sub(wanted),
    };
    for record in reader.records(offset) {
        let record = record.map_err(ServiceError::unreadable)?;
        let end = record.end();
        match record.event {
            TapeEvent::Output { stream, bytes } if end > piece.next => {
                let skip = piece.next.saturating_sub(record.offset) as usize;
                let room = (offset + limit - piece.next) as usize;
                let part = &bytes[skip..bytes.len().min(skip + room)];
                if is_wanted(query.stream, stream) {
                    piece.bytes.extend_from_slice(part);
                }
                piece.next += part.len() as u64;
            }
            TapeEvent::Gap(_) if end > piece.next => {
                piece.dropped += end - piece.next;
                piece.next = end;
            }
            _ => {}
        }
        if piece.next >= offset + limit {
            break;
        }
    }
    if clean && query.stream.is_none() {
        let cut = unfinished(&piece.bytes);
        // A piece that is nothing but the beginning of something is given as it is.
        if cut < piece.bytes.len() {
            piece.bytes.truncate(piece.bytes.len() - cut);
            piece.next -= cut as u64;
        }
    }
    Ok(piece)
}

fn is_wanted(wanted: Option<OutputStream>, stream: TapeStream) -> bool {
    match wanted {
        None => true,
        Some(OutputStream::Out) => stream == TapeStream::Out,
        Some(OutputStream::Err) => stream == TapeStream::Err,
    }
}

/// How many bytes at the end are the beginning of a sequence or of a character.
fn unfinished(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(MAX_SEQUENCE_BYTES)..];
    if let Some(at) = tail.iter().rposition(|byte| *byte == 0x1b) {
        let rest = &tail[at + 1..];
        let complete = match rest.first() {
            None => false,
            Some(b'[') => rest[1..].iter().any(|byte| (0x40..=0x7e).contains(byte)),
            // These end with BEL, or with an ESC that would have been found instead.
            Some(b']' | b'P' | b'X' | b'^' | b'_') => rest.contains(&0x07),
            Some(0x20..=0x2f) => rest.iter().any(|byte| (0x30..=0x7e).contains(byte)),
            Some(_) => true,
        };
        if !complete {
            return tail.len() - at;
        }
    }
    // At most three bytes of a character can be there without the last.
    (1..=bytes.len().min(3))
        .find(|back| {
            let width = match bytes[bytes.len() - back] {
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => 0,
            };
            width > *back
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::unfinished;

    #[test]
    fn what_is_only_begun_is_left_for_the_next_piece() {
        for (bytes, cut) in [
            (&b"whole"[..], 0),
            (b"red \x1b[31m", 0),
            (b"red \x1b[3", 3),
            (b"\x1b", 1),
            (b"title \x1b]0;half", 8),
            (b"title \x1b]0;done\x07", 0),
            (b"title \x1b]0;done\x1b\\", 0),
            ("é".as_bytes(), 0),
            (b"caf\xc3", 1),
            (b"\xe6\xbc", 2),
        ] {
            assert_eq!(unfinished(bytes), cut, "{bytes:?}");
        }
    }
}
