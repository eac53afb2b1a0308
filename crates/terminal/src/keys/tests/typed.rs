//! What typed and pasted text may hold, and what is sent for it.

use proptest::prelude::*;

use super::{KeyModes, KittyFlags, any_modes};
use crate::keys::{PasteError, TextError, paste, text};

#[test]
fn typed_text_is_sent_as_it_is() {
    assert_eq!(text("ls -l 'ä'"), Ok("ls -l 'ä'".as_bytes().to_vec()));
    assert_eq!(text(""), Ok(Vec::new()));
}

#[test]
fn typed_text_may_not_hold_control_characters() {
    let table = [
        ("a\nb", 1, "U+000A at byte 1; paste text of several lines, or press Enter to submit"),
        ("ä\r", 2, "U+000D at byte 2; paste text of several lines, or press Enter to submit"),
        ("\t", 0, "U+0009 at byte 0; paste the text, or press Tab"),
        ("\x1b[A", 0, "U+001B at byte 0; press Esc"),
        ("\x03", 0, "U+0003 at byte 0; press Ctrl+C"),
        ("\x1c", 0, "U+001C at byte 0; press Ctrl+\\"),
        ("\0", 0, "U+0000 at byte 0; press Ctrl+Space"),
        ("x\x7f", 1, "U+007F at byte 1; press Backspace"),
        ("\u{9b}A", 0, "U+009B at byte 0; remove it"),
    ];
    for (given, offset, message) in table {
        let error = text(given).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot type the control character {message}"));
        let TextError { at, character } = error;
        assert_eq!((at, Some(character)), (offset, given[offset..].chars().next()));
    }
}

const BRACKETED: KeyModes = KeyModes {
    application_cursor: false,
    application_keypad: false,
    bracketed_paste: true,
    newline: false,
    kitty: KittyFlags::from_bits(0),
};

#[test]
fn a_bracketed_paste_stands_between_markers_with_carriage_returns() {
    let sent = paste("one\ntwo\r\nthree\r\tä\n\n", BRACKETED).unwrap();
    assert_eq!(String::from_utf8(sent).unwrap(), "\x1b[200~one\rtwo\rthree\r\tä\r\r\x1b[201~");
}

#[test]
fn an_unbracketed_paste_has_one_line_only() {
    assert_eq!(paste("one\ttwo", KeyModes::default()), Ok(b"one\ttwo".to_vec()));
    for given in ["one\ntwo", "one\r", "one\r\n"] {
        let error = paste(given, KeyModes::default()).unwrap_err();
        assert_eq!(error, PasteError::LineBreak { at: 3 });
        assert_eq!(
            error.to_string(),
            "the text has a line break at byte 3, but the program has not turned bracketed paste \
             on: each line break would submit what stands before it"
        );
    }
}

#[test]
fn a_paste_may_not_end_itself_nor_hold_control_characters() {
    for modes in [KeyModes::default(), BRACKETED] {
        let end = PasteError::EndMarker { at: 1 };
        assert_eq!(paste("ä\x1b[201~\x03", modes), Err(PasteError::EndMarker { at: 2 }));
        assert_eq!(paste("a\u{9b}201~", modes), Err(end.clone()));
        assert_eq!(paste("a\u{9b}201~\x1b[201~", modes), Err(end));
        for character in ['\x1b', '\0', '\x03', '\x08', '\x7f', '\u{85}', '\u{9b}'] {
            let given = format!("ok {character}[200~");
            assert_eq!(paste(&given, modes), Err(PasteError::Control { at: 3, character }));
        }
    }
}

/// Text with a good share of what is dangerous in a paste.
fn hostile_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => any::<String>(),
        2 => "[ -~]{0,8}",
        1 => proptest::sample::select(vec![
            "\x1b", "[", "201~", "\x1b[201~", "\u{9b}", "\u{9b}201~", "\n", "\r\n", "\t", "\x03",
        ]).prop_map(str::to_owned),
    ];
    proptest::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_paste_ends_once_and_at_its_end(given in hostile_text(), modes in any_modes()) {
        if let Ok(sent) = paste(&given, modes) {
            let sent = String::from_utf8(sent).unwrap();
            let ends = sent.matches("\x1b[201~").count() + sent.matches("\u{9b}201~").count();
            prop_assert_eq!(ends, usize::from(modes.bracketed_paste));
            prop_assert_eq!(sent.ends_with("\x1b[201~"), modes.bracketed_paste);
            prop_assert!(!sent.contains('\n'));
            prop_assert!(modes.bracketed_paste || !sent.contains('\r'));
        }
    }

    #[test]
    fn a_paste_of_harmless_text_is_never_refused(given in "[ -~äß漢\t\r\n]{0,40}") {
        let sent = String::from_utf8(paste(&given, BRACKETED).unwrap()).unwrap();
        let breaks = given.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(sent.replace('\r', "\n"), format!("\x1b[200~{breaks}\x1b[201~"));
    }

    #[test]
    fn typed_text_holds_no_control_bytes(given in hostile_text()) {
        match text(&given) {
            Ok(sent) => prop_assert!(sent.iter().all(|&b| b >= 0x20 && b != 0x7f)),
            Err(error) => prop_assert!(error.character.is_control()),
        }
    }
}
