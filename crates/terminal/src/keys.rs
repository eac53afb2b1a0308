//! Keys and text as the bytes a terminal would send to the program that runs in it.
//!
//! [`KeyPress`] is one press, written the way people write keys in configuration files; [`text`] is
//! what a person types, [`paste`] what they paste. What a press becomes depends on the modes the
//! program has turned on, so [`KeyPress::encode`] and [`paste`] take [`KeyModes`].
//!
//! No keyboard layout is known here. Where a layout matters (`Shift+1`), it is the US one.

mod encode;
mod names;
mod typed;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::BitOr;

pub use names::ParseKeyError;
pub use typed::{PasteError, TextError, paste, text};

/// The terminal modes that change what a key press or a paste looks like.
///
/// The default is a terminal that was just switched on: everything off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent terminal mode")]
pub struct KeyModes {
    /// DECCKM: arrows, Home and End without modifiers are sent as `ESC O x`, not `ESC [ x`.
    pub application_cursor: bool,
    /// DECKPAM. No [`KeyCode`] lies on the keypad, so it changes no encoding; it is here so that
    /// the modes of a screen can be copied whole.
    pub application_keypad: bool,
    /// Mode 2004: a paste is enclosed in markers, so its line breaks submit nothing.
    pub bracketed_paste: bool,
    /// LNM: Enter sends CR LF, not CR alone.
    pub newline: bool,
    /// The enhancements of the kitty keyboard protocol that are on.
    pub kitty: KittyFlags,
}

/// The progressive enhancement flags of the kitty keyboard protocol, as a program pushes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KittyFlags(u8);

impl KittyFlags {
    /// Esc and combinations with Ctrl or Alt become escape codes of their own.
    pub const DISAMBIGUATE: Self = Self(1);
    /// Repeat and release are reported too. Only presses are ever sent from here, and a press
    /// needs no event field.
    pub const EVENT_TYPES: Self = Self(2);
    /// The shifted key stands beside the key where Shift is held.
    pub const ALTERNATES: Self = Self(4);
    /// Every key, text included, is reported as an escape code.
    pub const ALL_KEYS: Self = Self(8);
    /// The escape code carries the text of the key. Without [`Self::ALL_KEYS`] the protocol
    /// leaves it undefined, and it is ignored.
    pub const TEXT: Self = Self(16);

    /// The flags of the number in `CSI > number u`. Bits the protocol does not define are dropped.
    pub const fn from_bits(bits: u16) -> Self {
        Self((bits & 0b1_1111) as u8)
    }

    /// The flags as the number the protocol uses, as in the reply `CSI ? number u`.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The flags set in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The flags set here but not in `other`.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any flag of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Which key of the keyboard is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// A key that types this character; the space bar is `Char(' ')`.
    Char(char),
    /// Enter, also called Return.
    Enter,
    Esc,
    Tab,
    /// Backspace, which deletes to the left.
    Backspace,
    /// Delete, which deletes to the right.
    Delete,
    Insert,
    Home,
    End,
    PageUp,
    PageDown,
    Up,
    Down,
    Left,
    Right,
    /// A function key, 1 to 24.
    F(u8),
}

/// The modifiers held while a key is pressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyModifiers {
    pub shift: bool,
    /// Alt, which terminals and Emacs also call Meta.
    pub alt: bool,
    pub ctrl: bool,
}

impl KeyModifiers {
    pub const NONE: Self = Self { shift: false, alt: false, ctrl: false };
    pub const SHIFT: Self = Self { shift: true, ..Self::NONE };
    pub const ALT: Self = Self { alt: true, ..Self::NONE };
    pub const CTRL: Self = Self { ctrl: true, ..Self::NONE };

    /// Whether no modifier is held.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }
}

impl BitOr for KeyModifiers {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            shift: self.shift || other.shift,
            alt: self.alt || other.alt,
            ctrl: self.ctrl || other.ctrl,
        }
    }
}

/// One press of one key, with the modifiers held.
///
/// There is one value per press: an upper-case letter is always the lower-case one with Shift.
/// `Display` writes the canonical name (`Ctrl+Shift+x`), which parses back to the same key.
///
/// `FromStr` takes what people write: a single character (`y`, `+`), a name in any case (`Enter`,
/// `esc`, `PgUp`, `F5`), and either of them after modifiers (`Ctrl+C`, `C-c`, `Alt+x`, `M-x`,
/// `Shift+Tab`). The case of a letter counts only when it stands alone: `Y` is `Shift+y`, but
/// `Ctrl+C` is `Ctrl+c`, because that is how the combination is usually written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyPress {
    code: KeyCode,
    mods: KeyModifiers,
}

/// A [`KeyCode`] that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// A control character: what it stands for has a name or is a combination with Ctrl.
    #[error("the control character U+{:04X} is not a key", u32::from(*.0))]
    Control(char),
    /// A function key that does not exist.
    #[error("F{0} is not a function key; they go from F1 to F24")]
    Function(u8),
}

impl KeyPress {
    /// A press of `code` while `mods` are held. `Char('A')` stands for the key `a` with Shift,
    /// whatever other modifiers are held.
    pub fn new(code: KeyCode, mut mods: KeyModifiers) -> Result<Self, InvalidKey> {
        let code = match code {
            KeyCode::Char(c) if c.is_control() => return Err(InvalidKey::Control(c)),
            KeyCode::F(n) if !(1..=24).contains(&n) => return Err(InvalidKey::Function(n)),
            KeyCode::Char(c) => KeyCode::Char(unshifted(c).map_or(c, |lower| {
                mods.shift = true;
                lower
            })),
            other => other,
        };
        Ok(Self { code, mods })
    }

    /// Which key is pressed.
    pub fn code(self) -> KeyCode {
        self.code
    }

    pub fn mods(self) -> KeyModifiers {
        self.mods
    }

    /// The bytes a terminal in these modes sends for this press.
    ///
    /// Without kitty flags this is what xterm sends. There a combination that the old encoding
    /// does not have loses what it cannot say: `Ctrl+Shift+c` is `Ctrl+c`, `Ctrl+1` is `1`.
    pub fn encode(self, modes: KeyModes) -> Vec<u8> {
        encode::encode(self, modes)
    }
}

impl fmt::Display for KeyPress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyModifiers { shift, alt, ctrl } = self.mods;
        for (held, name) in [(ctrl, "Ctrl+"), (alt, "Alt+"), (shift, "Shift+")] {
            if held {
                f.write_str(name)?;
            }
        }
        fmt::Display::fmt(&self.code, f)
    }
}

impl fmt::Display for KeyCode {
    /// Writes the canonical name of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Char(' ') => f.write_str("Space"),
            Self::Char(c) => write!(f, "{c}"),
            Self::F(n) => write!(f, "F{n}"),
            // The other variants are called what the keys are called.
            named => write!(f, "{named:?}"),
        }
    }
}

/// The lower-case letter of an upper-case one, if Shift leads back from it to the same letter.
fn unshifted(c: char) -> Option<char> {
    let lower = only(c.to_lowercase())?;
    (lower != c && only(lower.to_uppercase()) == Some(c)).then_some(lower)
}

/// What a key types with Shift held: the US layout for ASCII, upper case for other letters.
/// `None` where Shift changes nothing.
fn shifted(c: char) -> Option<char> {
    const PLAIN: &str = "`1234567890-=[]\\;',./";
    const SHIFTED: &str = "~!@#$%^&*()_+{}|:\"<>?";
    if let Some(at) = PLAIN.find(c) {
        return SHIFTED[at..].chars().next();
    }
    only(c.to_uppercase()).filter(|&upper| upper != c)
}

/// The character of an iterator that has exactly one.
fn only(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}
