//! Buttons side by side: `[ Yes ]  [ No ]`, of which one is lit, has a mark or has the cursor.

use std::ops::Range;
use std::sync::LazyLock;

use coven_model::MenuEntry;
use coven_terminal::snapshot::{CellColor, CellStyle};
use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use super::row::{CURSOR_MARKS, is_edge};
use super::{MenuLayout, ScreenMenu};
use crate::rules::LineView;
use crate::rules::generic::pattern;

/// A label in brackets.
static BUTTON: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[\[<(] {0,4}(\p{L}[^\[\]<>()\n]{0,30}?) {0,4}[\])>]"));

/// A word, or several with a blank between them, set apart from others by more.
static WORDS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\p{L}\S*(?: \S+){0,4}"));

/// How many words side by side may be a menu; more are a table or a status line.
const MAX_WORDS: usize = 6;

/// One that can be chosen.
struct Button<'a> {
    label: &'a str,
    /// The columns of it with its brackets.
    columns: Range<usize>,
    /// The first column of its label.
    label_column: usize,
    /// What stands between it and the one before it.
    before: &'a str,
}

/// The buttons of a line, if it shows which of them Enter takes.
pub(in crate::rules) fn buttons(view: &LineView<'_>, line: usize) -> Option<ScreenMenu> {
    let text = view.line(line);
    let mut end = 0;
    let mut button = |found: regex::Captures<'_>| {
        let (whole, label) = (found.get(0)?.range(), found.get(1)?.range());
        let begin = std::mem::replace(&mut end, whole.end);
        Some(Button { before: &text[begin..whole.start], ..Button::new(text, whole, label) })
    };
    let found: Vec<Button<'_>> = BUTTON.captures_iter(text).filter_map(&mut button).collect();
    of(view, line, &found)
}

/// Words side by side of which one is lit, and nothing else of the line.
pub(in crate::rules) fn lit_words(view: &LineView<'_>, line: usize) -> Option<ScreenMenu> {
    let text = view.line(line);
    if !view.is_styled(line) || view.is_lit_over_whole_width(line) {
        return None;
    }
    let found = WORDS.find_iter(text).map(|words| Button::new(text, words.range(), words.range()));
    let found: Vec<Button<'_>> = found.collect();
    let is_apart = |pair: &[Button<'_>]| pair[1].columns.start >= pair[0].columns.end + 2;
    let is_all = text.trim_matches(is_edge).starts_with(found.first()?.label);
    if !is_all || found.len() > MAX_WORDS || !found.windows(2).all(is_apart) {
        return None;
    }
    let selected = lit(view, line, &found)?;
    // One that is lit in part, or in another colour alone, is emphasised and not selected.
    let is_lit = |column: usize| is_on(&view.style(line, column));
    let is_whole = found[selected].columns.clone().all(is_lit);
    is_whole.then(|| menu(line, &found, selected, true)).flatten()
}

impl<'a> Button<'a> {
    fn new(text: &'a str, whole: Range<usize>, label: Range<usize>) -> Self {
        let columns = text[..whole.start].width()..text[..whole.end].width();
        Self {
            label: text[label.clone()].trim(),
            columns,
            label_column: text[..label.start].width(),
            before: "",
        }
    }
}

fn of(view: &LineView<'_>, line: usize, found: &[Button<'_>]) -> Option<ScreenMenu> {
    let marks: Vec<usize> = (0..found.len())
        .filter(|&at| found[at].before.trim_end().ends_with(CURSOR_MARKS))
        .collect();
    if let [marked] = marks[..] {
        return menu(line, found, marked, false);
    }
    let selected = lit(view, line, found).or_else(|| at_cursor(view, line, found))?;
    menu(line, found, selected, true)
}

fn menu(line: usize, found: &[Button<'_>], selected: usize, is_lit: bool) -> Option<ScreenMenu> {
    let entry = |(index, button): (usize, &Button<'_>)| {
        MenuEntry::new((index + 1).to_string(), button.label)
    };
    (found.len() > 1).then(|| ScreenMenu {
        entries: found.iter().enumerate().map(entry).collect(),
        selected,
        layout: MenuLayout::Columns,
        is_lit,
        ..ScreenMenu::new(line..line + 1)
    })
}

/// The only one that is lit otherwise than the others and what lies between them. In a dialog with a
/// background all have one.
fn lit(view: &LineView<'_>, line: usize, found: &[Button<'_>]) -> Option<usize> {
    let [first, second, ..] = found else { return None };
    let between = light(&view.style(line, first.columns.end.min(second.columns.start - 1)));
    let lights: Vec<_> =
        found.iter().map(|button| light(&view.style(line, button.label_column))).collect();
    let mut lit = (0..lights.len()).filter(|&at| lights[at] != between);
    let only = lit.next().filter(|_| lit.next().is_none());
    only.or_else(|| {
        // Buttons that are all set off: the odd one of three and more.
        let is_odd = |&at: &usize| {
            let mut others = (0..lights.len()).filter(|other| *other != at).map(|at| lights[at]);
            others.next().is_some_and(|one| one != lights[at] && others.all(|other| other == one))
        };
        (lights.len() > 2).then(|| (0..lights.len()).find(is_odd)).flatten()
    })
}

/// The one that a visible cursor is in.
fn at_cursor(view: &LineView<'_>, line: usize, found: &[Button<'_>]) -> Option<usize> {
    let (at, column) = view.cursor_line()?;
    let is_there = at == line && view.cursor_visible() == Some(true);
    is_there.then(|| found.iter().position(|button| button.columns.contains(&column))).flatten()
}

fn light(style: &CellStyle) -> (bool, CellColor) {
    (style.attributes.inverse, style.background)
}

fn is_on(style: &CellStyle) -> bool {
    style.attributes.inverse || style.background != CellColor::Default
}
