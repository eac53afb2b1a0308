//! The line of a question by which people know it in a list: its own, and not one of its answers,
//! the keys below it, what is painted around it or what was asked and answered before.

use std::sync::LazyLock;

use regex::Regex;

use super::LineView;
use super::generic::{ASKS, is_key_hint, pattern};
use super::menu::{is_edge, question_before};
use super::own_lines::{MIN_QUESTION_LETTERS, letters};

/// How many lines above its entries the question of a menu may begin.
const LINES_ABOVE_ENTRIES: usize = 8;

/// What programs put before a line that they ask in.
const PROMPT_MARKS: [char; 6] = ['?', '◆', '>', '❯', '›', '»'];

/// Those of them that stand before nothing else.
const QUESTION_MARKS: [char; 2] = ['?', '◆'];

/// What programs put before a line that they have asked in, once it is answered.
const ANSWERED_MARKS: [char; 4] = ['✔', '✓', '◇', '■'];

/// What programs say behind their question about the keys that choose.
static HINT_BEHIND: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\s*(?:\([^()]*\)|[›»…]\s*-.*)\s*$"));

/// The title of what is asked in a line.
pub(super) fn of_line(view: &LineView<'_>, line: usize) -> Option<String> {
    let own = text(view, line);
    if letters(own) >= MIN_QUESTION_LETTERS {
        return Some(without_mark(own).to_owned());
    }
    // It says only which answers there are.
    let above = filled_above(view, line).next().map(|above| text(view, above));
    let above = above.filter(|above| !is_answered(above)).map(without_mark);
    let words: Vec<&str> = above.into_iter().chain([own]).filter(|text| has_words(text)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The title of a menu of which a line is the first. Choices side by side may stand behind their
/// question.
pub(super) fn of_menu(view: &LineView<'_>, first: usize) -> Option<String> {
    match question_before(text(view, first)) {
        Some(question) => Some(without_mark(question).to_owned()),
        None => above_entries(view, first),
    }
}

/// The title of entries or buttons that begin in a line: the nearest line above that asks, else the
/// nearest that is no hint about keys. Above a line that was answered stands what is older.
fn above_entries(view: &LineView<'_>, first: usize) -> Option<String> {
    let above: Vec<&str> = filled_above(view, first)
        .take_while(|line| first - line <= LINES_ABOVE_ENTRIES)
        .map(|line| text(view, line))
        .take_while(|text| !is_answered(text))
        .filter(|text| has_words(without_mark(text)))
        .collect();
    let asking = above.iter().find(|text| asks(text));
    let near = above.iter().find(|text| !is_hint(text));
    let title = asking.or(near).or_else(|| above.first())?;
    Some(without_mark(title).to_owned())
}

/// The title of buttons in a line, which may stand behind their question.
pub(super) fn of_buttons(view: &LineView<'_>, line: usize) -> Option<String> {
    let own = text(view, line);
    let before = own.split(['[', '<', '(']).next().unwrap_or_default().trim_end();
    if letters(before) >= MIN_QUESTION_LETTERS {
        return Some(without_mark(before).to_owned());
    }
    above_entries(view, line)
}

/// Whether a line has the mark of a question before it.
pub(super) fn asks_by_mark(text: &str) -> bool {
    is_marked(text, &QUESTION_MARKS)
}

/// Whether a line asks, and does not only name the keys for it.
fn asks(text: &str) -> bool {
    let own = without_mark(text);
    asks_by_mark(text)
        || (!is_hint(text) && (ASKS.is_match(own) || own.ends_with(':') || own.contains('?')))
}

/// Whether a line has nothing but words about keys.
fn is_hint(text: &str) -> bool {
    let own = HINT_BEHIND.replace(without_mark(text), "");
    is_key_hint(text) && (is_key_hint(&own) || letters(&own) < MIN_QUESTION_LETTERS)
}

/// Whether a line was asked before and is answered.
fn is_answered(text: &str) -> bool {
    is_marked(text, &ANSWERED_MARKS)
}

fn is_marked(text: &str, marks: &[char]) -> bool {
    text.strip_prefix(marks).is_some_and(|text| text.starts_with(' '))
}

fn text<'a>(view: &'a LineView<'_>, line: usize) -> &'a str {
    view.line(line).trim_matches(|char: char| is_edge(char) || char.is_whitespace())
}

fn filled_above<'a>(view: &'a LineView<'_>, line: usize) -> impl Iterator<Item = usize> + 'a {
    (0..line).rev().filter(move |&line| has_words(text(view, line)))
}

fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

fn without_mark(text: &str) -> &str {
    let inner = text.trim_start_matches(PROMPT_MARKS);
    if inner.starts_with(' ') { inner.trim_start() } else { text }
}
