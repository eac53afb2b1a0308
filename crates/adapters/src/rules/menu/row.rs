//! One row of a menu: the marks before it, its number and its label.

use std::ops::Range;

use coven_terminal::snapshot::is_frame;
use unicode_width::UnicodeWidthStr as _;

/// What programs put before the entry that Enter takes.
pub(super) const CURSOR_MARKS: [char; 9] = ['❯', '›', '▶', '▸', '►', '➤', '→', '»', '>'];

/// What programs also put before the entry that Enter takes, and before much else: such a mark counts
/// only before an entry that is lit.
const LIT_MARKS: [&str; 2] = ["*", "=>"];

/// What programs put before the entry that is chosen. Where nothing else marks an entry, Enter takes
/// that one.
pub(super) const CHOSEN_MARKS: [&str; 10] =
    ["●", "◉", "⦿", "(•)", "(●)", "(◉)", "(*)", "(x)", "(X)", "(o)"];

/// What programs put before the others.
pub(super) const OPEN_MARKS: [&str; 4] = ["○", "◯", "◌", "( )"];

/// The same as boxes, which also stand before the tasks of a plan.
const CHOSEN_BOXES: [&str; 8] = ["[x]", "[X]", "[*]", "[•]", "[✓]", "☑", "☒", "◼"];

const OPEN_BOXES: [&str; 3] = ["[ ]", "☐", "◻"];

/// What stands before an entry that is in use.
const TICKS: [char; 2] = ['✔', '✓'];

/// How many lines may lie between two entries: a description, a second row of the label.
const MAX_LINES_BETWEEN: usize = 4;

/// How far the beginnings of the labels of one menu may lie apart.
const MAX_SHIFT: usize = 1;

/// Whether an entry is chosen, as a mark of its own says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChoiceMark {
    pub(super) is_chosen: bool,
    /// The mark is a box.
    pub(super) is_box: bool,
}

/// A row that may be an entry.
#[derive(Debug)]
pub(super) struct EntryRow<'a> {
    pub(super) line: usize,
    /// The mark of the entry that Enter takes.
    pub(super) cursor: Option<char>,
    /// It has a mark that counts where it is lit.
    pub(super) has_lit_mark: bool,
    pub(super) choice: Option<ChoiceMark>,
    pub(super) number: Option<u32>,
    /// The column at which the number or the label begins.
    pub(super) column: usize,
    pub(super) label: &'a str,
    /// The columns of the label.
    pub(super) columns: Range<usize>,
}

impl<'a> EntryRow<'a> {
    pub(super) fn read(line: usize, text: &'a str) -> Option<Self> {
        Self::read_behind(line, text, text)
    }

    /// The same in rows of which one is lit.
    pub(super) fn read_lit(line: usize, text: &'a str) -> Option<Self> {
        let inner = text.trim_start_matches(is_edge);
        let behind = LIT_MARKS.iter().find_map(|mark| behind_mark(inner.strip_prefix(mark)?));
        let row = Self::read_behind(line, text, behind.unwrap_or(text))?;
        Some(Self { has_lit_mark: behind.is_some() || row.cursor.is_some(), ..row })
    }

    /// Reads a row from the rest of its text on.
    fn read_behind(line: usize, text: &'a str, rest: &'a str) -> Option<Self> {
        let mut rest = rest.trim_start_matches(is_edge);
        let cursor = rest.chars().next().filter(|first| CURSOR_MARKS.contains(first));
        if let Some(mark) = cursor {
            rest = behind_mark(&rest[mark.len_utf8()..])?;
        }
        let choice = choice_mark(rest);
        if let Some((_, mark)) = choice {
            rest = behind_mark(&rest[mark.len()..])?;
        }
        rest = rest.strip_prefix(TICKS).map_or(rest, str::trim_start);
        let column = text[..text.len() - rest.len()].width();
        let digits = rest.len() - rest.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let number = rest[..digits].parse().ok().filter(|_| {
            let after = &rest[digits..];
            after.starts_with(". ") || after.starts_with(") ")
        });
        let label = if number.is_some() { &rest[digits + 2..] } else { rest };
        // What stands far behind a label describes it.
        let label = label.trim_start();
        let begin = text[..text.len() - label.len()].width();
        let label = label.split("  ").next().unwrap_or(label);
        let label = label.trim_end_matches(is_edge);
        let has_words = label.contains(char::is_alphanumeric);
        let choice = choice.map(|(choice, _)| choice);
        let columns = begin..begin + label.width();
        let has_lit_mark = false;
        has_words.then_some(Self {
            line,
            cursor,
            has_lit_mark,
            choice,
            number,
            column,
            label,
            columns,
        })
    }

    /// Whether a mark says that this entry is selected.
    pub(super) fn is_marked(&self) -> bool {
        self.cursor.is_some() || self.is_chosen()
    }

    pub(super) fn is_chosen(&self) -> bool {
        self.choice.is_some_and(|choice| choice.is_chosen)
    }

    /// Whether this is the entry after another.
    pub(super) fn follows(&self, before: &Self) -> bool {
        self.number == before.number.and_then(|number| number.checked_add(1))
            && self.line - before.line <= MAX_LINES_BETWEEN + 1
            && self.column.abs_diff(before.column) <= MAX_SHIFT
    }
}

/// The text behind a mark, which a blank sets apart.
fn behind_mark(after: &str) -> Option<&str> {
    after.starts_with(' ').then(|| after.trim_start())
}

/// The mark of a choice with which a text begins.
fn choice_mark(text: &str) -> Option<(ChoiceMark, &'static str)> {
    let marks = [
        (true, false, &CHOSEN_MARKS[..]),
        (false, false, &OPEN_MARKS[..]),
        (true, true, &CHOSEN_BOXES[..]),
        (false, true, &OPEN_BOXES[..]),
    ];
    marks.into_iter().find_map(|(is_chosen, is_box, marks)| {
        let mark = marks.iter().find(|mark| is_begun_with(text, mark))?;
        Some((ChoiceMark { is_chosen, is_box }, *mark))
    })
}

/// Whether a mark stands at the beginning of a text. Brackets without a blank behind them are a part
/// of a word.
fn is_begun_with(text: &str, mark: &str) -> bool {
    let after = text.strip_prefix(mark);
    after.is_some_and(|after| !mark.starts_with(['(', '[']) || after.starts_with(' '))
}

/// Blanks and what programs draw at the edges of a dialog.
pub(in crate::rules) fn is_edge(char: char) -> bool {
    char == ' ' || char == '|' || is_frame(char)
}
