//! What each key sends in each mode, what names mean, and what may never be sent.

mod encoding;
mod names;
mod typed;

use proptest::prelude::*;

use super::{KeyCode, KeyModes, KeyModifiers, KeyPress, KittyFlags};

fn key(name: &str) -> KeyPress {
    name.parse().unwrap()
}

fn kitty(bits: u16) -> KeyModes {
    KeyModes { kitty: KittyFlags::from_bits(bits), ..KeyModes::default() }
}

fn any_key() -> impl Strategy<Value = KeyPress> {
    let named = [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Insert,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
    ];
    let printable = |c: &char| !c.is_control();
    let code = prop_oneof![
        proptest::sample::select(named.to_vec()),
        (1..=24_u8).prop_map(KeyCode::F),
        any::<char>()
            .prop_filter("keys are no control characters", printable)
            .prop_map(KeyCode::Char),
        (0x20..0x7f_u8).prop_map(|b| KeyCode::Char(char::from(b))),
    ];
    (code, any::<[bool; 3]>()).prop_map(|(code, [shift, alt, ctrl])| {
        KeyPress::new(code, KeyModifiers { shift, alt, ctrl }).unwrap()
    })
}

fn any_modes() -> impl Strategy<Value = KeyModes> {
    (any::<[bool; 4]>(), any::<u16>()).prop_map(|(on, bits)| KeyModes {
        application_cursor: on[0],
        application_keypad: on[1],
        bracketed_paste: on[2],
        newline: on[3],
        kitty: KittyFlags::from_bits(bits),
    })
}
