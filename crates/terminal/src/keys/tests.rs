//! What each key sends in each mode, what names mean, and what may never be sent.

mod encoding;
mod names;
mod typed;

use proptest::prelude::*;

use super::{Code, Key, KittyFlags, Modes, Mods};

fn key(name: &str) -> Key {
    name.parse().unwrap()
}

fn kitty(bits: u16) -> Modes {
    Modes { kitty: KittyFlags::from_bits(bits), ..Modes::default() }
}

fn any_key() -> impl Strategy<Value = Key> {
    let named = [
        Code::Enter,
        Code::Esc,
        Code::Tab,
        Code::Backspace,
        Code::Delete,
        Code::Insert,
        Code::Home,
        Code::End,
        Code::PageUp,
        Code::PageDown,
        Code::Up,
        Code::Down,
        Code::Left,
        Code::Right,
    ];
    let printable = |c: &char| !c.is_control();
    let code = prop_oneof![
        proptest::sample::select(named.to_vec()),
        (1..=24_u8).prop_map(Code::F),
        any::<char>().prop_filter("keys are no control characters", printable).prop_map(Code::Char),
        (0x20..0x7f_u8).prop_map(|b| Code::Char(char::from(b))),
    ];
    (code, any::<[bool; 3]>())
        .prop_map(|(code, [shift, alt, ctrl])| Key::new(code, Mods { shift, alt, ctrl }).unwrap())
}

fn any_modes() -> impl Strategy<Value = Modes> {
    (any::<[bool; 4]>(), any::<u16>()).prop_map(|(on, bits)| Modes {
        application_cursor: on[0],
        application_keypad: on[1],
        bracketed_paste: on[2],
        newline: on[3],
        kitty: KittyFlags::from_bits(bits),
    })
}
