//! Text from outside, made harmless and short enough for a line.

use std::borrow::Cow;

use coven_notation::{is_unprintable, printable};
use coven_terminal::sanitise::strip;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::charset::OutputCharset;
use super::paint;

/// A text as it is printed: our own paint as escape sequences, and everything else on which a
/// terminal would act as characters that show. Every string that a command prints comes through
/// here.
pub(crate) fn shown(text: &str) -> String {
    shown_in(text, OutputCharset::of_environment())
}

fn shown_in(text: &str, charset: OutputCharset) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if is_plain(line) {
            shown.push_str(line);
        } else {
            put_shown(line, charset, &mut shown);
        }
    }
    shown
}

/// Whether a text is printed as it is everywhere: ASCII without anything that acts on a terminal.
/// Nearly every output is, and may have hundreds of megabytes.
fn is_plain(text: &str) -> bool {
    let is_clean = || matches!(strip(text.as_bytes()), Cow::Borrowed(_));
    text.is_ascii() && !text.contains('\r') && is_clean()
}

fn put_shown(text: &str, charset: OutputCharset, shown: &mut String) {
    for piece in text.split_inclusive(is_kept) {
        let kept = piece.chars().next_back().filter(|last| is_kept(*last));
        let rest = &piece[..piece.len() - kept.map_or(0, char::len_utf8)];
        charset.put(&printable(rest), shown);
        match kept.and_then(paint::sequence) {
            Some(sequence) => shown.push_str(sequence),
            None => shown.extend(kept),
        }
    }
}

/// Whether this is laid out or painted by it, and not made visible.
fn is_kept(character: char) -> bool {
    matches!(character, '\n' | '\t') || paint::sequence(character).is_some()
}

/// JSON in which nothing acts on a terminal. It means the same: only strings can have such
/// characters, and there they are escaped.
pub(crate) fn json_shown(json: &str) -> String {
    json_shown_in(json, OutputCharset::of_environment())
}

fn json_shown_in(json: &str, charset: OutputCharset) -> String {
    if is_plain(json) {
        return json.to_owned();
    }
    let mut shown = String::with_capacity(json.len());
    let fits = |character: char| charset == OutputCharset::Unicode || character.is_ascii();
    for character in json.chars() {
        if character == '\n' || (!is_unprintable(character) && fits(character)) {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            shown.put(format!("\\u{unit:04x}"));
        }
    }
    shown
}

pub(crate) trait PutText {
    /// Puts this at its end.
    fn put(&mut self, text: String);
}

impl PutText for String {
    fn put(&mut self, text: String) {
        self.push_str(&text);
    }
}

/// A text with a sign for everything on which a terminal would act, on its own lines. Nothing is
/// removed: it may be a command that is to be approved.
pub(crate) fn clean(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// One line with every character that would act on a terminal shown as one that does not, so that
/// what a file really has can be seen.
pub(crate) fn visible(line: &str) -> String {
    printable(line)
}

/// The same on one line.
pub(crate) fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// How many columns a text takes, painted or not.
pub(crate) fn width(text: &str) -> usize {
    let unmarked: String =
        text.chars().filter(|character| paint::sequence(*character).is_none()).collect();
    printable(&unmarked).width()
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
    fn sequences_of_agents_do_not_get_through_and_hide_nothing() {
        assert_eq!(
            clean("a\x1b[31mred\x1b]0;title\x07\nb\x08\x1bPx"),
            "a\u{241b}[31mred\u{241b}]0;title\u{2407}\nb\u{2408}\u{241b}Px"
        );
        assert_eq!(one_line("  two\n\twords \x1b[5A"), "two words \u{241b}[5A");
    }

    #[test]
    fn only_our_own_paint_acts_on_a_terminal() {
        let painted = super::super::OutputPaint::new(true).red("a\x1b[2J\u{202e}b");
        let shown = |text: &str| shown_in(text, OutputCharset::Unicode);
        assert_eq!(shown(&painted), "\x1b[1;31ma\u{241b}[2J\u{fffd}b\x1b[0m");
        assert_eq!(width(&painted), 7);
        assert_eq!(shown("a\tb\r\n\u{fdd7}日本語"), "a\tb\u{240d}\n\u{fffd}日本語");
    }

    /// What is long goes a short way, which must come to the same.
    #[test]
    fn a_plain_text_is_printed_as_it_is_and_so_are_plain_lines_beside_others() {
        let slow = |text: &str, charset| {
            let mut shown = String::new();
            put_shown(text, charset, &mut shown);
            shown
        };
        let texts =
            ["plain\tand\nmore\n", "one\r\ntwo", "a\u{7f}b\nplain\n", "\u{85}\n日本\nx", ""];
        for text in texts {
            for charset in [OutputCharset::Unicode, OutputCharset::Ascii] {
                assert_eq!(shown_in(text, charset), slow(text, charset), "{text:?}");
            }
        }
        assert!(is_plain("plain\tand\nmore\n"));
        for text in ["a\rb", "a\x1b[1mb", "a\u{7f}b", "é", "\u{fdd0}a", "a\0", "a\u{b}b"] {
            assert!(!is_plain(text), "{text:?}");
        }
    }

    #[test]
    fn json_means_the_same_and_shows_what_it_has() {
        let value = serde_json::json!({"a\u{9b}": "\u{202e}\u{7f}\u{e0041}日\n"});
        let text = json_shown_in(&format!("{value:#}"), OutputCharset::Ascii);
        assert!(text.is_ascii());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        let text = json_shown_in(&format!("{value:#}"), OutputCharset::Unicode);
        assert!(!text.replace('\n', "").contains(is_unprintable), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
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
