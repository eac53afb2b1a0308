//! From a key press to bytes: xterm's encoding, and the kitty keyboard protocol where it is on.
//!
//! References: xterm's "Control Sequences" and
//! <https://sw.kovidgoyal.net/kitty/keyboard-protocol/>.

use super::{KeyCode, KeyModes, KeyModifiers, KeyPress, KittyFlags, shifted};

/// Any of these makes the keys that type no text use the escape codes of the protocol. The
/// others only decorate such codes.
const KITTY_FORMS: KittyFlags =
    KittyFlags::DISAMBIGUATE.union(KittyFlags::EVENT_TYPES).union(KittyFlags::ALL_KEYS);

pub(super) fn encode(key: KeyPress, modes: KeyModes) -> Vec<u8> {
    let held = key.mods;
    let kitty = modes.kitty.intersects(KITTY_FORMS);
    // The short form `ESC O x` exists without modifiers only; the protocol does not use it.
    let short = held.is_empty() && !kitty;
    let short_cursor = short && modes.application_cursor;
    match key.code {
        KeyCode::Char(c) => char_key(c, held, modes.kitty),
        KeyCode::Enter => control_key(13, key, modes),
        KeyCode::Esc => control_key(27, key, modes),
        KeyCode::Tab => control_key(9, key, modes),
        KeyCode::Backspace => control_key(127, key, modes),
        KeyCode::Up => letter_sequence('A', short_cursor, held),
        KeyCode::Down => letter_sequence('B', short_cursor, held),
        KeyCode::Right => letter_sequence('C', short_cursor, held),
        KeyCode::Left => letter_sequence('D', short_cursor, held),
        KeyCode::End => letter_sequence('F', short_cursor, held),
        KeyCode::Home => letter_sequence('H', short_cursor, held),
        KeyCode::Insert => numbered(2, held),
        KeyCode::Delete => numbered(3, held),
        KeyCode::PageUp => numbered(5, held),
        KeyCode::PageDown => numbered(6, held),
        KeyCode::F(1) => letter_sequence('P', short, held),
        KeyCode::F(2) => letter_sequence('Q', short, held),
        // `CSI 1;2R` is also a cursor position report, so in the protocol F3 is `CSI 13~`.
        KeyCode::F(3) if !kitty => letter_sequence('R', short, held),
        KeyCode::F(4) => letter_sequence('S', short, held),
        KeyCode::F(n) if kitty && n > 12 => csi_u(57_376 + u32::from(n - 13), None, held, None),
        KeyCode::F(n) => numbered(function_number(n), held),
    }
}

/// A key that types a character.
fn char_key(c: char, mods: KeyModifiers, flags: KittyFlags) -> Vec<u8> {
    // Ctrl and Alt make a command of the key: it then types nothing.
    let types_text = !mods.ctrl && !mods.alt;
    let with_shift = if mods.shift { shifted(c) } else { None };
    let typed = with_shift.unwrap_or(c);

    let all_keys = flags.contains(KittyFlags::ALL_KEYS);
    if !all_keys && types_text {
        return utf8(typed);
    }
    if !all_keys && !flags.contains(KittyFlags::DISAMBIGUATE) {
        return legacy_combination(c, mods);
    }
    let alternate = with_shift.filter(|_| flags.contains(KittyFlags::ALTERNATES));
    let text = (types_text && all_keys && flags.contains(KittyFlags::TEXT)).then_some(typed);
    csi_u(u32::from(c), alternate, mods, text)
}

/// Ctrl or Alt with a character, as terminals have sent it since the VT100.
fn legacy_combination(c: char, mods: KeyModifiers) -> Vec<u8> {
    // Shift selects another symbol (`Ctrl+Shift+-` is `Ctrl+_`), but a control code has no case.
    let c = match shifted(c) {
        Some(upper) if mods.shift && !(mods.ctrl && c.is_alphabetic()) => upper,
        _ => c,
    };
    let bytes = if mods.ctrl { control_code(c).map(|b| vec![b]) } else { None };
    prefixed(mods.alt, bytes.unwrap_or_else(|| utf8(c)))
}

/// The control code Ctrl makes of a character, where terminals agree on one.
fn control_code(c: char) -> Option<u8> {
    Some(match c {
        'a'..='z' => c as u8 & 0x1f,
        ' ' | '2' | '@' => 0,
        '3' | '[' => 0x1b,
        '4' | '\\' => 0x1c,
        '5' | ']' => 0x1d,
        '6' | '^' | '~' => 0x1e,
        '7' | '/' | '_' => 0x1f,
        '8' | '?' => 0x7f,
        _ => return None,
    })
}

/// Enter, Esc, Tab and Backspace: keys whose old encoding is a control code.
fn control_key(code: u32, key: KeyPress, modes: KeyModes) -> Vec<u8> {
    let flags = modes.kitty;
    // Unmodified, all but Esc stay what they are until every key is asked for, so that a shell
    // is still usable after a program died without turning the protocol off.
    let as_escape_code = if key.mods.is_empty() {
        key.code == KeyCode::Esc && flags.contains(KittyFlags::DISAMBIGUATE)
    } else {
        flags.intersects(KITTY_FORMS)
    };
    if as_escape_code || flags.contains(KittyFlags::ALL_KEYS) {
        return csi_u(code, None, key.mods, None);
    }
    let bytes: &[u8] = match key.code {
        KeyCode::Enter if modes.newline => b"\r\n",
        KeyCode::Enter => b"\r",
        KeyCode::Esc => b"\x1b",
        KeyCode::Tab if key.mods.shift => b"\x1b[Z",
        KeyCode::Tab => b"\t",
        _ if key.mods.ctrl => b"\x08",
        _ => b"\x7f",
    };
    prefixed(key.mods.alt, bytes.to_vec())
}

/// The number of a function key in `CSI number ~`. The gaps are the VT220's: its keys stood in
/// groups, and xterm continued after them.
fn function_number(n: u8) -> u8 {
    match n {
        0..=5 => 10 + n,
        6..=10 => 11 + n,
        11..=14 => 12 + n,
        15..=16 => 13 + n,
        17..=20 => 14 + n,
        _ => 21 + n,
    }
}

/// `ESC O letter`, or `CSI letter` with the modifiers as its second parameter.
fn letter_sequence(letter: char, short: bool, mods: KeyModifiers) -> Vec<u8> {
    if short {
        format!("\x1bO{letter}").into_bytes()
    } else if mods.is_empty() {
        format!("\x1b[{letter}").into_bytes()
    } else {
        format!("\x1b[1;{}{letter}", parameter(mods)).into_bytes()
    }
}

/// `CSI number ~`, with the modifiers as its second parameter.
fn numbered(number: u8, mods: KeyModifiers) -> Vec<u8> {
    if mods.is_empty() {
        format!("\x1b[{number}~").into_bytes()
    } else {
        format!("\x1b[{number};{}~", parameter(mods)).into_bytes()
    }
}

/// `CSI code[:alternate] [; [modifiers] [; text]] u`
fn csi_u(code: u32, alternate: Option<char>, mods: KeyModifiers, text: Option<char>) -> Vec<u8> {
    let alternate = alternate.map_or(String::new(), |c| format!(":{}", u32::from(c)));
    let modifiers = match (mods.is_empty(), text) {
        (true, None) => String::new(),
        (true, Some(_)) => ";".to_owned(),
        (false, _) => format!(";{}", parameter(mods)),
    };
    let text = text.map_or(String::new(), |c| format!(";{}", u32::from(c)));
    format!("\x1b[{code}{alternate}{modifiers}{text}u").into_bytes()
}

/// Modifiers as a parameter: one more than their bits, in xterm and kitty alike.
fn parameter(mods: KeyModifiers) -> u8 {
    1 + u8::from(mods.shift) + 2 * u8::from(mods.alt) + 4 * u8::from(mods.ctrl)
}

fn prefixed(alt: bool, mut bytes: Vec<u8>) -> Vec<u8> {
    if alt {
        bytes.insert(0, 0x1b);
    }
    bytes
}

fn utf8(c: char) -> Vec<u8> {
    String::from(c).into_bytes()
}
