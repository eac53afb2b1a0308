//! Text from outside, made harmless and short enough for a line.

use coven_notation::printable;
use coven_terminal::sanitise::strip;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text that grows.
pub(crate) trait Put {
    /// Puts this at its end.
    fn put(&mut self, text: String);
}

impl Put for String {
    fn put(&mut self, text: String) {
        self.push_str(&text);
    }
}

/// A text without escape sequences and without anything that moves a cursor, on its own lines.
pub(crate) fn clean(text: &str) -> String {
    let stripped = strip(text.as_bytes());
    stripped.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// The same on one line.
pub(crate) fn one_line(text: &str) -> String {
    let stripped = strip(text.as_bytes());
    printable(&stripped.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text cut to this many columns, with a mark where something is missing.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > columns {
            break;
        }
        short.push(character);
    }
    short + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_of_agents_do_not_get_through() {
        assert_eq!(clean("a\x1b[31mred\x1b[0m\x1b]0;title\x07\nb\x08\x1b[2J"), "ared\nb");
        assert_eq!(one_line("  two\n\twords \x1b[5A"), "two words");
    }

    #[test]
    fn a_text_is_cut_by_columns_and_not_by_characters() {
        assert_eq!(shortened("日本語", 6), "日本語");
        assert_eq!(shortened("日本語", 5), "日本…");
        assert_eq!(shortened("abcdef", 4), "abc…");
    }
}
