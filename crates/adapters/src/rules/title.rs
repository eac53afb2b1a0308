//! The line of a question by which people know it in a list: its own, and not one of its answers,
//! the keys below it or what is painted around it.

use super::LineView;
use super::generic::{ASKS, is_key_hint};
use super::menu::is_edge;
use super::own_lines::{MIN_QUESTION_LETTERS, letters};

/// How many lines above its entries the question of a menu may begin.
const LINES_ABOVE_ENTRIES: usize = 8;

/// What programs put before a line that they ask in.
const PROMPT_MARKS: [char; 5] = ['?', '>', '❯', '›', '»'];

/// The title of what is asked in a line.
pub(super) fn of_line(view: &LineView<'_>, line: usize) -> Option<String> {
    let own = text(view, line);
    if letters(own) >= MIN_QUESTION_LETTERS {
        return Some(without_mark(own).to_owned());
    }
    // It says only which answers there are.
    let above = filled_above(view, line).next().map(|above| without_mark(text(view, above)));
    let words: Vec<&str> = above.into_iter().chain([own]).filter(|text| has_words(text)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The title of entries or buttons that begin in a line: the nearest line above that asks, else the
/// nearest that is no hint about keys.
pub(super) fn above_entries(view: &LineView<'_>, first: usize) -> Option<String> {
    let above: Vec<&str> = filled_above(view, first)
        .take_while(|line| first - line <= LINES_ABOVE_ENTRIES)
        .map(|line| without_mark(text(view, line)))
        .filter(|text| has_words(text))
        .collect();
    let asks = |text: &&&str| ASKS.is_match(text) || text.ends_with(':') || text.contains('?');
    let is_hint = |text: &str| is_key_hint(text);
    let near = above.iter().take_while(|text| is_hint(text)).count();
    let asking = above.iter().filter(|text| !is_hint(text)).find(asks);
    let title = asking.or_else(|| above.get(near)).or_else(|| above.first())?;
    Some((*title).to_owned())
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
