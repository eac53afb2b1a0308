//! The first bytes of an index: which format, which segment, and from where the tape is kept.

/// The version of the format that is written, and the last that is read.
pub(crate) const TAPE_VERSION: u32 = 1;

const MAGIC: [u8; 4] = *b"TAPE";

/// What the header of an index says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexHeader {
    /// The logical offset of the first byte of the segment.
    pub(crate) base: u64,
    /// Nothing before this offset is promised since the segment began.
    pub(crate) kept: u64,
}

/// Why bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    Damaged,
    Newer { version: u32 },
}

impl IndexHeader {
    /// The size of a header in bytes.
    pub(crate) const SIZE: u64 = 32;

    pub(crate) fn encode(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&TAPE_VERSION.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.base.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.kept.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; 32]) -> Result<Self, HeaderError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(HeaderError::Damaged);
        }
        // Before the checksum, which a later version may keep elsewhere.
        let version = (number(bytes, 0) >> 32) as u32;
        if version > TAPE_VERSION {
            return Err(HeaderError::Newer { version });
        }
        let header = Self { base: number(bytes, 8), kept: number(bytes, 16) };
        if header.encode() == *bytes { Ok(header) } else { Err(HeaderError::Damaged) }
    }
}

/// The eight bytes at a place, as a number.
pub(crate) fn number(bytes: &[u8; 32], at: usize) -> u64 {
    let bytes = bytes.iter().skip(at).take(8);
    bytes.rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_as_it_was_written() {
        let header = IndexHeader { base: 0x0102_0304_0506_0708, kept: u64::MAX };
        assert_eq!(IndexHeader::decode(&header.encode()), Ok(header));
    }

    #[test]
    fn any_changed_bit_is_noticed() {
        let good = IndexHeader { base: 5, kept: 3 }.encode();
        for bit in 0..256 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(IndexHeader::decode(&bad).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_later_version_is_recognised_whatever_follows() {
        let mut bytes = [0xaa; 32];
        bytes[..8].copy_from_slice(b"TAPE\x02\0\0\0");
        assert_eq!(IndexHeader::decode(&bytes), Err(HeaderError::Newer { version: 2 }));
    }
}
