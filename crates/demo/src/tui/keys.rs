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
const LONGEST_SEQUENCE: usize = 4096;

/// How much may be pasted at once.
const LONGEST_PASTE: usize = 1024 * 1024;

const PASTE_END: &[u8] = b"\x1b[201~";

/// A key, or what a terminal sends in place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
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
pub(super) struct Keys {
    /// Bytes that are not a whole key yet.
    pending: Vec<u8>,
    /// What was pasted so far, while something is being pasted.
    pasted: Option<Vec<u8>>,
    /// When a pending escape becomes a key.
    escape_at: Option<Duration>,
}

impl Keys {
    /// The keys that are complete with these bytes.
    pub(super) fn feed(&mut self, bytes: &[u8], now: Duration) -> Vec<Key> {
        self.escape_at = None;
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            let taken = match &mut self.pasted {
                Some(pasted) => {
                    let (taken, done) = paste(&self.pending, pasted);
                    if done {
                        keys.push(Key::Paste(text(&self.pasted.take().unwrap_or_default())));
                    }
                    taken
                }
                None => match step(&self.pending) {
                    Step::Key(key, taken) => {
                        keys.push(key);
                        taken
                    }
                    Step::Skip(taken) => taken,
                    Step::Paste(taken) => {
                        self.pasted = Some(Vec::new());
                        taken
                    }
                    Step::More => 0,
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
    pub(super) fn timeout(&mut self, now: Duration) -> Option<Key> {
        self.escape_at.filter(|at| *at <= now)?;
        self.escape_at = None;
        self.pending.clear();
        Some(Key::Escape)
    }
}

/// What the bytes begin with, and how many bytes that takes.
enum Step {
    Key(Key, usize),
    Skip(usize),
    Paste(usize),
    More,
}

fn step(bytes: &[u8]) -> Step {
    let key = |key| Step::Key(key, 1);
    match *bytes {
        [] => Step::More,
        [0x1b, ..] => escape(bytes),
        [b'\r', ..] => key(Key::Enter),
        [b'\n', ..] => key(Key::NewLine),
        [0x7f | 0x08, ..] => key(Key::Backspace),
        [b'\t', ..] => key(Key::Char('\t')),
        [control @ 1..=26, ..] => key(Key::Ctrl((control - 1 + b'a').into())),
        [0..=31, ..] => Step::Skip(1),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Step {
    let first = &bytes[..bytes.len().min(4)];
    let valid = match str::from_utf8(first) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => {
            return error.error_len().map_or(Step::More, Step::Skip);
        }
        Err(error) => str::from_utf8(&first[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid.chars().next().map_or(Step::More, |char| Step::Key(Key::Char(char), char.len_utf8()))
}

fn escape(bytes: &[u8]) -> Step {
    match *bytes {
        [_] | [_, b'O'] => Step::More,
        [_, b'[', ..] => control_sequence(bytes),
        [_, b'O', letter, ..] => arrow(letter).map_or(Step::Skip(3), |key| Step::Key(key, 3)),
        [_, b']' | b'P' | b'X' | b'^' | b'_', ..] => string(bytes),
        [_, b'\r', ..] => Step::Key(Key::NewLine, 2),
        // Escape twice, or Escape and the beginning of something else.
        [_, 0x1b, ..] => Step::Key(Key::Escape, 1),
        // Some letter with Alt.
        _ => Step::Skip(2),
    }
}

fn control_sequence(bytes: &[u8]) -> Step {
    let body = &bytes[2..];
    let Some(length) = body.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return unfinished(bytes);
    };
    let taken = length + 3;
    let (parameters, last) = (&body[..length], body[length]);
    let key = match (parameters, last) {
        (b"200", b'~') => return Step::Paste(taken),
        (b"1" | b"7", b'~') => Some(Key::Home),
        (b"4" | b"8", b'~') => Some(Key::End),
        (b"3", b'~') => Some(Key::Delete),
        (_, b'~') => None,
        (_, letter) => arrow(letter),
    };
    key.map_or(Step::Skip(taken), |key| Step::Key(key, taken))
}

fn arrow(letter: u8) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        _ => return None,
    })
}

/// Something a terminal says of itself. It ends with a bell or with `ESC \`.
fn string(bytes: &[u8]) -> Step {
    let end = bytes[2..].iter().position(|byte| *byte == 0x07 || *byte == 0x1b);
    match end.map(|at| &bytes[at + 2..]) {
        // Neither of its two ends, but another escape, begins something new.
        Some([0x07, rest @ ..] | [_, b'\\', rest @ ..] | rest @ [_, _, ..]) => {
            Step::Skip(bytes.len() - rest.len())
        }
        _ => unfinished(bytes),
    }
}

fn unfinished(bytes: &[u8]) -> Step {
    if bytes.len() > LONGEST_SEQUENCE { Step::Skip(bytes.len()) } else { Step::More }
}

/// Moves what is pasted, up to where it ends. Returns how many bytes were taken, and whether that
/// was all.
fn paste(bytes: &[u8], pasted: &mut Vec<u8>) -> (usize, bool) {
    let end = bytes.windows(PASTE_END.len()).position(|window| window == PASTE_END);
    // Without its end in sight, the last bytes may be the beginning of it.
    let length = end.unwrap_or(bytes.len().saturating_sub(PASTE_END.len() - 1));
    let room = LONGEST_PASTE.saturating_sub(pasted.len());
    pasted.extend_from_slice(&bytes[..length.min(room)]);
    (length + end.map_or(0, |_| PASTE_END.len()), end.is_some())
}

fn text(pasted: &[u8]) -> String {
    String::from_utf8_lossy(pasted).replace("\r\n", "\n").replace('\r', "\n")
}
