//! Cuts bytes into lines, however they arrive, without ever keeping a line that has no end.

use serde::{Deserialize, Serialize};

use super::limits::{HEAD_LIMIT, LINE_LIMIT};

/// One line without its line feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawLine<'a> {
    /// All of it, or its beginning.
    pub(crate) bytes: &'a [u8],
    /// How many bytes are missing at the end; not 0 for a line over the limit.
    pub(crate) omitted: u64,
}

/// The line that has not ended yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum UnfinishedLine {
    /// All of it so far.
    Whole(Vec<u8>),
    /// It is over the limit: its beginning, and how long it is so far.
    Overlong { head: Vec<u8>, length: u64 },
}

/// Cuts a stream into lines. A line of more than [`LINE_LIMIT`] bytes is kept only by its head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LineSplitter {
    pending: UnfinishedLine,
}

impl LineSplitter {
    pub(crate) const fn new() -> Self {
        Self { pending: UnfinishedLine::Whole(Vec::new()) }
    }

    /// Reads the next bytes and hands over every line that they end.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut out: impl FnMut(RawLine<'_>)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (piece, after) = (&rest[..end], &rest[end + 1..]);
            if self.is_empty() {
                // A whole line in one chunk is not copied.
                out(whole_or_head(piece));
            } else {
                self.push(piece);
                self.finish(&mut out);
            }
            rest = after;
        }
        self.push(rest);
    }

    /// Ends the line, or the stream: hands over what is there, if there is anything.
    pub(crate) fn finish(&mut self, mut out: impl FnMut(RawLine<'_>)) {
        let pending = std::mem::replace(&mut self.pending, UnfinishedLine::Whole(Vec::new()));
        match pending {
            UnfinishedLine::Whole(bytes) if bytes.is_empty() => {}
            UnfinishedLine::Whole(mut bytes) => {
                out(RawLine { bytes: &bytes, omitted: 0 });
                if bytes.capacity() <= HEAD_LIMIT {
                    // The usual line: its memory serves the next one.
                    bytes.clear();
                    self.pending = UnfinishedLine::Whole(bytes);
                }
            }
            UnfinishedLine::Overlong { head, length } => {
                out(RawLine { bytes: &head, omitted: length - head.len() as u64 });
            }
        }
    }

    /// How much is kept of the line that has not ended.
    pub(crate) fn unfinished(&self) -> usize {
        match &self.pending {
            UnfinishedLine::Whole(bytes) => bytes.len(),
            UnfinishedLine::Overlong { head, .. } => head.len(),
        }
    }

    pub(crate) fn buffered(&self) -> usize {
        match &self.pending {
            UnfinishedLine::Whole(bytes) => bytes.capacity(),
            UnfinishedLine::Overlong { head, .. } => head.capacity(),
        }
    }

    /// Whether it stands between two lines.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.pending, UnfinishedLine::Whole(bytes) if bytes.is_empty())
    }

    fn push(&mut self, piece: &[u8]) {
        match &mut self.pending {
            UnfinishedLine::Overlong { length, .. } => *length += piece.len() as u64,
            UnfinishedLine::Whole(bytes) if bytes.len() + piece.len() <= LINE_LIMIT => {
                append(bytes, piece);
            }
            UnfinishedLine::Whole(bytes) => {
                let length = (bytes.len() + piece.len()) as u64;
                let mut head = Vec::with_capacity(HEAD_LIMIT);
                head.extend(bytes.iter().chain(piece).take(HEAD_LIMIT));
                self.pending = UnfinishedLine::Overlong { head, length };
            }
        }
    }
}

/// Appends, growing as vectors do but never beyond the limit of a line.
pub(crate) fn append(bytes: &mut Vec<u8>, piece: &[u8]) {
    let needed = bytes.len() + piece.len();
    if needed > bytes.capacity() {
        let capacity = needed.max((2 * bytes.capacity()).min(LINE_LIMIT));
        bytes.reserve_exact(capacity - bytes.len());
    }
    bytes.extend_from_slice(piece);
}

fn whole_or_head(line: &[u8]) -> RawLine<'_> {
    let kept = if line.len() > LINE_LIMIT { HEAD_LIMIT } else { line.len() };
    RawLine { bytes: &line[..kept], omitted: (line.len() - kept) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(chunks: &[&[u8]]) -> Vec<(usize, u64)> {
        let mut lines = LineSplitter::new();
        let mut found = Vec::new();
        let mut keep = |line: RawLine<'_>| found.push((line.bytes.len(), line.omitted));
        for chunk in chunks {
            lines.feed(chunk, &mut keep);
            assert!(lines.buffered() <= LINE_LIMIT);
        }
        lines.finish(&mut keep);
        found
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_not_longer() {
        for (length, kept) in [(LINE_LIMIT, LINE_LIMIT), (LINE_LIMIT + 1, HEAD_LIMIT)] {
            let mut bytes = vec![b'x'; length];
            let expected = [(kept, (length - kept) as u64)];
            assert_eq!(cut(&[&bytes]), expected);
            assert_eq!(cut(&[&bytes[..1], &bytes[1..]]), expected);
            assert_eq!(cut(&[&bytes[..length - 1], &bytes[length - 1..]]), expected);
            bytes.push(b'\n');
            assert_eq!(cut(&[&bytes]), expected);
            assert_eq!(cut(&[&bytes[..length], &bytes[length..]]), expected);
        }
    }

    #[test]
    fn lines_are_the_same_for_every_split() {
        let bytes = b"\none\n\ntwo\r\n\nthree";
        let expected = [(0, 0), (3, 0), (0, 0), (4, 0), (0, 0), (5, 0)];
        for at in 0..=bytes.len() {
            assert_eq!(cut(&[&bytes[..at], &bytes[at..]]), expected, "{at}");
        }
    }
}
