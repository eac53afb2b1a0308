//! How much is kept, whatever an agent prints.

/// Longest line that is read as JSON. Agents print whole files and images in one line; beyond
/// this it is no event but a flood.
pub const LINE_LIMIT: usize = 16 * 1024 * 1024;

/// What is kept of a longer line.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;

/// How many ids of messages, calls and denials are remembered to recognise them again.
pub(crate) const MAX_REMEMBERED_IDS: usize = 256;

/// How many denials are listed; more are only counted.
pub(crate) const DENIALS_LIMIT: usize = 256;

/// Most that a decoder keeps of what was printed: an unfinished line, an unfinished document on
/// either stream, the answer so far and the denials. It takes a hostile agent to come near it.
pub const BUFFER_LIMIT: usize = 3 * LINE_LIMIT + 8 * 1024 * 1024;
