//! Bytes from a terminal, as the keys that were pressed.
//!
//! Two things make this more than a table: bytes arrive cut anywhere, and the Escape key is the
//! same byte that begins every sequence. A lone escape counts as the key once nothing has followed
//! it for a moment, so time is an input.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// How long a lone escape may still become a sequence. Terminals send sequences whole; only a slow
/// line tears them apart.
const ESCAPE_WAIT: Duration = Duration::from_millis(30);

/// How long a sequence may get. What is longer was never a key.
const MAX_SEQUENCE_BYTES: usize = 4096;

/// How much may be pasted at once.
const MAX_PASTE_BYTES: usize = 1024 * 1024;

const PASTE_END: &[u8] = b"\x1b[201~";

/// A key, or what a terminal sends in place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TuiKey {
    Char(char),
    Ctrl(char),
    Enter,
    /// A line break within the text.
    NewLine,
    Escape,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    Paste(String),
}

#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    /// Bytes that are not a whole key yet.
    pending: Vec<u8>,
    /// What was pasted so far, while something is being pasted.
    pasted: Option<Vec<u8>>,
    /// When a pending escape becomes a key.
    escape_at: Option<Duration>,
}

impl KeyDecoder {
    /// The keys that are complete with these bytes.
    pub(super) fn feed(&mut self, bytes: &[u8], now: Duration) -> Vec<TuiKey> {
        self.escape_at = None;
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            let taken = match &mut self.pasted {
                Some(pasted) => {
                    let (taken, done) = paste(&self.pending, pasted);
                    if done {
                        keys.push(TuiKey::Paste(text(&self.pasted.take().unwrap_or_default())));
                    }
                    taken
                }
                None => match step(&self.pending) {
                    DecodeStep::Key(key, taken) => {
                        keys.push(key);
                        taken
                    }
                    DecodeStep::Skip(taken) => taken,
                    DecodeStep::Paste(taken) => {
                        self.pasted = Some(Vec::new());
                        taken
                    }
                    DecodeStep::More => 0,
                },
            };
            if taken == 0 {
                break;
            }
            self.pending.drain(..taken);
        }
        if self.pasted.is_none() && self.pending == [0x1b] {
            self.escape_at = Some(now + ESCAPE_WAIT);
        }
        keys
    }

    /// When [`timeout`](Self::timeout) has something to say.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.escape_at
    }

    /// The Escape key, if it has been pressed long enough ago.
    pub(super) fn timeout(&mut self, now: Duration) -> Option<TuiKey> {
        self.escape_at.filter(|at| *at <= now)?;
        self.escape_at = None;
        self.pending.clear();
        Some(TuiKey::Escape)
    }
}

/// What the bytes begin with, and how many bytes that takes.
enum DecodeStep {
    Key(TuiKey, usize),
    Skip(usize),
    Paste(usize),
    More,
}

fn step(bytes: &[u8]) -> DecodeStep {
    let key = |key| DecodeStep::Key(key, 1);
    match *bytes {
        [] => DecodeStep::More,
        [0x1b, ..] => escape(bytes),
        [b'\r', ..] => key(TuiKey::Enter),
        [b'\n', ..] => key(TuiKey::NewLine),
        [0x7f | 0x08, ..] => key(TuiKey::Backspace),
        [b'\t', ..] => key(TuiKey::Char('\t')),
        [control @ 1..=26, ..] => key(TuiKey::Ctrl((control - 1 + b'a').into())),
        [0..=31, ..] => DecodeStep::Skip(1),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> DecodeStep {
    let first = &bytes[..bytes.len().min(4)];
    let valid = match str::from_utf8(first) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => {
            return error.error_len().map_or(DecodeStep::More, DecodeStep::Skip);
        }
        Err(error) => str::from_utf8(&first[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid
        .chars()
        .next()
        .map_or(DecodeStep::More, |char| DecodeStep::Key(TuiKey::Char(char), char.len_utf8()))
}

fn escape(bytes: &[u8]) -> DecodeStep {
    match *bytes {
        [_] | [_, b'O'] => DecodeStep::More,
        [_, b'[', ..] => control_sequence(bytes),
        [_, b'O', letter, ..] => {
            arrow(letter).map_or(DecodeStep::Skip(3), |key| DecodeStep::Key(key, 3))
        }
        [_, b']' | b'P' | b'X' | b'^' | b'_', ..] => string(bytes),
        [_, b'\r', ..] => DecodeStep::Key(TuiKey::NewLine, 2),
        // Escape twice, or Escape and the beginning of something else.
        [_, 0x1b, ..] => DecodeStep::Key(TuiKey::Escape, 1),
        // Some letter with Alt.
        _ => DecodeStep::Skip(2),
    }
}

fn control_sequence(bytes: &[u8]) -> DecodeStep {
    let body = &bytes[2..];
    let Some(length) = body.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return unfinished(bytes);
    };
    let taken = length + 3;
    let (parameters, last) = (&body[..length], body[length]);
    let key = match (parameters, last) {
        (b"200", b'~') => return DecodeStep::Paste(taken),
        (b"1" | b"7", b'~') => Some(TuiKey::Home),
        (b"4" | b"8", b'~') => Some(TuiKey::End),
        (b"3", b'~') => Some(TuiKey::Delete),
        (_, b'~') => None,
        (_, letter) => arrow(letter),
    };
    key.map_or(DecodeStep::Skip(taken), |key| DecodeStep::Key(key, taken))
}

fn arrow(letter: u8) -> Option<TuiKey> {
    Some(match letter {
        b'A' => TuiKey::Up,
        b'B' => TuiKey::Down,
        b'C' => TuiKey::Right,
        b'D' => TuiKey::Left,
        b'H' => TuiKey::Home,
        b'F' => TuiKey::End,
        _ => return None,
    })
}

/// Something a terminal says of itself. It ends with a bell or with `ESC \`.
fn string(bytes: &[u8]) -> DecodeStep {
    let end = bytes[2..].iter().position(|byte| *byte == 0x07 || *byte == 0x1b);
    match end.map(|at| &bytes[at + 2..]) {
        // Neither of its two ends, but another escape, begins something new.
        Some([0x07, rest @ ..] | [_, b'\\', rest @ ..] | rest @ [_, _, ..]) => {
            DecodeStep::Skip(bytes.len() - rest.len())
        }
        _ => unfinished(bytes),
    }
}

fn unfinished(bytes: &[u8]) -> DecodeStep {
    if bytes.len() > MAX_SEQUENCE_BYTES { DecodeStep::Skip(bytes.len()) } else { DecodeStep::More }
}

/// Moves what is pasted, up to where it ends. Returns how many bytes were taken, and whether that
/// was all.
fn paste(bytes: &[u8], pasted: &mut Vec<u8>) -> (usize, bool) {
    let end = bytes.windows(PASTE_END.len()).position(|window| window == PASTE_END);
    // Without its end in sight, the last bytes may be the beginning of it.
    let length = end.unwrap_or(bytes.len().saturating_sub(PASTE_END.len() - 1));
    let room = MAX_PASTE_BYTES.saturating_sub(pasted.len());
    pasted.extend_from_slice(&bytes[..length.min(room)]);
    (length + end.map_or(0, |_| PASTE_END.len()), end.is_some())
}

fn text(pasted: &[u8]) -> String {
    String::from_utf8_lossy(pasted).replace("\r\n", "\n").replace('\r', "\n")
}
