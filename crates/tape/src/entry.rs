//! An entry of an index: 32 bytes that say when something happened and where its bytes lie.

use crate::MAX_PAYLOAD;
use crate::header::number;
use crate::record::{GapReason, TapeGap, TapeStream};

/// No tape gets this far, and from here on there is always room to count further.
pub(crate) const MAX_OFFSET: u64 = u64::MAX / 2;

/// The bytes of an entry, not yet believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawEntry(pub(crate) [u8; 32]);

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) time: u64,
    pub(crate) offset: u64,
    pub(crate) body: EntryBody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryBody {
    /// Something with bytes in a file of the segment.
    Payload {
        kind: PayloadKind,
        at: u32,
        len: u32,
    },
    Resize {
        cols: u16,
        rows: u16,
    },
    Gap(TapeGap),
}

/// What the bytes of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PayloadKind {
    Output(TapeStream),
    Input,
    Mark,
}

/// In which file of a segment bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PayloadFile {
    Output,
    Side,
}

const OUT: u8 = 1;
const ERR: u8 = 2;
const IN: u8 = 3;
const RESIZE: u8 = 4;
const MARK: u8 = 5;
const GAP: u8 = 6;

const FULL: u8 = 1;
const FAILED: u8 = 2;

impl PayloadKind {
    pub(crate) fn place(self) -> PayloadFile {
        match self {
            Self::Output(_) => PayloadFile::Output,
            Self::Input | Self::Mark => PayloadFile::Side,
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Output(TapeStream::Out) => OUT,
            Self::Output(TapeStream::Err) => ERR,
            Self::Input => IN,
            Self::Mark => MARK,
        }
    }
}

impl IndexEntry {
    /// The size of an entry in bytes.
    pub(crate) const SIZE: u64 = 32;

    /// How far this entry moves the logical offset.
    pub(crate) fn covers(&self) -> u64 {
        match self.body {
            EntryBody::Payload { kind: PayloadKind::Output(_), len, .. } => u64::from(len),
            EntryBody::Gap(gap) => gap.len,
            EntryBody::Payload { .. } | EntryBody::Resize { .. } => 0,
        }
    }

    /// Where the bytes of this entry lie, if it has any.
    pub(crate) fn place(&self) -> Option<PayloadFile> {
        match self.body {
            EntryBody::Payload { kind, len, .. } => (len > 0).then(|| kind.place()),
            EntryBody::Resize { .. } | EntryBody::Gap(_) => None,
        }
    }

    /// The logical offset after this entry. [`RawEntry::decode`] has seen that it exists.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.covers()
    }

    /// The entry as it is written, for these bytes.
    pub(crate) fn encode(&self, payload: &[u8]) -> RawEntry {
        let (value, code, reason, events) = match self.body {
            EntryBody::Payload { kind, at, len } => {
                (u64::from(at) | u64::from(len) << 32, kind.code(), 0, 0)
            }
            EntryBody::Resize { cols, rows } => {
                (u64::from(cols) | u64::from(rows) << 16, RESIZE, 0, 0)
            }
            EntryBody::Gap(gap) => (gap.len, GAP, code(gap.reason), gap.events),
        };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.time.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&value.to_le_bytes());
        bytes[24] = code;
        bytes[25] = reason;
        bytes[26..28].copy_from_slice(&events.to_le_bytes());
        let mut raw = RawEntry(bytes);
        let crc = raw.checksum(payload);
        raw.0[28..].copy_from_slice(&crc.to_le_bytes());
        raw
    }
}

impl RawEntry {
    pub(crate) fn time(&self) -> u64 {
        number(&self.0, 0)
    }

    pub(crate) fn offset(&self) -> u64 {
        number(&self.0, 8)
    }

    /// What the entry says, if a writer may have written it. Whether one did, its checksum tells.
    pub(crate) fn decode(&self) -> Option<IndexEntry> {
        let value = number(&self.0, 16);
        let (code, reason) = (self.0[24], self.0[25]);
        let events = u16::from_le_bytes([self.0[26], self.0[27]]);
        let payload = |kind| {
            let (at, len) = (value as u32, (value >> 32) as u32);
            let fits = len as usize <= MAX_PAYLOAD && (len > 0 || kind == PayloadKind::Mark);
            fits.then_some(EntryBody::Payload { kind, at, len })
        };
        let body = match (code, reason, events) {
            (OUT, 0, 0) => payload(PayloadKind::Output(TapeStream::Out))?,
            (ERR, 0, 0) => payload(PayloadKind::Output(TapeStream::Err))?,
            (IN, 0, 0) => payload(PayloadKind::Input)?,
            (MARK, 0, 0) => payload(PayloadKind::Mark)?,
            (RESIZE, 0, 0) if value >> 32 == 0 => {
                EntryBody::Resize { cols: value as u16, rows: (value >> 16) as u16 }
            }
            (GAP, FULL, _) => {
                EntryBody::Gap(TapeGap { len: value, events, reason: GapReason::Full })
            }
            (GAP, FAILED, _) => {
                EntryBody::Gap(TapeGap { len: value, events, reason: GapReason::Failed })
            }
            _ => return None,
        };
        let entry = IndexEntry { time: self.time(), offset: self.offset(), body };
        let end = entry.offset.checked_add(entry.covers());
        end.is_some_and(|end| end <= MAX_OFFSET).then_some(entry)
    }

    /// The checksum over this entry and the bytes it speaks of.
    pub(crate) fn checksum(&self, payload: &[u8]) -> u32 {
        let mut hasher = self.hasher();
        hasher.update(payload);
        hasher.finalize()
    }

    /// The checksum over this entry, to go on with the bytes it speaks of.
    pub(crate) fn hasher(&self) -> crc32fast::Hasher {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.0[..28]);
        hasher
    }

    /// The checksum that was written.
    pub(crate) fn written_checksum(&self) -> u32 {
        (number(&self.0, 24) >> 32) as u32
    }
}

fn code(reason: GapReason) -> u8 {
    match reason {
        GapReason::Full => FULL,
        GapReason::Failed => FAILED,
        // Not on disk: readers see it by what is not there.
        GapReason::Dropped => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODIES: [EntryBody; 7] = [
        EntryBody::Payload { kind: PayloadKind::Output(TapeStream::Out), at: 7, len: 65_536 },
        EntryBody::Payload { kind: PayloadKind::Output(TapeStream::Err), at: u32::MAX, len: 1 },
        EntryBody::Payload { kind: PayloadKind::Input, at: 0, len: 3 },
        EntryBody::Payload { kind: PayloadKind::Mark, at: 9, len: 0 },
        EntryBody::Resize { cols: u16::MAX, rows: 0 },
        EntryBody::Gap(TapeGap { len: 1 << 40, events: 2, reason: GapReason::Full }),
        EntryBody::Gap(TapeGap { len: 0, events: u16::MAX, reason: GapReason::Failed }),
    ];

    #[test]
    fn every_entry_reads_back_as_it_was_written() {
        for body in BODIES {
            let entry = IndexEntry { time: u64::MAX, offset: 1 << 50, body };
            let raw = entry.encode(b"abc");
            assert_eq!(raw.decode(), Some(entry));
            assert_eq!(raw.written_checksum(), raw.checksum(b"abc"));
            assert_eq!((raw.time(), raw.offset()), (u64::MAX, 1 << 50));
        }
    }

    #[test]
    fn what_no_writer_writes_is_not_an_entry() {
        let entry = IndexEntry { time: 0, offset: 0, body: BODIES[0] };
        let change = |at: usize, byte: u8| {
            let mut raw = entry.encode(b"");
            raw.0[at] = byte;
            raw.decode()
        };
        assert_eq!(change(24, 0), None, "no stream");
        assert_eq!(change(24, 7), None, "an unknown stream");
        assert_eq!(change(25, 1), None, "a reason without a gap");
        assert_eq!(change(27, 1), None, "a count without a gap");
        assert_eq!(change(20, 1), None, "longer than a payload may be");
        assert_eq!(RawEntry([0; 32]).decode(), None, "zeros");
        for offset in [MAX_OFFSET, u64::MAX] {
            let far = IndexEntry { time: 0, offset, body: BODIES[1] };
            assert_eq!(far.encode(b"").decode(), None, "beyond the last offset");
        }
    }
}
