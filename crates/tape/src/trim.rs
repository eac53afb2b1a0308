//! Shortening a tape that nobody writes any more, to make room.

use std::path::Path;

use crate::error::Error;
use crate::folder::{SegmentFile, TapeFolder};
use crate::writer::lock;

/// How many bytes the tape in a folder takes.
pub fn size(dir: &Path) -> Result<u64, Error> {
    let folder = TapeFolder::open(dir)?;
    let files = folder.files()?;
    Ok(files.iter().map(|(base, part)| folder.size(*base, *part)).sum())
}

/// Drops all of a tape but its newest segment, which has its end; how many bytes that made free.
/// A tape that is being written stays as it is.
pub fn trim(dir: &Path) -> Result<u64, Error> {
    let folder = TapeFolder::open(dir)?;
    let _lock = match lock(&folder) {
        Err(Error::Locked { .. }) => return Ok(0),
        locked => locked?,
    };
    let bases = folder.bases()?;
    let Some((_, older)) = bases.split_last() else { return Ok(0) };
    let mut freed = 0;
    for base in older {
        let size: u64 = SegmentFile::ALL.iter().map(|part| folder.size(*base, *part)).sum();
        let removed = folder.remove(*base);
        removed.map_err(|source| Error::Io {
            path: folder.path(*base, SegmentFile::Index),
            doing: "delete it",
            source,
        })?;
        freed += size;
    }
    Ok(freed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, TapeEvent, TapeReader, TapeStream, TapeWriter};

    #[test]
    fn a_tape_keeps_its_end_and_one_that_is_written_keeps_all() {
        let root = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(root.path()).unwrap();
        let options = Options { segment_size: 64 * 1024, ..Options::default() };
        let mut tape = TapeWriter::create(&dir, options).unwrap();
        for round in 0..40_u64 {
            tape.output(round, TapeStream::Out, &[b'a' + (round % 26) as u8; 8192]).unwrap();
        }
        let before = size(&dir).unwrap();
        assert_eq!(trim(&dir).unwrap(), 0);
        drop(tape);
        let freed = trim(&dir).unwrap();
        assert!(freed > 200_000 && size(&dir).unwrap() == before - freed, "{freed} of {before}");
        let reader = TapeReader::open(&dir).unwrap();
        assert_eq!(reader.range().end, 40 * 8192);
        let last = reader.records(0).last().unwrap().unwrap();
        assert!(matches!(last.event, TapeEvent::Output { .. }), "{last:?}");
    }
}
