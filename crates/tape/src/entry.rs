//! An entry of an index: 32 bytes that say when something happened and where its bytes lie.

use crate::MAX_PAYLOAD;
use crate::header::number;
use crate::record::{Gap, Reason, Stream};

/// No tape gets this far, and from here on there is always room to count further.
pub(crate) const MAX_OFFSET: u64 = u64::MAX / 2;

/// The bytes of an entry, not yet believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw(pub(crate) [u8; 32]);

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) time: u64,
    pub(crate) offset: u64,
    pub(crate) body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Something with bytes in a file of the segment.
    Payload {
        kind: Kind,
        at: u32,
        len: u32,
    },
    Resize {
        cols: u16,
        rows: u16,
    },
    Gap(Gap),
}

/// What the bytes of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Output(Stream),
    Input,
    Mark,
}

/// In which file of a segment bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
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

impl Kind {
    pub(crate) fn place(self) -> Place {
        match self {
            Self::Output(_) => Place::Output,
            Self::Input | Self::Mark => Place::Side,
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Output(Stream::Out) => OUT,
            Self::Output(Stream::Err) => ERR,
            Self::Input => IN,
            Self::Mark => MARK,
        }
    }
}

impl Entry {
    /// The size of an entry in bytes.
    pub(crate) const SIZE: u64 = 32;

    /// How far this entry moves the logical offset.
    pub(crate) fn covers(&self) -> u64 {
        match self.body {
            Body::Payload { kind: Kind::Output(_), len, .. } => u64::from(len),
            Body::Gap(gap) => gap.len,
            Body::Payload { .. } | Body::Resize { .. } => 0,
        }
    }

    /// Where the bytes of this entry lie, if it has any.
    pub(crate) fn place(&self) -> Option<Place> {
        match self.body {
            Body::Payload { kind, len, .. } => (len > 0).then(|| kind.place()),
            Body::Resize { .. } | Body::Gap(_) => None,
        }
    }

    /// The logical offset after this entry. [`Raw::decode`] has seen that it exists.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.covers()
    }

    /// The entry as it is written, for these bytes.
    pub(crate) fn encode(&self, payload: &[u8]) -> Raw {
        let (value, code, reason, events) = match self.body {
            Body::Payload { kind, at, len } => {
                (u64::from(at) | u64::from(len) << 32, kind.code(), 0, 0)
            }
            Body::Resize { cols, rows } => (u64::from(cols) | u64::from(rows) << 16, RESIZE, 0, 0),
            Body::Gap(gap) => (gap.len, GAP, code(gap.reason), gap.events),
        };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.time.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&value.to_le_bytes());
        bytes[24] = code;
        bytes[25] = reason;
        bytes[26..28].copy_from_slice(&events.to_le_bytes());
        let mut raw = Raw(bytes);
        let crc = raw.checksum(payload);
        raw.0[28..].copy_from_slice(&crc.to_le_bytes());
        raw
    }
}

impl Raw {
    pub(crate) fn time(&self) -> u64 {
        number(&self.0, 0)
    }

    pub(crate) fn offset(&self) -> u64 {
        number(&self.0, 8)
    }

    /// What the entry says, if a writer may have written it. Whether one did, its checksum tells.
    pub(crate) fn decode(&self) -> Option<Entry> {
        let value = number(&self.0, 16);
        let (code, reason) = (self.0[24], self.0[25]);
        let events = u16::from_le_bytes([self.0[26], self.0[27]]);
        let payload = |kind| {
            let (at, len) = (value as u32, (value >> 32) as u32);
            let fits = len as usize <= MAX_PAYLOAD && (len > 0 || kind == Kind::Mark);
            fits.then_some(Body::Payload { kind, at, len })
        };
        let body = match (code, reason, events) {
            (OUT, 0, 0) => payload(Kind::Output(Stream::Out))?,
            (ERR, 0, 0) => payload(Kind::Output(Stream::Err))?,
            (IN, 0, 0) => payload(Kind::Input)?,
            (MARK, 0, 0) => payload(Kind::Mark)?,
            (RESIZE, 0, 0) if value >> 32 == 0 => {
                Body::Resize { cols: value as u16, rows: (value >> 16) as u16 }
            }
            (GAP, FULL, _) => Body::Gap(Gap { len: value, events, reason: Reason::Full }),
            (GAP, FAILED, _) => Body::Gap(Gap { len: value, events, reason: Reason::Failed }),
            _ => return None,
        };
        let entry = Entry { time: self.time(), offset: self.offset(), body };
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

fn code(reason: Reason) -> u8 {
    match reason {
        Reason::Full => FULL,
        Reason::Failed => FAILED,
        // Not on disk: readers see it by what is not there.
        Reason::Dropped => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODIES: [Body; 7] = [
        Body::Payload { kind: Kind::Output(Stream::Out), at: 7, len: 65_536 },
        Body::Payload { kind: Kind::Output(Stream::Err), at: u32::MAX, len: 1 },
        Body::Payload { kind: Kind::Input, at: 0, len: 3 },
        Body::Payload { kind: Kind::Mark, at: 9, len: 0 },
        Body::Resize { cols: u16::MAX, rows: 0 },
        Body::Gap(Gap { len: 1 << 40, events: 2, reason: Reason::Full }),
        Body::Gap(Gap { len: 0, events: u16::MAX, reason: Reason::Failed }),
    ];

    #[test]
    fn every_entry_reads_back_as_it_was_written() {
        for body in BODIES {
            let entry = Entry { time: u64::MAX, offset: 1 << 50, body };
            let raw = entry.encode(b"abc");
            assert_eq!(raw.decode(), Some(entry));
            assert_eq!(raw.written_checksum(), raw.checksum(b"abc"));
            assert_eq!((raw.time(), raw.offset()), (u64::MAX, 1 << 50));
        }
    }

    #[test]
    fn what_no_writer_writes_is_not_an_entry() {
        let entry = Entry { time: 0, offset: 0, body: BODIES[0] };
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
        assert_eq!(Raw([0; 32]).decode(), None, "zeros");
        for offset in [MAX_OFFSET, u64::MAX] {
            let far = Entry { time: 0, offset, body: BODIES[1] };
            assert_eq!(far.encode(b"").decode(), None, "beyond the last offset");
        }
    }
}
