//! What a tape holds, as its readers get it.

use std::io::{Error, ErrorKind};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeRecord {
    /// Microseconds since the start. Never less than that of the record before.
    pub time: u64,
    /// The logical offset: of the first byte of output or of a gap; for anything else, how much
    /// output there was when it happened.
    pub offset: u64,
    pub event: TapeEvent,
}

impl TapeRecord {
    /// The logical offset after this record.
    pub fn end(&self) -> u64 {
        match &self.event {
            TapeEvent::Output { bytes, .. } => self.offset + bytes.len() as u64,
            TapeEvent::Gap(gap) => self.offset + gap.len,
            TapeEvent::Input(_) | TapeEvent::Resize { .. } | TapeEvent::Mark(_) => self.offset,
        }
    }
}

/// What happened in a [`TapeRecord`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapeEvent {
    /// The program wrote these bytes.
    Output {
        /// Where it wrote them. On a terminal everything is [`TapeStream::Out`].
        stream: TapeStream,
        /// The bytes; at least one.
        bytes: Vec<u8>,
    },
    /// The program was sent these bytes.
    Input(Vec<u8>),
    /// The terminal got this size, which may be 0 either way.
    Resize {
        /// The new width in columns.
        cols: u16,
        /// The new height in rows.
        rows: u16,
    },
    /// The writer's owner noted this.
    Mark(String),
    /// Something is missing here.
    Gap(TapeGap),
}

/// Where a program wrote its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TapeStream {
    /// Standard output, or the terminal.
    Out,
    /// Standard error, where that is a pipe of its own.
    Err,
}

/// What is missing from a tape at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapeGap {
    /// How many bytes of output.
    pub len: u64,
    /// How many records that are not output; 65,535 stands for that many or more. Always 0 for
    /// [`GapReason::Dropped`], because dropping deletes files without reading them.
    pub events: u16,
    pub reason: GapReason,
}

/// Why something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// The disk was full, or the user's share of it.
    Full,
    /// Writing failed in another way.
    Failed,
    /// It was written, and dropped when the tape outgrew what it may keep.
    Dropped,
}

impl GapReason {
    /// What to call a failed write.
    pub(crate) fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Failed,
        }
    }
}
