//! The exact bytes of one attempt, on disk: what a program wrote, what it was sent, when, and what
//! of it was lost.
//!
//! [`TapeWriter`] writes. There is one writer, it keeps nothing in memory, and it never fails its caller:
//! bytes that a full disk does not take are declared as a gap once there is room again. [`TapeReader`]
//! reads, in any number of processes, while the writer writes and while old output is dropped. It
//! hands out nothing whose checksum does not hold.
//!
//! # On disk
//!
//! A tape is a folder of segments of three files each, named by the logical offset of their first
//! byte, the *base*. The logical offset counts the bytes of stdout and stderr together, in the
//! order they arrived, lost ones included.
//!
//! | file | holds |
//! |---|---|
//! | `out.<base>` | the output, raw |
//! | `out.<base>.side` | input and marks, raw |
//! | `out.<base>.idx` | a header of 32 bytes, then an entry of 32 bytes per record |
//!
//! Header: `TAPE`, version `u32`, base `u64`, first kept offset `u64`, zero `u32`, CRC `u32`.
//! Entry: time `u64` in µs, logical offset `u64`, position `u32` and length `u32` of the payload in
//! its file, stream `u8`, reason `u8`, count `u16`, CRC `u32` over the entry and its payload. A
//! resize has its size where others have the position, a gap has its length as a `u64` there.
//! Everything is little-endian. Each byte, and why: `docs/design/0002-tape-format.md`.
//!
//! Times are microseconds since a start that the caller knows. There is no clock here.

mod cursor;
mod entry;
mod error;
mod export;
mod folder;
mod header;
mod reader;
mod record;
mod segment;
mod trim;
mod window;
mod writer;

pub use error::{Error, RecordingLoss, TapeDamage, TapeProblem};
pub use export::export;
pub use reader::{ReadAt, TapeReader, TapeRecords, VerifyReport, verify, verify_telling};
pub use record::{GapReason, TapeEvent, TapeGap, TapeRecord, TapeStream};
pub use trim::{size, trim};
pub use writer::{Options, TapeWriter, TruncatedTail};

/// Deletes the tape in a folder, of a program that was never started.
pub fn remove(folder: &coven_folder::OpenFolder) -> std::io::Result<()> {
    folder::TapeFolder::new(folder).remove_all()
}

/// The most bytes one record holds. Longer output and input become several records.
///
/// It bounds what a reader needs in memory to check a record.
pub const MAX_PAYLOAD: usize = 64 * 1024;
