//! What can be wrong with a tape, and what a write can lose.

use std::io;
use std::path::PathBuf;

use coven_terminal::recording;

/// Why a tape could not be opened, read or exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        source: io::Error,
    },
    /// The folder holds no tape, or one whose creation has not got far enough to read anything.
    #[error("{}: there is no tape in this folder", dir.display())]
    NoTape { dir: PathBuf },
    /// A tape was to be created where there is one.
    #[error("{}: this folder already holds a tape", dir.display())]
    Exists { dir: PathBuf },
    /// Another writer holds the lock of this tape.
    #[error("{}: another process is writing this tape", dir.display())]
    Locked { dir: PathBuf },
    /// A later version of Coven wrote this tape. Nothing was changed.
    #[error(
        "{}: this tape is in version {version} of the format, and only versions up to {known} are \
         known here; a newer coven can read it",
        path.display()
    )]
    Newer {
        /// The index that says so.
        path: PathBuf,
        version: u32,
        /// The last version this crate knows.
        known: u32,
    },
    /// A place in the tape is damaged.
    #[error(transparent)]
    Damaged(#[from] TapeProblem),
    /// The recording that a tape is exported to could not be written.
    #[error("cannot export the tape")]
    Export {
        #[from]
        source: recording::Error,
    },
}

/// A place in a tape that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}, byte {position}: {damage}", path.display())]
pub struct TapeProblem {
    pub path: PathBuf,
    /// Where in the file.
    pub position: u64,
    pub damage: TapeDamage,
}

/// What is wrong with a place in a tape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TapeDamage {
    /// An index does not begin as one, or is not the one its name says.
    #[error("this is not the header of this index")]
    Header,
    /// An index is shorter than its header. A writer that was interrupted leaves this.
    #[error("the header breaks off")]
    Unfinished,
    /// An index in a version of the format that is not known here.
    #[error("version {version} of the format is not known here")]
    Newer { version: u32 },
    /// Fields of an entry that no writer writes.
    #[error("this is not an entry")]
    Entry,
    /// An entry, or the bytes it speaks of, are not those that were written.
    #[error("the checksum does not hold")]
    Checksum,
    /// The file with the bytes of an entry ends before they do.
    #[error("the bytes of this entry are missing")]
    Short,
    /// An entry does not go on where the one before it ended.
    #[error("this entry does not continue the one before")]
    Order,
    /// Bytes at the end of a file that no entry claims. A writer that was interrupted leaves them,
    /// and one that is writing right now does so too, for a moment.
    #[error("{bytes} bytes belong to no entry")]
    Trailing { bytes: u64 },
    /// Output that was neither lost nor dropped is not there.
    #[error("the output from offset {from} to {to} is missing")]
    Missing {
        /// The first missing byte.
        from: u64,
        /// The byte after the last missing one.
        to: u64,
    },
    /// A file without the index it belongs to, or an index without one of its files. A writer that
    /// was interrupted leaves this, and rotation does so too, for a moment.
    #[error("a file of this segment is missing")]
    Incomplete,
}

/// What a call of a [`Tape`](crate::TapeWriter) could not record.
///
/// This is news, not a failure of the caller: the tape goes on, and tells its readers.
#[derive(Debug, thiserror::Error)]
#[error("{} at offset {offset} is not on the tape", what(*bytes))]
pub struct RecordingLoss {
    /// Where the loss begins.
    pub offset: u64,
    /// How many bytes of output this call lost; 0 if it was to record something else.
    pub bytes: u64,
    pub source: io::Error,
}

fn what(bytes: u64) -> String {
    if bytes == 0 { "a record".to_owned() } else { format!("output of {bytes} bytes") }
}
