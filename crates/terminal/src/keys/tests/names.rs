//! What names mean, and what is said about wrong ones.

use proptest::prelude::*;

use super::{KeyCode, KeyModes, KeyModifiers, KeyPress, any_key, key};
use crate::keys::InvalidKey;

fn complaint(name: &str) -> String {
    name.parse::<KeyPress>().unwrap_err().to_string()
}

#[test]
fn people_may_write_the_same_key_in_many_ways() {
    let table: &[(&str, &[&str])] = &[
        ("Enter", &["enter", "ENTER", "Return"]),
        ("Esc", &["esc", "Escape"]),
        ("Up", &["up", "ArrowUp"]),
        ("Down", &["ArrowDown"]),
        ("Left", &["ArrowLeft"]),
        ("Right", &["ArrowRight"]),
        ("PageUp", &["PgUp", "pageup"]),
        ("PageDown", &["PgDn", "PgDown"]),
        ("Delete", &["Del"]),
        ("Insert", &["Ins"]),
        ("Space", &[" ", "space"]),
        ("Shift+Tab", &["BackTab", "S-Tab", "Shift+BackTab", "shift-tab"]),
        ("Ctrl+c", &["Ctrl+C", "C-c", "c-C", "Control+c", "ctrl-c"]),
        ("Alt+x", &["M-x", "A-x", "Meta+X", "Option+x"]),
        ("Ctrl+Alt+Shift+F5", &["S-M-C-f5"]),
        ("Shift+y", &["Y", "Shift+Y", "S-y"]),
        ("+", &["Plus"]),
        ("-", &["Minus"]),
        ("Ctrl++", &["C-+", "Ctrl+Plus"]),
        ("Ctrl+-", &["C--", "Ctrl-Minus"]),
        ("2", &["2"]),
        ("é", &["é"]),
    ];
    for (canonical, aliases) in table {
        assert_eq!(key(canonical).to_string(), *canonical);
        for alias in *aliases {
            assert_eq!(key(alias), key(canonical), "{alias}");
        }
    }
}

#[test]
fn a_wrong_name_is_quoted_with_what_may_have_been_meant() {
    let table = [
        ("", "a key was expected, but the name is empty"),
        ("Entr", "unknown key \"Entr\"; did you mean Enter?"),
        ("Ctrl+Etner", "unknown key \"Etner\"; did you mean Enter?"),
        ("PgeUp", "unknown key \"PgeUp\"; did you mean PageUp?"),
        ("Page-Up", "unknown key \"Page-Up\"; did you mean PageUp?"),
        ("Back-Tab", "unknown key \"Back-Tab\"; did you mean Shift+Tab?"),
        ("Crtl+C", "unknown modifier \"Crtl\"; did you mean Ctrl?"),
        ("Super+x", "unknown modifier \"Super\"; modifiers are Ctrl, Alt and Shift"),
        ("Ctrl+", "\"Ctrl+\" names modifiers but no key; put one after them, as in Ctrl+C"),
        ("C-Control-x", "the modifier Ctrl is given twice"),
        ("F25", "F25 is not a function key; they go from F1 to F24"),
        ("f0", "f0 is not a function key; they go from F1 to F24"),
        ("F999999", "F999999 is not a function key; they go from F1 to F24"),
        (
            "\r",
            "the control character U+000D is not a key; use a name such as Enter, Esc or Ctrl+C",
        ),
        (
            "yes please",
            "unknown key \"yes please\"; \
             a key is one character or a name such as Enter, Esc, Up, F5, Ctrl+C",
        ),
    ];
    for (name, message) in table {
        assert_eq!(complaint(name), message);
    }
}

#[test]
fn a_long_wrong_name_makes_no_long_message() {
    for name in ["é".repeat(100_000), "x+".repeat(100_000), format!("F{}", "1".repeat(100_000))] {
        assert!(complaint(&name).len() < 200, "{}", complaint(&name));
    }
}

#[test]
fn codes_that_are_no_keys_are_refused() {
    assert_eq!(
        KeyPress::new(KeyCode::Char('\r'), KeyModifiers::NONE),
        Err(InvalidKey::Control('\r'))
    );
    assert_eq!(
        KeyPress::new(KeyCode::Char('\u{9b}'), KeyModifiers::NONE),
        Err(InvalidKey::Control('\u{9b}'))
    );
    assert_eq!(KeyPress::new(KeyCode::F(0), KeyModifiers::NONE), Err(InvalidKey::Function(0)));
    assert_eq!(KeyPress::new(KeyCode::F(25), KeyModifiers::NONE), Err(InvalidKey::Function(25)));
}

#[test]
fn letters_whose_case_does_not_lead_back_stay_as_they_are() {
    for c in ['ß', 'ẞ', 'İ', 'ǅ', '漢'] {
        let sharp = KeyPress::new(KeyCode::Char(c), KeyModifiers::NONE).unwrap();
        assert_eq!((sharp.code(), sharp.mods()), (KeyCode::Char(c), KeyModifiers::NONE));
        assert_eq!(sharp.encode(KeyModes::default()), c.to_string().into_bytes());
    }
}

proptest! {
    #[test]
    fn a_key_is_read_back_from_its_name(key in any_key()) {
        prop_assert_eq!(key.to_string().parse::<KeyPress>(), Ok(key));
    }

    #[test]
    fn no_name_makes_the_parser_panic(name in any::<String>()) {
        name.parse::<KeyPress>().ok();
    }
}
