//! The keys that are meant for `coven` and not for the agent.

use std::str::FromStr;

use coven_terminal::keys::{KeyCode, KeyModes, KeyModifiers, KeyPress};

/// The bit of Ctrl in the number of modifiers, which is one more than all bits.
const CTRL_MODIFIER_BIT: u32 = 4;

/// The key that begins a command to `coven`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrefixKey {
    key: KeyPress,
}

impl Default for PrefixKey {
    fn default() -> Self {
        let key = KeyPress::new(KeyCode::Char(']'), KeyModifiers::CTRL);
        // A bracket is a key.
        Self { key: key.unwrap_or_else(|_| unreachable!()) }
    }
}

impl FromStr for PrefixKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // People write ctrl-a as often as Ctrl+a.
        let lower = text.to_ascii_lowercase();
        let name = match lower.strip_prefix("ctrl-") {
            Some(rest) => format!("Ctrl+{rest}"),
            None => text.to_owned(),
        };
        let key: KeyPress = name.parse().map_err(|error| format!("{error}"))?;
        let typed = key.encode(KeyModes::default());
        match (typed.as_slice(), key.mods().is_empty()) {
            // A key that types something would be lost to the agent.
            ([0x20..=0x7e], _) => Err("use a key that types nothing, such as ctrl-a".to_owned()),
            _ => Ok(Self { key }),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypedInput {
    /// This goes to the agent.
    Bytes(Vec<u8>),
    /// Leave the agent alone.
    Detach,
    Take,
}

/// Finds the prefix and what follows it in what is typed.
#[derive(Debug)]
pub(super) struct PrefixFilter {
    prefix: PrefixKey,
    legacy: Vec<u8>,
    /// The prefix as it was typed, when the next key says what it means.
    pending: Option<Vec<u8>>,
}

/// One key press, as far as it matters here.
struct DecodedPress<'a> {
    bytes: &'a [u8],
    /// The character, where it is one, without what Ctrl makes of it.
    character: Option<char>,
    ctrl: bool,
    /// Newer terminals also tell when a key is let go.
    released: bool,
}

impl PrefixFilter {
    pub(super) fn new(prefix: PrefixKey) -> Self {
        Self { prefix, legacy: prefix.key.encode(KeyModes::default()), pending: None }
    }

    /// Takes what was typed.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<TypedInput> {
        let mut all = Vec::new();
        let mut plain = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let press = self.press(rest);
            rest = &rest[press.bytes.len()..];
            let is_prefix = self.is_prefix(&press);
            let Some(before) = self.pending.take() else {
                if is_prefix && !press.released {
                    self.pending = Some(press.bytes.to_vec());
                } else {
                    plain.extend_from_slice(press.bytes);
                }
                continue;
            };
            if press.released {
                self.pending = Some(before);
                continue;
            }
            let command = match press.character {
                Some('d') => Some(TypedInput::Detach),
                Some('t') => Some(TypedInput::Take),
                _ => None,
            };
            match command {
                Some(command) => {
                    flush(&mut all, &mut plain);
                    all.push(command);
                }
                // Twice the prefix types it once.
                None if is_prefix => plain.extend_from_slice(press.bytes),
                None => plain.extend(before.iter().chain(press.bytes)),
            }
        }
        flush(&mut all, &mut plain);
        all
    }

    fn is_prefix(&self, press: &DecodedPress<'_>) -> bool {
        if press.bytes == self.legacy {
            return true;
        }
        let KeyCode::Char(character) = self.prefix.key.code() else { return false };
        press.character == Some(character) && press.ctrl == self.prefix.key.mods().ctrl
    }

    /// The first key of what was typed.
    fn press<'a>(&self, bytes: &'a [u8]) -> DecodedPress<'a> {
        if bytes.starts_with(&self.legacy) {
            let bytes = &bytes[..self.legacy.len()];
            return DecodedPress { bytes, character: None, ctrl: true, released: false };
        }
        if let Some(press) = spelled(bytes) {
            return press;
        }
        let character = Some(char::from(bytes[0])).filter(char::is_ascii_graphic);
        DecodedPress { bytes: &bytes[..1], character, ctrl: false, released: false }
    }
}

fn flush(all: &mut Vec<TypedInput>, plain: &mut Vec<u8>) {
    if !plain.is_empty() {
        all.push(TypedInput::Bytes(std::mem::take(plain)));
    }
}

/// A key that is spelled out: `CSI code ; modifiers : event u`, or `CSI 27 ; modifiers ; code ~`.
fn spelled(bytes: &[u8]) -> Option<DecodedPress<'_>> {
    let body = bytes.strip_prefix(b"\x1b[")?;
    let end = body.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
    let numbers = std::str::from_utf8(&body[..end]).ok()?;
    let first = |part: &str| part.split(':').next().and_then(|number| number.parse::<u32>().ok());
    let parts: Vec<&str> = numbers.split(';').collect();
    let (code, modifiers, event) = match (body[end], parts.as_slice()) {
        (b'u', [code]) => (first(code)?, 1, 1),
        (b'u', [code, modifiers, ..]) => {
            let event = modifiers.split(':').nth(1).and_then(|event| event.parse().ok());
            (first(code)?, first(modifiers)?, event.unwrap_or(1))
        }
        (b'~', ["27", modifiers, code]) => (first(code)?, first(modifiers)?, 1),
        _ => return None,
    };
    Some(DecodedPress {
        bytes: &bytes[..end + 3],
        character: char::from_u32(code),
        ctrl: (modifiers.saturating_sub(1)) & CTRL_MODIFIER_BIT != 0,
        released: event == 3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(chunks: &[&[u8]]) -> Vec<TypedInput> {
        let mut filter = PrefixFilter::new(PrefixKey::default());
        chunks.iter().flat_map(|chunk| filter.feed(chunk)).collect()
    }

    fn bytes(text: &[u8]) -> TypedInput {
        TypedInput::Bytes(text.to_vec())
    }

    #[test]
    fn the_prefix_and_d_leave_in_one_piece_or_two() {
        assert_eq!(fed(&[b"ab\x1dd"]), [bytes(b"ab"), TypedInput::Detach]);
        assert_eq!(fed(&[b"\x1d", b"d"]), [TypedInput::Detach]);
    }

    #[test]
    fn terminals_that_spell_keys_out_are_understood() {
        // Pressed, released, then d pressed, as kitty tells it to a program that wants all of it.
        assert_eq!(fed(&[b"\x1b[93;5u", b"\x1b[93;5:3u", b"\x1b[100;1:1u"]), [TypedInput::Detach]);
        assert_eq!(fed(&[b"\x1b[27;5;93~d"]), [TypedInput::Detach]);
    }

    #[test]
    fn twice_the_prefix_types_it_and_anything_else_goes_through() {
        assert_eq!(fed(&[b"\x1d\x1d"]), [bytes(b"\x1d")]);
        assert_eq!(fed(&[b"\x1dx"]), [bytes(b"\x1dx")]);
        assert_eq!(fed(&[b"\x1b[A\x1b[97;5u"]), [bytes(b"\x1b[A\x1b[97;5u")]);
        assert_eq!(fed(&[b"\x1dt"]), [TypedInput::Take]);
    }

    #[test]
    fn a_prefix_can_be_chosen_and_must_not_be_a_letter() {
        let mut filter = PrefixFilter::new("ctrl-a".parse().unwrap());
        assert_eq!(filter.feed(b"\x01d"), [TypedInput::Detach]);
        assert!("q".parse::<PrefixKey>().is_err());
        assert!("no-such-key".parse::<PrefixKey>().is_err());
    }
}
