//! Output whose every byte is known beforehand: `flood` writes it, tests compare with it.

use std::io::{self, Write};

/// The length of a line, with its end.
pub const LINE_BYTES: usize = 64;

/// The lines that are written at once. Among a thousand lines that follow each other from a round
/// number, only the last three digits differ, which makes them quick to count.
const LINES_AT_ONCE: usize = 1000;

/// Where the digits are that are the same in all lines written at once.
const LEADING_DIGITS: std::ops::Range<usize> = 6..15;

/// The line with this number, counted from 0. It ends in `\r\n`, so that it is one line on a
/// terminal in raw mode too.
pub fn line(number: u64) -> [u8; LINE_BYTES] {
    let mut line = *b"flood 000000000000 abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ\r\n";
    let mut rest = number;
    for digit in line[6..18].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    line
}

/// Writes the first `bytes` bytes of all lines.
pub fn write(bytes: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut chunk: Vec<u8> = (0..LINES_AT_ONCE as u64).flat_map(line).collect();
    let mut number = 0;
    let mut left = bytes;
    while left > 0 {
        let first = line(number);
        for line in chunk.chunks_exact_mut(LINE_BYTES) {
            line[LEADING_DIGITS].copy_from_slice(&first[LEADING_DIGITS]);
        }
        let length = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        out.write_all(&chunk[..length])?;
        number += LINES_AT_ONCE as u64;
        left -= length as u64;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered() {
        assert!(line(0).starts_with(b"flood 000000000000 abc"));
        assert!(line(987_654_321).starts_with(b"flood 000987654321 abc"));
        assert!(line(7).ends_with(b"Q\r\n"));
    }

    #[test]
    fn exactly_as_many_bytes_are_written_as_asked_for() {
        for bytes in [0, 1, 63, 64, 65, 64_000, 64_001, 200_001] {
            let mut out = Vec::new();
            write(bytes, &mut out).unwrap();
            let expected: Vec<u8> =
                (0..).flat_map(line).take(usize::try_from(bytes).unwrap()).collect();
            assert!(out == expected, "{bytes}");
        }
    }
}
