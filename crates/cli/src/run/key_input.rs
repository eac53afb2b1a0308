//! What the bytes from a keyboard are: keys one by one, or a text that was pasted.

use std::io::{self, Write};

use crate::tty::{KeyMode, TerminalKeyboard};

/// Turns bracketed paste on and off: a terminal that knows it puts marks around what is pasted.
const BRACKETED_PASTE_ON: &[u8] = b"\x1b[?2004h";
const BRACKETED_PASTE_OFF: &[u8] = b"\x1b[?2004l";

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// The most bytes of a sequence or of a character that are kept until the rest comes.
const MAX_PENDING_BYTES: usize = 32;

/// The keyboard while single keys are commands. The terminal marks what is pasted until this is
/// dropped.
#[derive(Debug)]
pub(super) struct CommandKeyboard {
    keyboard: TerminalKeyboard,
}

impl CommandKeyboard {
    /// Takes the keyboard. Must be called inside the runtime.
    pub(super) fn take() -> io::Result<Self> {
        let keyboard = TerminalKeyboard::take(KeyMode::Single)?;
        write_mode(BRACKETED_PASTE_ON)?;
        Ok(Self { keyboard })
    }

    /// What was typed; nothing once the terminal is gone.
    pub(super) async fn read(&self) -> io::Result<Vec<u8>> {
        self.keyboard.read().await
    }
}

impl Drop for CommandKeyboard {
    fn drop(&mut self) {
        // Nothing more can be done for a terminal that is gone.
        write_mode(BRACKETED_PASTE_OFF).ok();
    }
}

fn write_mode(sequence: &[u8]) -> io::Result<()> {
    let mut terminal = io::stdout();
    terminal.write_all(sequence)?;
    terminal.flush()
}

/// A key, or what was pasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyInput {
    Key(char),
    /// A part of a text that was pasted, without line breaks.
    Pasted(String),
    /// A key with a name, such as an arrow, or one with Alt.
    Named,
}

/// Reads keys from bytes, also where a read ends within a character or within a mark.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    pending: Vec<u8>,
    pasting: bool,
}

impl KeyDecoder {
    /// Takes the bytes of one read.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<KeyInput> {
        let mut rest = std::mem::take(&mut self.pending);
        rest.extend_from_slice(bytes);
        let mut rest = rest.as_slice();
        let mut keys = Vec::new();
        while !rest.is_empty() {
            let read = if self.pasting { self.pasted(rest) } else { self.key(rest) };
            let Some((key, length)) = read else {
                if rest.len() <= MAX_PENDING_BYTES {
                    self.pending = rest.to_vec();
                }
                break;
            };
            keys.extend(key);
            rest = &rest[length..];
        }
        keys
    }

    /// The next key and how many bytes it has; nothing if the rest of it is still to come.
    fn key(&mut self, bytes: &[u8]) -> Option<(Option<KeyInput>, usize)> {
        if bytes.starts_with(PASTE_BEGIN) {
            self.pasting = true;
            return Some((Some(KeyInput::Pasted(String::new())), PASTE_BEGIN.len()));
        }
        match bytes {
            // The key itself; a sequence comes in one piece.
            [0x1b] => Some((Some(KeyInput::Key('\x1b')), 1)),
            [0x1b, b'[', parameters @ ..] => {
                let end = parameters.iter().position(|byte| matches!(byte, 0x40..=0x7e))?;
                Some((Some(KeyInput::Named), end + 3))
            }
            [0x1b, b'O'] => None,
            [0x1b, b'O', _, ..] => Some((Some(KeyInput::Named), 3)),
            [0x1b, _, ..] => Some((Some(KeyInput::Named), 2)),
            _ => {
                let (character, length) = first_character(bytes)?;
                Some((Some(KeyInput::Key(character)), length))
            }
        }
    }

    /// What is pasted up to the mark at its end, or up to the end of the read.
    fn pasted(&mut self, bytes: &[u8]) -> Option<(Option<KeyInput>, usize)> {
        if bytes.starts_with(PASTE_END) {
            self.pasting = false;
            return Some((None, PASTE_END.len()));
        }
        let (mut text, mut length) = (String::new(), 0);
        while length < bytes.len() && !bytes[length..].starts_with(PASTE_END) {
            if PASTE_END.starts_with(&bytes[length..]) {
                break;
            }
            let Some((character, more)) = first_character(&bytes[length..]) else { break };
            length += more;
            match character {
                '\r' | '\n' | '\t' => text.push(' '),
                character if !character.is_control() => text.push(character),
                _ => {}
            }
        }
        (length > 0).then_some((Some(KeyInput::Pasted(text)), length))
    }
}

/// The first character and how many bytes it has; nothing if the rest of it is still to come.
fn first_character(bytes: &[u8]) -> Option<(char, usize)> {
    let part = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(part) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&part[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => {
            return error.error_len().map(|length| (char::REPLACEMENT_CHARACTER, length));
        }
    };
    valid.chars().next().map(|character| (character, character.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&[u8]]) -> Vec<KeyInput> {
        let mut decoder = KeyDecoder::default();
        parts.iter().flat_map(|part| decoder.feed(part)).collect()
    }

    #[test]
    fn keys_are_characters_and_those_with_names_are_none() {
        use KeyInput::{Key, Named};
        assert_eq!(read(&[b"ab"]), [Key('a'), Key('b')]);
        assert_eq!(read(&[b"\x1b"]), [Key('\x1b')]);
        assert_eq!(read(&[b"\x1b[A", b"\x1bOP", b"\x1b[1;5Ca", b"\x1ba"]).len(), 5);
        assert_eq!(read(&[b"x\x1b[A"]), [Key('x'), Named]);
        assert_eq!(read(&[b"\x1b[1;", b"5C", b"q"]), [Named, Key('q')]);
    }

    #[test]
    fn a_character_that_comes_in_two_reads_is_one() {
        assert_eq!(read(&[b"\xc3", b"\xa4"]), [KeyInput::Key('ä')]);
        assert_eq!(read(&[b"\xff", b"a"]), [KeyInput::Key('\u{fffd}'), KeyInput::Key('a')]);
    }

    #[test]
    fn what_is_pasted_is_no_key_wherever_the_reads_end() {
        let all = b"\x1b[200~a \xc3\xa4\r\nb\x1b[201~c";
        for at in 2..all.len() {
            let keys = read(&[&all[..at], &all[at..]]);
            let (last, pasted) = keys.split_last().unwrap();
            assert_eq!(*last, KeyInput::Key('c'), "{at}");
            let text = |key: &KeyInput| match key {
                KeyInput::Pasted(text) => text.clone(),
                key => panic!("{at}: {key:?}"),
            };
            assert_eq!(pasted.iter().map(text).collect::<String>(), "a ä  b", "{at}");
        }
    }
}
