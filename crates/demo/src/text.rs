//! Text that goes to a screen: without anything that would move the cursor, and cut to fit.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns the text takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// How many columns the character takes.
pub(crate) fn char_width(char: char) -> usize {
    UnicodeWidthChar::width(char).unwrap_or(0)
}

/// The text without escape sequences and control characters; new lines stay, tabs become spaces.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\x1b' => skip_sequence(&mut chars),
            '\n' => cleaned.push('\n'),
            '\t' => cleaned.push_str("    "),
            '\r' if chars.peek() != Some(&'\n') => cleaned.push('\n'),
            char if char.is_control() => {}
            char => cleaned.push(char),
        }
    }
    cleaned
}

/// What follows an escape character and belongs to it.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => {
            chars.find(|char| ('@'..='~').contains(char));
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(char) = chars.next() {
                if char == '\x07' || (char == '\x1b' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// The beginning of the text, with a `…` if there is more than fits.
pub(crate) fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut clipped = String::new();
    let mut used = 1;
    for char in text.chars() {
        used += char_width(char);
        if used > columns {
            break;
        }
        clipped.push(char);
    }
    if columns > 0 {
        clipped.push('…');
    }
    clipped
}

/// The text in lines of at most that many columns, broken between words where it can be.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| wrap_line(line, columns.max(1))).collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        // A space at the end of a line may stick out: it is invisible, and cut off below.
        let needed = width(word.trim_end_matches(' '));
        if used > 0 && used + needed > columns {
            lines.push(String::new());
            used = 0;
        }
        for char in word.chars() {
            let wide = char_width(char);
            if used + wide > columns && used > 0 && char != ' ' {
                lines.push(String::new());
                used = 0;
            }
            if let Some(last) = lines.last_mut() {
                last.push(char);
            }
            used += wide;
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end_matches(' ').len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_the_cursor_is_left() {
        let dirty = "a\x1b[31mb\x1b[0mc\x1b]0;title\x07d\x1b]8;;x\x1b\\e\x07\x08\u{9b}f\tg\r\nh\ri";
        assert_eq!(clean(dirty), "abcdef    g\nh\ni");
        assert_eq!(clean("cut\x1b["), "cut");
        assert_eq!(clean("cut\x1b]0;no end"), "cut");
        assert_eq!(clean("cut\x1b"), "cut");
    }

    #[test]
    fn long_lines_break_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one\n\ntwo", 7), ["one", "", "two"]);
        assert_eq!(wrap("  indented text", 10), ["  indented", "text"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn long_words_break_where_they_must() {
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a bcdefgh", 3), ["a", "bcd", "efg", "h"]);
        assert_eq!(wrap("日本語", 5), ["日本", "語"]);
        assert_eq!(wrap("日本", 1), ["日", "本"]);
    }

    #[test]
    fn clipped_text_fits_and_says_so() {
        assert_eq!(clip("hello", 5), "hello");
        assert_eq!(clip("hello!", 5), "hell…");
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(clip("hello", 0), "");
    }
}
