//! The last bytes of one stream. A program may print more than memory holds: what is too old is
//! let go and counted, so that a reader can tell the rest from the whole.

use std::borrow::Cow;
use std::collections::VecDeque;

/// The end of what a program printed on one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputRing {
    bytes: VecDeque<u8>,
    limit: usize,
    total: u64,
}

/// What a stream has from some position on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputRest<'a> {
    /// How many bytes from the position on are not kept any more.
    pub missed: u64,
    /// The bytes that are.
    pub bytes: Cow<'a, [u8]>,
}

impl OutputRing {
    /// Nothing yet; at most `limit` bytes will be kept.
    pub fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit, total: 0 }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        let kept = &chunk[chunk.len().saturating_sub(self.limit)..];
        let excess = (self.bytes.len() + kept.len()).saturating_sub(self.limit);
        self.bytes.drain(..excess);
        self.bytes.extend(kept);
    }

    /// How many bytes there were in all. Also the position of the next one.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes at the beginning were let go.
    pub fn dropped(&self) -> u64 {
        self.total - self.bytes.len() as u64
    }

    /// The bytes that are kept.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        self.since(0).bytes
    }

    /// The kept bytes as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// What came at this position and later. A reader that asks after each tick, from where it
    /// stopped, misses nothing as long as the limit is not below [`super::TURN_LIMIT`].
    pub fn since(&self, position: u64) -> OutputRest<'_> {
        let missed = self.dropped().saturating_sub(position);
        let skip = usize::try_from(position.saturating_sub(self.dropped())).unwrap_or(usize::MAX);
        let (front, back) = self.bytes.as_slices();
        let bytes = match skip.checked_sub(front.len()) {
            Some(skip) => Cow::Borrowed(back.get(skip..).unwrap_or_default()),
            None if back.is_empty() => Cow::Borrowed(&front[skip..]),
            None => Cow::Owned([&front[skip..], back].concat()),
        };
        OutputRest { missed, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::OutputRing;

    #[test]
    fn the_end_is_kept_and_what_was_dropped_is_counted() {
        let mut output = OutputRing::new(4);
        output.push(b"abc");
        assert_eq!((output.text().as_str(), output.dropped()), ("abc", 0));
        output.push(b"def");
        assert_eq!((output.text().as_str(), output.dropped()), ("cdef", 2));
        output.push(b"0123456789");
        assert_eq!((output.text().as_str(), output.dropped()), ("6789", 12));
        assert_eq!(output.total(), 16);
    }

    #[test]
    fn a_limit_of_nothing_keeps_nothing_and_still_counts() {
        let mut output = OutputRing::new(0);
        output.push(b"abc");
        assert_eq!((output.bytes().len(), output.total(), output.dropped()), (0, 3, 3));
    }

    #[test]
    fn a_reader_gets_what_is_new_and_learns_what_it_missed() {
        let mut all = Vec::new();
        let mut output = OutputRing::new(5);
        for round in 0..40_u8 {
            let chunk: Vec<u8> = (0..round % 4).map(|byte| round.wrapping_add(byte)).collect();
            output.push(&chunk);
            all.extend_from_slice(&chunk);
            for position in 0..=all.len() + 2 {
                let rest = output.since(position as u64);
                let start = all.len().saturating_sub(5);
                assert_eq!(rest.missed, start.saturating_sub(position) as u64);
                assert_eq!(*rest.bytes, all[position.max(start).min(all.len())..]);
            }
        }
    }
}
