//! What a holder and its clients say to each other: frames of a kind, a length and a body, all
//! numbers little-endian.
//!
//! A client begins with [`ToHolder::Hello`], the secret of the holder and the offset it has; the holder answers with what
//! there is, sends the rest of the output and then what comes, and last how it ended.

use coven_tape::{TapeEvent, TapeRecord};

use crate::domain::{DiscardResult, InputMode, PaneStream};

/// Version of this protocol. Both sides tell theirs and speak the lower one.
///
/// 2: a hello carries the secret that the holder was started with. A holder that has one hears
/// nobody who does not know it. A holder that was started without one is greeted as in version 1.
///
/// 3: input may be secret ([`ToHolder::SecretInput`]).
///
/// 4: the holder tells what the terminal does with what is typed ([`ToClient::InputMode`]), and
/// input that the process has not read can be discarded ([`ToHolder::DiscardUnread`]).
///
/// 5: the holder tells that the process has closed its standard output
/// ([`ToClient::OutputClosed`]).
pub const VERSION: u32 = 5;

/// The first version that tells of a standard output that was closed.
pub(crate) const OUTPUT_CLOSED_VERSION: u32 = 5;

/// The first version that knows of the terminal's input.
pub(crate) const INPUT_STATE_VERSION: u32 = 4;

/// The first version with input that is not recorded.
pub(crate) const SECRET_INPUT_VERSION: u32 = 3;

/// The version of a hello without a secret.
pub(crate) const OPEN_VERSION: u32 = 1;

/// Begins the note on the tape that another client than the first follows the job from here on.
pub const FOLLOWED_MARK: &str = "coven:followed";

/// Begins the note on the tape that a client does not follow the job any more.
pub const LEFT_MARK: &str = "coven:left";

/// Begins the note on the tape that input was thrown away before the process read it.
pub const DISCARDED_MARK: &str = "coven:discarded";

/// Begins the note on the tape that the terminal does something else with what is typed: `lines`,
/// `hidden` or `keys`.
pub const INPUT_MODE_MARK: &str = "coven:input";

/// Longest body of a frame. A longer one is not from us.
pub(crate) const MAX_BODY: usize = 256 * 1024;

/// Bytes before the body: kind and length.
const FRAME_HEAD_BYTES: usize = 5;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToHolder<'a> {
    /// The version it speaks, where its copy of the output ends, and the holder's secret; none for a
    /// holder that has none.
    Hello { version: u32, offset: u64, secret: &'a [u8] },
    /// Bytes for the process.
    Input(&'a [u8]),
    /// Bytes for the process of which only the length may be recorded.
    SecretInput(&'a [u8]),
    /// What the process has not read is to be thrown away, if it is at least so many bytes. The
    /// holder answers with [`ToClient::DiscardResult`].
    DiscardUnread { at_least: u32 },
    /// Nothing more will be written.
    CloseInput,
    /// The terminal's new size.
    Resize { columns: u16, rows: u16 },
    Stop {
        /// At once, or after asking.
        force: bool,
        /// Milliseconds before asking becomes force.
        grace: u64,
    },
    /// A note for the tape.
    Mark(&'a [u8]),
}

/// What a holder says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToClient<'a> {
    /// The version it speaks, and the output it has.
    Hello {
        version: u32,
        /// First offset that is kept.
        first: u64,
        /// The end so far.
        end: u64,
    },
    Data {
        offset: u64,
        stream: PaneStream,
        bytes: &'a [u8],
    },
    /// Output that was lost.
    Gap {
        /// Where the loss begins.
        from: u64,
        to: u64,
    },
    /// What the terminal does with what is typed, at first and when it changes.
    InputMode(InputMode),
    /// What came of discarding input.
    DiscardResult(DiscardResult),
    /// The process has closed its standard output.
    OutputClosed,
    /// How it ended, as `exit.json` has it. The last frame.
    Exit(&'a [u8]),
}

/// A frame that is not one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedFrame {
    /// The length is beyond the limit.
    #[error("a frame of {0} bytes is longer than allowed")]
    TooLong(usize),
    /// The kind is unknown or the body does not fit it.
    #[error("a frame of kind {kind} with {length} bytes is not known")]
    Unknown { kind: u8, length: usize },
}

/// A whole frame: its kind, its body, and how many bytes it took.
type Whole<'a> = (u8, &'a [u8], usize);

/// The first whole frame of a buffer.
fn split(buffer: &[u8]) -> Result<Option<Whole<'_>>, MalformedFrame> {
    let [kind, a, b, c, d, rest @ ..] = buffer else { return Ok(None) };
    let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
    if length > MAX_BODY {
        return Err(MalformedFrame::TooLong(length));
    }
    Ok(rest.get(..length).map(|body| (*kind, body, FRAME_HEAD_BYTES + length)))
}

/// The first whole frame of a buffer as `read` understands it, and how many bytes it took.
fn decode<'a, F>(
    buffer: &'a [u8],
    read: impl FnOnce(u8, &'a [u8]) -> Option<F>,
) -> Result<Option<(F, usize)>, MalformedFrame> {
    let Some((kind, body, taken)) = split(buffer)? else { return Ok(None) };
    let frame = read(kind, body).ok_or(MalformedFrame::Unknown { kind, length: body.len() })?;
    Ok(Some((frame, taken)))
}

fn head(out: &mut Vec<u8>, kind: u8, length: usize) {
    out.push(kind);
    out.extend_from_slice(&(length as u32).to_le_bytes());
}

/// A number at the beginning of a body, and the rest.
fn number<const N: usize>(body: &[u8]) -> Option<([u8; N], &[u8])> {
    body.split_first_chunk().map(|(number, rest)| (*number, rest))
}

fn flag(byte: u8) -> Option<bool> {
    match byte {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

impl<'a> ToHolder<'a> {
    /// Adds the frame to a buffer. Long input is given as several frames.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { version, offset, secret } => {
                head(out, b'h', 12 + secret.len());
                out.extend_from_slice(&version.to_le_bytes());
                out.extend_from_slice(&offset.to_le_bytes());
                out.extend_from_slice(secret);
            }
            Self::Input(bytes) => {
                for part in bytes.chunks(MAX_BODY) {
                    head(out, b'i', part.len());
                    out.extend_from_slice(part);
                }
            }
            Self::SecretInput(bytes) => {
                for part in bytes.chunks(MAX_BODY) {
                    head(out, b'p', part.len());
                    out.extend_from_slice(part);
                }
            }
            Self::DiscardUnread { at_least } => {
                head(out, b't', 4);
                out.extend_from_slice(&at_least.to_le_bytes());
            }
            Self::CloseInput => head(out, b'c', 0),
            Self::Resize { columns, rows } => {
                head(out, b'r', 4);
                out.extend_from_slice(&columns.to_le_bytes());
                out.extend_from_slice(&rows.to_le_bytes());
            }
            Self::Stop { force, grace } => {
                head(out, b's', 9);
                out.push(u8::from(*force));
                out.extend_from_slice(&grace.to_le_bytes());
            }
            Self::Mark(bytes) => {
                let bytes = &bytes[..bytes.len().min(MAX_BODY)];
                head(out, b'm', bytes.len());
                out.extend_from_slice(bytes);
            }
        }
    }

    /// The first whole frame in a buffer and how many bytes it took, or nothing yet.
    pub fn decode(buffer: &'a [u8]) -> Result<Option<(Self, usize)>, MalformedFrame> {
        decode(buffer, Self::read)
    }

    fn read(kind: u8, body: &'a [u8]) -> Option<Self> {
        Some(match kind {
            b'h' => {
                let (version, rest) = number(body)?;
                let (offset, secret) = number(rest)?;
                let version = u32::from_le_bytes(version);
                if version <= OPEN_VERSION && !secret.is_empty() {
                    return None;
                }
                Self::Hello { version, offset: u64::from_le_bytes(offset), secret }
            }
            b'i' => Self::Input(body),
            b'p' => Self::SecretInput(body),
            b't' => Self::DiscardUnread { at_least: u32::from_le_bytes(body.try_into().ok()?) },
            b'c' if body.is_empty() => Self::CloseInput,
            b'r' => {
                let [a, b, c, d] = *body else { return None };
                let (columns, rows) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
                Self::Resize { columns, rows }
            }
            b's' => {
                let (force, grace) = body.split_first()?;
                let grace = u64::from_le_bytes(grace.try_into().ok()?);
                Self::Stop { force: flag(*force)?, grace }
            }
            b'm' => Self::Mark(body),
            _ => return None,
        })
    }
}

impl<'a> ToClient<'a> {
    /// What a record of the tape is to a client whose copy ends at `from`, which must lie before
    /// the record's end. Only output and gaps are anything.
    pub(crate) fn of(record: &'a TapeRecord, from: u64) -> Option<Self> {
        let begin = from.max(record.offset);
        match &record.event {
            TapeEvent::Output { stream, bytes } => Some(Self::Data {
                offset: begin,
                stream: match stream {
                    coven_tape::TapeStream::Out => PaneStream::Output,
                    coven_tape::TapeStream::Err => PaneStream::Error,
                },
                bytes: &bytes[(begin - record.offset) as usize..],
            }),
            TapeEvent::Gap(_) => Some(Self::Gap { from: begin, to: record.end() }),
            TapeEvent::Input(_) | TapeEvent::Resize { .. } | TapeEvent::Mark(_) => None,
        }
    }

    /// Adds the frame to a buffer. Data and exit must fit one frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { version, first, end } => {
                head(out, b'H', 20);
                out.extend_from_slice(&version.to_le_bytes());
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&end.to_le_bytes());
            }
            Self::Data { offset, stream, bytes } => {
                out.extend_from_slice(&Self::data_head(*offset, *stream, bytes.len()));
                out.extend_from_slice(bytes);
            }
            Self::Gap { from, to } => {
                head(out, b'G', 16);
                out.extend_from_slice(&from.to_le_bytes());
                out.extend_from_slice(&to.to_le_bytes());
            }
            Self::InputMode(mode) => {
                head(out, b'I', 2);
                out.extend([mode.echoes, mode.collects_lines].map(u8::from));
            }
            Self::DiscardResult(taken) => {
                head(out, b'T', 5);
                out.extend_from_slice(&taken.unread.to_le_bytes());
                out.push(u8::from(taken.discarded));
            }
            Self::OutputClosed => head(out, b'E', 0),
            Self::Exit(json) => {
                head(out, b'X', json.len());
                out.extend_from_slice(json);
            }
        }
    }

    /// What stands before the bytes of a data frame, so that they need not be copied.
    pub(crate) fn data_head(
        offset: u64,
        stream: PaneStream,
        length: usize,
    ) -> [u8; FRAME_HEAD_BYTES + 9] {
        let mut bytes = [0; FRAME_HEAD_BYTES + 9];
        bytes[0] = b'D';
        bytes[1..5].copy_from_slice(&((length + 9) as u32).to_le_bytes());
        bytes[5..13].copy_from_slice(&offset.to_le_bytes());
        bytes[13] = u8::from(stream == PaneStream::Error);
        bytes
    }

    /// The first whole frame in a buffer and how many bytes it took, or nothing yet.
    pub fn decode(buffer: &'a [u8]) -> Result<Option<(Self, usize)>, MalformedFrame> {
        decode(buffer, Self::read)
    }

    fn read(kind: u8, body: &'a [u8]) -> Option<Self> {
        Some(match kind {
            b'H' => {
                let (version, rest) = number(body)?;
                let (first, rest) = number(rest)?;
                let end = rest.try_into().ok()?;
                Self::Hello {
                    version: u32::from_le_bytes(version),
                    first: u64::from_le_bytes(first),
                    end: u64::from_le_bytes(end),
                }
            }
            b'D' => {
                let (offset, rest) = number(body)?;
                let (stream, bytes) = rest.split_first()?;
                let stream = match stream {
                    0 => PaneStream::Output,
                    1 => PaneStream::Error,
                    _ => return None,
                };
                Self::Data { offset: u64::from_le_bytes(offset), stream, bytes }
            }
            b'G' => {
                let (from, to) = number(body)?;
                let to = to.try_into().ok()?;
                Self::Gap { from: u64::from_le_bytes(from), to: u64::from_le_bytes(to) }
            }
            b'I' => {
                let [echoes, collects_lines] = *body else { return None };
                let (echoes, collects_lines) = (flag(echoes)?, flag(collects_lines)?);
                Self::InputMode(InputMode { echoes, collects_lines })
            }
            b'E' if body.is_empty() => Self::OutputClosed,
            b'T' => {
                let (unread, rest) = number(body)?;
                let [discarded] = *rest else { return None };
                let unread = u32::from_le_bytes(unread);
                Self::DiscardResult(DiscardResult { unread, discarded: flag(discarded)? })
            }
            b'X' => Self::Exit(body),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_holder() -> Vec<ToHolder<'static>> {
        vec![
            ToHolder::Hello { version: 1, offset: 1 << 40, secret: b"" },
            ToHolder::Hello { version: 2, offset: 7, secret: &[3; 32] },
            ToHolder::Input(b"hello"),
            ToHolder::Input(b""),
            ToHolder::DiscardUnread { at_least: 7 },
            ToHolder::CloseInput,
            ToHolder::Resize { columns: 80, rows: 24 },
            ToHolder::Stop { force: true, grace: 5000 },
            ToHolder::Mark(b"idle"),
        ]
    }

    fn to_client() -> Vec<ToClient<'static>> {
        vec![
            ToClient::Hello { version: 1, first: 2, end: 3 },
            ToClient::Data { offset: 9, stream: PaneStream::Error, bytes: b"\xff\0" },
            ToClient::Data { offset: 9, stream: PaneStream::Output, bytes: b"" },
            ToClient::Gap { from: 1, to: u64::MAX },
            ToClient::InputMode(InputMode { echoes: false, collects_lines: true }),
            ToClient::OutputClosed,
            ToClient::DiscardResult(DiscardResult { unread: 300, discarded: true }),
            ToClient::Exit(b"{}"),
        ]
    }

    #[test]
    fn every_frame_is_read_as_it_was_written_and_not_before_it_is_whole() {
        for frame in to_holder().into_iter().filter(|frame| *frame != ToHolder::Input(b"")) {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            assert_eq!(ToHolder::decode(&bytes), Ok(Some((frame.clone(), bytes.len()))));
            for length in 0..bytes.len() {
                assert_eq!(ToHolder::decode(&bytes[..length]), Ok(None), "{frame:?}");
            }
        }
        for frame in to_client() {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            bytes.push(b'?');
            let length = bytes.len() - 1;
            assert_eq!(ToClient::decode(&bytes), Ok(Some((frame.clone(), length))));
            for length in 0..length {
                assert_eq!(ToClient::decode(&bytes[..length]), Ok(None), "{frame:?}");
            }
        }
    }

    #[test]
    fn long_input_becomes_several_frames() {
        let input = vec![7; MAX_BODY + 1];
        let mut bytes = Vec::new();
        ToHolder::Input(&input).encode(&mut bytes);
        let (first, taken) = ToHolder::decode(&bytes).unwrap().unwrap();
        assert_eq!(first, ToHolder::Input(&input[..MAX_BODY]));
        let (second, _) = ToHolder::decode(&bytes[taken..]).unwrap().unwrap();
        assert_eq!(second, ToHolder::Input(&[7]));
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let huge = [b'i', 0xff, 0xff, 0xff, 0xff];
        assert_eq!(ToHolder::decode(&huge), Err(MalformedFrame::TooLong(0xffff_ffff)));
        for bad in [
            &b"?\0\0\0\0"[..],
            b"h\x01\0\0\0x",
            b"h\x0d\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0x",
            b"c\x01\0\0\0x",
            b"r\x03\0\0\0xyz",
            b"s\x09\0\0\0\x02\0\0\0\0\0\0\0\0",
            b"D\0\0\0\0",
        ] {
            assert!(ToHolder::decode(bad).is_err(), "{bad:?}");
        }
        assert!(ToClient::decode(b"D\x09\0\0\0\0\0\0\0\0\0\0\0\x05").is_err());
    }
}
