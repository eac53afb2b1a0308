//! Text as a person types or pastes it. Neither may ever submit by accident.

use super::KeyModes;

const PASTE_START: &str = "\x1b[200~";
const PASTE_END: &str = "\x1b[201~";
/// The end marker with the one-character form of `ESC [`, which some programs read as well.
const PASTE_END_C1: &str = "\u{9b}201~";

/// A text that cannot be typed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot type the control character U+{:04X} at byte {at}; {}",
    u32::from(*.character),
    typing_hint(*.character)
)]
pub struct TextError {
    /// The byte offset of the character in the text, from 0.
    pub at: usize,
    pub character: char,
}

/// A text that cannot be pasted safely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasteError {
    /// The text would end the paste itself, and the rest of it would be taken as key presses.
    #[error("the text contains the marker that ends a paste, at byte {at}; remove it")]
    EndMarker {
        /// The byte offset of the marker in the text, from 0.
        at: usize,
    },
    /// A control character other than tab and line breaks; some programs act on it even inside
    /// a paste.
    #[error(
        "the text contains the control character U+{:04X} at byte {at}; remove it",
        u32::from(*.character)
    )]
    Control {
        /// The byte offset of the character in the text, from 0.
        at: usize,
        character: char,
    },
    /// A line break, while the program does not understand pastes.
    #[error(
        "the text has a line break at byte {at}, but the program has not turned bracketed paste \
         on: each line break would submit what stands before it"
    )]
    LineBreak {
        /// The byte offset of the first line break in the text, from 0.
        at: usize,
    },
}

/// The bytes of `text` as a person types it.
///
/// Every control character is refused, line breaks included: a text is submitted by a
/// press of Enter, and several lines go through [`paste`].
pub fn text(text: &str) -> Result<Vec<u8>, TextError> {
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, character)) => Err(TextError { at, character }),
        None => Ok(text.as_bytes().to_vec()),
    }
}

/// The bytes of `text` as a terminal pastes it.
///
/// In bracketed mode the text stands between the two markers and its line breaks (`\r\n`, `\n`)
/// are sent as `\r`, as terminals do. Otherwise a text of one line is sent as it is, and one with
/// a line break, even a last one, is refused. In both modes tabs pass, which a program without
/// bracketed paste takes for presses of Tab, and other control characters are refused.
pub fn paste(text: &str, modes: KeyModes) -> Result<Vec<u8>, PasteError> {
    let markers = [text.find(PASTE_END), text.find(PASTE_END_C1)];
    if let Some(at) = markers.into_iter().flatten().min() {
        return Err(PasteError::EndMarker { at });
    }
    let control = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    if let Some((at, character)) = text.char_indices().find(|(_, c)| control(*c)) {
        return Err(PasteError::Control { at, character });
    }
    if modes.bracketed_paste {
        let lines = text.replace("\r\n", "\r").replace('\n', "\r");
        return Ok([PASTE_START, &lines, PASTE_END].concat().into_bytes());
    }
    match text.find(['\n', '\r']) {
        Some(at) => Err(PasteError::LineBreak { at }),
        None => Ok(text.as_bytes().to_vec()),
    }
}

/// What to do instead of typing this control character.
fn typing_hint(character: char) -> String {
    match character {
        '\n' | '\r' => "paste text of several lines, or press Enter to submit".to_owned(),
        '\t' => "paste the text, or press Tab".to_owned(),
        '\x1b' => "press Esc".to_owned(),
        '\x08' | '\x7f' => "press Backspace".to_owned(),
        '\0' => "press Ctrl+Space".to_owned(),
        c if c < ' ' => format!("press Ctrl+{}", char::from(c as u8 + 0x40)),
        _ => "remove it".to_owned(),
    }
}
