//! What each key sends in each mode.

use proptest::prelude::*;

use super::{KeyModes, KittyFlags, any_key, any_modes, key, kitty};

/// Checks a table of names and the bytes they send, written as text.
fn check(modes: KeyModes, table: &[(&str, &str)]) {
    for (name, bytes) in table {
        let sent = key(name).encode(modes);
        assert_eq!(String::from_utf8_lossy(&sent), *bytes, "{name} in {modes:?}");
    }
}

#[test]
fn without_modes_keys_send_what_xterm_sends() {
    check(
        KeyModes::default(),
        &[
            ("y", "y"),
            ("Y", "Y"),
            ("Shift+1", "!"),
            ("ä", "ä"),
            ("Shift+ä", "Ä"),
            ("Space", " "),
            ("Shift+Space", " "),
            ("Enter", "\r"),
            ("Shift+Enter", "\r"),
            ("Ctrl+Enter", "\r"),
            ("Alt+Enter", "\x1b\r"),
            ("Esc", "\x1b"),
            ("Alt+Esc", "\x1b\x1b"),
            ("Tab", "\t"),
            ("Ctrl+Tab", "\t"),
            ("Shift+Tab", "\x1b[Z"),
            ("Alt+Shift+Tab", "\x1b\x1b[Z"),
            ("Backspace", "\x7f"),
            ("Ctrl+Backspace", "\x08"),
            ("Ctrl+Alt+Backspace", "\x1b\x08"),
            ("Up", "\x1b[A"),
            ("Down", "\x1b[B"),
            ("Right", "\x1b[C"),
            ("Left", "\x1b[D"),
            ("Home", "\x1b[H"),
            ("End", "\x1b[F"),
            ("Shift+Up", "\x1b[1;2A"),
            ("Alt+Left", "\x1b[1;3D"),
            ("Ctrl+Right", "\x1b[1;5C"),
            ("Ctrl+Alt+Shift+End", "\x1b[1;8F"),
            ("Insert", "\x1b[2~"),
            ("Delete", "\x1b[3~"),
            ("PageUp", "\x1b[5~"),
            ("PageDown", "\x1b[6~"),
            ("Ctrl+PageDown", "\x1b[6;5~"),
        ],
    );
}

#[test]
fn combinations_with_ctrl_and_alt_send_control_codes() {
    check(
        KeyModes::default(),
        &[
            ("Ctrl+a", "\x01"),
            ("Ctrl+C", "\x03"),
            ("Ctrl+Shift+c", "\x03"),
            ("Ctrl+z", "\x1a"),
            ("Ctrl+Space", "\0"),
            ("Ctrl+Shift+Space", "\0"),
            ("Ctrl+@", "\0"),
            ("Ctrl+Shift+2", "\0"),
            ("Ctrl+[", "\x1b"),
            ("Ctrl+\\", "\x1c"),
            ("Ctrl+]", "\x1d"),
            ("Ctrl+^", "\x1e"),
            ("Ctrl+_", "\x1f"),
            ("Ctrl+Shift+-", "\x1f"),
            ("Ctrl+/", "\x1f"),
            ("Ctrl+?", "\x7f"),
            ("Ctrl+1", "1"),
            ("Ctrl+ä", "ä"),
            ("Alt+x", "\x1bx"),
            ("Alt+Shift+x", "\x1bX"),
            ("Alt+Shift+1", "\x1b!"),
            ("Alt+ä", "\x1bä"),
            ("Alt+Space", "\x1b "),
            ("Ctrl+Alt+a", "\x1b\x01"),
        ],
    );
}

#[test]
fn function_keys_send_the_numbers_of_the_vt220_and_xterm() {
    let numbers = [15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34, 42, 43, 44, 45];
    for (n, number) in (5..=24).zip(numbers) {
        let (plain, ctrl) = (format!("F{n}"), format!("Ctrl+F{n}"));
        check(
            KeyModes::default(),
            &[
                (plain.as_str(), format!("\x1b[{number}~").as_str()),
                (ctrl.as_str(), format!("\x1b[{number};5~").as_str()),
            ],
        );
    }
    check(
        KeyModes::default(),
        &[
            ("F1", "\x1bOP"),
            ("F2", "\x1bOQ"),
            ("F3", "\x1bOR"),
            ("F4", "\x1bOS"),
            ("Shift+F1", "\x1b[1;2P"),
            ("Shift+F3", "\x1b[1;2R"),
        ],
    );
}

#[test]
fn application_cursor_changes_only_unmodified_cursor_keys() {
    check(
        KeyModes { application_cursor: true, application_keypad: true, ..KeyModes::default() },
        &[
            ("Up", "\x1bOA"),
            ("Down", "\x1bOB"),
            ("Right", "\x1bOC"),
            ("Left", "\x1bOD"),
            ("Home", "\x1bOH"),
            ("End", "\x1bOF"),
            ("Ctrl+Up", "\x1b[1;5A"),
            ("PageUp", "\x1b[5~"),
            ("F1", "\x1bOP"),
            ("F5", "\x1b[15~"),
            ("Enter", "\r"),
            ("5", "5"),
        ],
    );
}

#[test]
fn newline_mode_adds_a_line_feed_to_enter() {
    let modes = KeyModes { newline: true, ..KeyModes::default() };
    check(modes, &[("Enter", "\r\n"), ("Alt+Enter", "\x1b\r\n"), ("Ctrl+m", "\r")]);
    check(KeyModes { kitty: KittyFlags::DISAMBIGUATE, ..modes }, &[("Enter", "\r\n")]);
    check(KeyModes { kitty: KittyFlags::ALL_KEYS, ..modes }, &[("Enter", "\x1b[13u")]);
}

/// What flag 1 asks for, and flags that only add to it must keep.
const DISAMBIGUATED: &[(&str, &str)] = &[
    ("y", "y"),
    ("Y", "Y"),
    ("Shift+1", "!"),
    ("Space", " "),
    ("Enter", "\r"),
    ("Tab", "\t"),
    ("Backspace", "\x7f"),
    ("Shift+Enter", "\x1b[13;2u"),
    ("Shift+Tab", "\x1b[9;2u"),
    ("Ctrl+Backspace", "\x1b[127;5u"),
    ("Esc", "\x1b[27u"),
    ("Alt+Esc", "\x1b[27;3u"),
    ("Ctrl+C", "\x1b[99;5u"),
    ("Ctrl+i", "\x1b[105;5u"),
    ("Ctrl+Space", "\x1b[32;5u"),
    ("Alt+[", "\x1b[91;3u"),
    ("Alt+ä", "\x1b[228;3u"),
    ("Ctrl+Alt+a", "\x1b[97;7u"),
    ("Up", "\x1b[A"),
    ("Ctrl+Up", "\x1b[1;5A"),
    ("Home", "\x1b[H"),
    ("Delete", "\x1b[3~"),
    ("F1", "\x1b[P"),
    ("F3", "\x1b[13~"),
    ("Shift+F3", "\x1b[13;2~"),
    ("F4", "\x1b[S"),
    ("F5", "\x1b[15~"),
    ("F13", "\x1b[57376u"),
    ("Ctrl+F24", "\x1b[57387;5u"),
];

#[test]
fn kitty_flag_1_disambiguates_and_leaves_text_alone() {
    check(kitty(1), DISAMBIGUATED);
    check(kitty(1), &[("Ctrl+Shift+a", "\x1b[97;6u"), ("Alt+Shift+1", "\x1b[49;4u")]);
    let modes = KeyModes { application_cursor: true, ..kitty(1) };
    check(modes, &[("Up", "\x1b[A"), ("End", "\x1b[F")]);
}

#[test]
fn kitty_flags_7_add_the_shifted_key_to_escape_codes() {
    check(kitty(7), DISAMBIGUATED);
    check(
        kitty(7),
        &[
            ("Ctrl+Shift+a", "\x1b[97:65;6u"),
            ("Alt+Shift+1", "\x1b[49:33;4u"),
            ("Alt+Shift+ä", "\x1b[228:196;4u"),
            ("Ctrl+Shift+Space", "\x1b[32;6u"),
            ("Ctrl+Shift+Up", "\x1b[1;6A"),
        ],
    );
}

#[test]
fn kitty_flag_8_reports_every_key_as_an_escape_code() {
    check(
        kitty(8),
        &[
            ("y", "\x1b[121u"),
            ("Y", "\x1b[121;2u"),
            ("!", "\x1b[33u"),
            ("Space", "\x1b[32u"),
            ("Enter", "\x1b[13u"),
            ("Tab", "\x1b[9u"),
            ("Shift+Tab", "\x1b[9;2u"),
            ("Backspace", "\x1b[127u"),
            ("Esc", "\x1b[27u"),
            ("Ctrl+C", "\x1b[99;5u"),
            ("Up", "\x1b[A"),
            ("F1", "\x1b[P"),
        ],
    );
    check(kitty(12), &[("Y", "\x1b[121:89;2u"), ("y", "\x1b[121u")]);
}

#[test]
fn kitty_flags_24_carry_the_text_of_keys_that_type_some() {
    check(
        kitty(24),
        &[
            ("a", "\x1b[97;;97u"),
            ("A", "\x1b[97;2;65u"),
            ("Shift+1", "\x1b[49;2;33u"),
            ("Space", "\x1b[32;;32u"),
            ("Ctrl+a", "\x1b[97;5u"),
            ("Alt+a", "\x1b[97;3u"),
            ("Enter", "\x1b[13u"),
            ("Up", "\x1b[A"),
        ],
    );
    check(kitty(31), &[("A", "\x1b[97:65;2;65u")]);
}

#[test]
fn kitty_flags_that_only_decorate_change_nothing_alone() {
    for bits in [4, 16, 20] {
        check(
            kitty(bits),
            &[("a", "a"), ("Esc", "\x1b"), ("Ctrl+Shift+a", "\x01"), ("F1", "\x1bOP")],
        );
    }
}

#[test]
fn kitty_flag_2_alone_uses_the_protocol_for_keys_without_text() {
    check(
        KeyModes { application_cursor: true, ..kitty(2) },
        &[
            ("a", "a"),
            ("Ctrl+a", "\x01"),
            ("Esc", "\x1b"),
            ("Enter", "\r"),
            ("Shift+Tab", "\x1b[9;2u"),
            ("Up", "\x1b[A"),
            ("F3", "\x1b[13~"),
        ],
    );
}

#[test]
fn every_character_standing_alone_sends_itself() {
    for c in (char::MIN..=char::MAX).filter(|c| !c.is_control()) {
        let name = c.to_string();
        assert_eq!(key(&name).encode(KeyModes::default()), name.into_bytes());
    }
}

#[test]
fn kitty_flags_are_those_the_protocol_defines() {
    assert_eq!(KittyFlags::from_bits(0xff07).bits(), 7);
    let (one, three) = (KittyFlags::DISAMBIGUATE, KittyFlags::from_bits(3));
    assert_eq!(one.union(KittyFlags::EVENT_TYPES), three);
    assert_eq!(three.difference(one), KittyFlags::EVENT_TYPES);
    assert!(three.contains(one) && !one.contains(three));
    assert!(one.intersects(three) && !one.intersects(KittyFlags::TEXT));
}

proptest! {
    #[test]
    fn every_key_sends_something_in_every_mode(key in any_key(), modes in any_modes()) {
        prop_assert!(!key.encode(modes).is_empty());
    }
}
