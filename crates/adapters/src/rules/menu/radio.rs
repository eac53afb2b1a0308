//! Choices side by side with the marks of radio buttons: `● Yes / ○ No`. Enter takes the one whose
//! mark is filled.
//!
//! Such marks also stand in legends and before services that run or do not, so a menu needs a
//! question above it, or before it in its own line.

use std::ops::Range;
use std::sync::LazyLock;

use coven_model::MenuEntry;
use regex::Regex;

use super::row::{CHOSEN_MARKS, OPEN_MARKS, is_edge};
use super::{MenuLayout, ScreenMenu};
use crate::rules::LineView;
use crate::rules::generic::{heading, is_key_hint_at, pattern};
use crate::rules::title::asks_by_mark;

/// The most choices that programs put side by side.
const MAX_CHOICES: usize = 8;

/// The longest name of a choice, in bytes.
const MAX_LABEL: usize = 60;

/// How many lines above its choices a question may begin.
const LINES_ABOVE: usize = 8;

/// A line that asks for a choice, by its end or its first word.
static ASKS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\?\s*(?:\([^()]*\))?$|^(?:please )?(?:choose|pick|select)\b"));

/// What programs put between two choices.
const BETWEEN: [char; 5] = ['/', ',', ';', '·', '•'];

/// One choice of a line.
struct Choice<'a> {
    label: &'a str,
    is_chosen: bool,
}

/// The lowest line with choices of which exactly one is chosen.
pub(super) fn menu(view: &LineView<'_>, lines: Range<usize>) -> Option<ScreenMenu> {
    lines.rev().find_map(|line| {
        let (before, choices) = choices(view.line(line))?;
        let mut chosen = (0..choices.len()).filter(|&at| choices[at].is_chosen);
        let selected = chosen.next().filter(|_| chosen.next().is_none())?;
        if before.is_empty() && !is_asked_above(view, line) {
            return None;
        }
        let entry = |(index, choice): (usize, &Choice<'_>)| {
            MenuEntry::new((index + 1).to_string(), choice.label)
        };
        Some(ScreenMenu {
            entries: choices.iter().enumerate().map(entry).collect(),
            selected,
            layout: MenuLayout::Columns,
            ..ScreenMenu::new(line..line + 1)
        })
    })
}

/// Whether the line above asks, or one above that and right below one another has the mark of a
/// question, or the keys that choose are named.
fn is_asked_above(view: &LineView<'_>, line: usize) -> bool {
    let inner = |line: usize| view.line(line).trim_matches(is_edge);
    let mut above = (0..line).rev().take(LINES_ABOVE).take_while(|&line| !inner(line).is_empty());
    ASKS.is_match(heading(view, &(line..line + 1)))
        || above.any(|line| asks_by_mark(inner(line)))
        || is_key_hint_at(view, &(line..line + 1))
}

/// What stands before the choices of a line that has them.
pub(in crate::rules) fn question_before(text: &str) -> Option<&str> {
    choices(text).map(|(before, _)| before).filter(|before| !before.is_empty())
}

/// What stands before the choices of a line, which asks or is nothing, and its choices.
fn choices(text: &str) -> Option<(&str, Vec<Choice<'_>>)> {
    let marks = marks(text);
    let before = text[..marks.first()?.0].trim_matches(is_edge);
    let ends = marks.iter().skip(1).map(|(at, ..)| *at).chain([text.len()]);
    let choices: Vec<Choice<'_>> = marks
        .iter()
        .zip(ends)
        .map(|((_, begin, is_chosen), end)| Choice {
            label: label(&text[*begin..end]),
            is_chosen: *is_chosen,
        })
        .collect();
    let is_one = |choice: &Choice<'_>| {
        choice.label.contains(char::is_alphanumeric) && choice.label.len() <= MAX_LABEL
    };
    let are_choices = (2..=MAX_CHOICES).contains(&choices.len()) && choices.iter().all(is_one);
    let is_asked = before.is_empty() || asks_by_mark(before) || ASKS.is_match(before);
    (are_choices && is_asked).then_some((before, choices))
}

/// Where the marks of a line begin and end, and whether each is that of the choice. A mark is set apart
/// on both sides.
fn marks(text: &str) -> Vec<(usize, usize, bool)> {
    let all = CHOSEN_MARKS.map(|mark| (mark, true)).into_iter();
    let all: Vec<_> = all.chain(OPEN_MARKS.map(|mark| (mark, false))).collect();
    let mark_at = |(at, _): (usize, char)| {
        let is_apart = text[..at].chars().next_back().is_none_or(is_edge);
        let (mark, is_chosen) = all.iter().find(|(mark, _)| text[at..].starts_with(mark))?;
        let end = at + mark.len();
        (is_apart && text[end..].starts_with(' ')).then_some((at, end, *is_chosen))
    };
    text.char_indices().filter_map(mark_at).collect()
}

/// The name of a choice, without what parts it from the next and what describes it far behind.
fn label(text: &str) -> &str {
    let text = text.trim_start();
    let text = text.split("  ").next().unwrap_or(text);
    let text = text.trim_end_matches(is_edge);
    text.strip_suffix(BETWEEN).unwrap_or(text).trim_end()
}
