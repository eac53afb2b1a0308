//! Text from outside, made harmless and short enough for a line.

use coven_notation::printable;
use coven_terminal::sanitise::strip;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(crate) trait PutText {
    /// Puts this at its end.
    fn put(&mut self, text: String);
}

impl PutText for String {
    fn put(&mut self, text: String) {
        self.push_str(&text);
    }
}

/// A text without escape sequences and without anything that moves a cursor, on its own lines.
pub(crate) fn clean(text: &str) -> String {
    let stripped = strip(text.as_bytes());
    stripped.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// One line with every character that would act on a terminal shown as one that does not, so that
/// what a file really has can be seen.
pub(crate) fn visible(line: &str) -> String {
    printable(line)
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

/// A line on as many lines of this many columns as it takes. Nothing of it is left out.
pub(crate) fn folded(line: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut used) = (vec![String::new()], 0);
    for character in line.chars() {
        let width = character.width().unwrap_or(0);
        if used + width > columns.max(2) {
            lines.push(String::new());
            used = 0;
        }
        used += width;
        lines.last_mut().into_iter().for_each(|last| last.push(character));
    }
    lines
}

/// A text on lines of at most this many columns, all but the first behind so many blanks. It is
/// broken between words; a word that is longer than a line stays whole, as it may be a command or
/// a path to be copied.
pub(crate) fn wrapped(text: &str, columns: usize, indent: usize) -> String {
    let mut all = String::new();
    for (place, line) in text.split('\n').enumerate() {
        let mut used = if place == 0 { indent } else { 0 };
        if place > 0 {
            all.push('\n');
        }
        // Blanks at the beginning of a line are part of how it is laid out.
        let blanks = line.len() - line.trim_start().len();
        all.push_str(&line[..blanks]);
        used += blanks;
        for (count, word) in line[blanks..].split(' ').enumerate() {
            if count > 0 && used + 1 + word.width() > columns {
                all.push('\n');
                all.push_str(&" ".repeat(indent));
                used = indent;
            } else if count > 0 {
                all.push(' ');
                used += 1;
            }
            all.push_str(word);
            used += word.width();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 12, 6), "one\n      two\n      three");
        assert_eq!(wrapped("one two three", 80, 6), "one two three");
        assert_eq!(wrapped("a /a/very/long/path b", 10, 2), "a\n  /a/very/long/path\n  b");
        assert_eq!(wrapped("one\n      two   three", 40, 6), "one\n      two   three");
    }

    #[test]
    fn sequences_of_agents_do_not_get_through() {
        assert_eq!(clean("a\x1b[31mred\x1b[0m\x1b]0;title\x07\nb\x08\x1b[2J"), "ared\nb");
        assert_eq!(one_line("  two\n\twords \x1b[5A"), "two words");
    }

    #[test]
    fn a_folded_line_has_all_of_the_text() {
        assert_eq!(folded("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(folded("日本語", 5), ["日本", "語"]);
        assert_eq!(folded("", 5), [""]);
        assert_eq!(folded("日本", 0), ["日", "本"]);
    }

    #[test]
    fn a_text_is_cut_by_columns_and_not_by_characters() {
        assert_eq!(shortened("日本語", 6), "日本語");
        assert_eq!(shortened("日本語", 5), "日本…");
        assert_eq!(shortened("abcdef", 4), "abc…");
    }
}
