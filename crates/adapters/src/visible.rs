//! Text that an agent gives as data, such as a command to be approved, for people. Nothing of it is
//! removed: a sequence that a terminal would swallow can have a command in it.

use coven_notation::printable;

/// The text with a sign for every character on which a terminal would act, or which it would not
/// show. Line feeds and tabs stay.
pub fn visible(text: &str) -> String {
    let is_layout = |character: char| matches!(character, '\n' | '\t');
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_layout) {
        let rest = piece.trim_end_matches(is_layout);
        shown.push_str(&printable(rest));
        shown.push_str(&piece[rest.len()..]);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_removed_and_what_would_not_show_has_a_sign() {
        assert_eq!(
            visible("echo hi \x1b]0;touch HIDDEN;\x07 # end\n\tx\r\n"),
            "echo hi \u{241b}]0;touch HIDDEN;\u{2407} # end\n\tx\u{240d}\n"
        );
        assert_eq!(
            visible("a\u{9d}b\u{202e}c\x1bPq;d\x1b\\"),
            "a\u{fffd}b\u{fffd}c\u{241b}Pq;d\u{241b}\\"
        );
        assert_eq!(visible("plain\ttext, häuser\n"), "plain\ttext, häuser\n");
    }
}
