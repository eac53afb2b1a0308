//! The menu of a dialog: its entries, and which of them is selected.
//!
//! Programs show a menu in rows below one another, numbered or not, or side by side. The selected
//! entry has a mark before it, or looks different from all others.

use std::ops::Range;

use coven_model::MenuEntry;
use coven_terminal::snapshot::{CellColor, CellStyle, is_frame};
use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use super::LineView;

/// What programs put before the entry that is selected.
const MARKS: [char; 11] = ['❯', '›', '●', '◉', '▶', '▸', '►', '➤', '→', '»', '>'];

/// What some put before those that are not.
const OPEN_MARKS: [char; 3] = ['○', '◯', '◌'];

/// What stands before an entry that is in use, or that is ticked.
const TICKS: [char; 6] = ['✔', '✓', '☑', '☐', '☒', '◻'];

/// How many lines may lie between two entries: a description, a second row of the label.
const MAX_LINES_BETWEEN: usize = 4;

/// How far the beginnings of the labels of one menu may lie apart.
const MAX_SHIFT: usize = 1;

/// How the entries of a menu lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuLayout {
    /// One below the other.
    Rows,
    /// One beside the other.
    Columns,
}

/// A menu as it stands on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenMenu {
    pub entries: Vec<MenuEntry>,
    /// The index of the entry that is selected.
    pub selected: usize,
    pub layout: MenuLayout,
    /// Whether the entries have numbers, or marks that are used for nothing else.
    pub(super) is_plain: bool,
    /// The lines of the screen that it takes.
    pub(super) lines: Range<usize>,
}

/// A row that may be an entry.
#[derive(Debug)]
struct EntryRow<'a> {
    line: usize,
    mark: Option<char>,
    number: Option<u32>,
    /// The column at which the number or the label begins.
    column: usize,
    label: &'a str,
}

impl ScreenMenu {
    /// A menu of entries below one another, for use without a screen.
    pub fn of_rows(entries: Vec<MenuEntry>, selected: usize) -> Self {
        let lines = 0..entries.len();
        Self { entries, selected, layout: MenuLayout::Rows, is_plain: true, lines }
    }

    /// The lowest menu in these lines. Where a pattern names the entries of a row, one group for
    /// each, that row counts.
    pub(super) fn read(
        view: &LineView<'_>,
        lines: Range<usize>,
        row: Option<&Regex>,
    ) -> Option<Self> {
        row.and_then(|row| columns(view, lines.clone(), row))
            .or_else(|| numbered(view, lines.clone()))
            .or_else(|| marked(view, lines))
    }

    /// The same, where an entry with a label like this takes a text.
    pub(super) fn with_text_entry(mut self, label: Option<&Regex>) -> Self {
        for entry in &mut self.entries {
            entry.takes_text = label.is_some_and(|label| label.is_match(&entry.label));
        }
        self
    }

    /// The index of an entry.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.id == id)
    }
}

/// The entries of a row, by the groups of a pattern.
fn columns(view: &LineView<'_>, lines: Range<usize>, row: &Regex) -> Option<ScreenMenu> {
    let line = lines.rev().find(|&line| row.is_match(view.line(line)))?;
    let text = view.line(line);
    let found = row.captures(text)?;
    let labels: Vec<_> = found.iter().skip(1).flatten().collect();
    let styles: Vec<_> =
        labels.iter().map(|label| view.style(line, text[..label.start()].width())).collect();
    let entry = |(index, label): (usize, &regex::Match<'_>)| {
        MenuEntry::new((index + 1).to_string(), label.as_str().trim())
    };
    Some(ScreenMenu {
        entries: labels.iter().enumerate().map(entry).collect(),
        selected: odd_one(&styles)?,
        layout: MenuLayout::Columns,
        is_plain: true,
        lines: line..line + 1,
    })
}

/// Entries with ascending numbers, one of them selected.
fn numbered(view: &LineView<'_>, lines: Range<usize>) -> Option<ScreenMenu> {
    let rows: Vec<EntryRow<'_>> = lines
        .filter_map(|line| EntryRow::read(line, view.line(line)))
        .filter(|row| row.number.is_some())
        .collect();
    let mut menu = None;
    let mut begin = 0;
    for end in 1..=rows.len() {
        let goes_on = rows.get(end).is_some_and(|row| row.follows(&rows[end - 1]));
        if !goes_on {
            menu = in_rows(view, &rows[begin..end], true).or(menu);
            begin = end;
        }
    }
    menu
}

/// Entries without numbers, one of them with a mark: right below one another, or each with a
/// description below it and an empty line between.
fn marked(view: &LineView<'_>, lines: Range<usize>) -> Option<ScreenMenu> {
    if let Some(rows) = described(view, lines.clone()) {
        return in_rows(view, &rows, true);
    }
    let at = lines.clone().rev().find_map(|line| {
        let row = EntryRow::read(line, view.line(line)).filter(|row| row.mark.is_some())?;
        let is_beside = |&line: &usize| {
            let other = EntryRow::read(line, view.line(line));
            other.is_some_and(|other| other.mark.is_none() && other.column == row.column)
        };
        let above = (lines.start..line).rev().take_while(is_beside).count();
        let below = (line + 1..lines.end).take_while(is_beside).count();
        (above + below > 0).then_some(line - above..line + below + 1)
    })?;
    let rows: Vec<_> = at.filter_map(|line| EntryRow::read(line, view.line(line))).collect();
    let has_own_mark = rows.iter().any(|row| row.mark.is_some_and(|mark| mark != '>'));
    in_rows(view, &rows, has_own_mark)
}

/// The first rows of groups that begin in the same column, each with more rows below its first.
fn described<'a>(view: &'a LineView<'_>, lines: Range<usize>) -> Option<Vec<EntryRow<'a>>> {
    let at = lines.clone().rev().find(|&line| {
        EntryRow::read(line, view.line(line)).is_some_and(|row| row.mark.is_some())
    })?;
    let column = EntryRow::read(at, view.line(at))?.column;
    let in_column =
        |line: usize| EntryRow::read(line, view.line(line)).filter(|row| row.column == column);
    let is_blank = |line: usize| view.line(line).trim_matches(is_edge).is_empty();
    // From the mark to the first row that belongs to no group.
    let belongs = |&line: &usize| is_blank(line) || in_column(line).is_some();
    let above = (lines.start..at).rev().take_while(belongs).count();
    let below = (at + 1..lines.end).take_while(belongs).count();
    let mut groups: Vec<Vec<EntryRow<'a>>> = vec![Vec::new()];
    for line in at - above..=at + below {
        match in_column(line) {
            Some(row) => groups.last_mut()?.push(row),
            None => groups.push(Vec::new()),
        }
    }
    groups.retain(|group| !group.is_empty());
    let are_described = groups.len() > 1
        && groups
            .iter()
            .all(|group| group.len() > 1 && group[1..].iter().all(|row| row.mark.is_none()));
    are_described.then(|| groups.into_iter().filter_map(|group| group.into_iter().next()).collect())
}

/// The menu of these rows, if one of them is selected.
fn in_rows(view: &LineView<'_>, rows: &[EntryRow<'_>], is_plain: bool) -> Option<ScreenMenu> {
    let (first, last) = (rows.first()?, rows.last()?);
    let marks: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].mark.is_some()).collect();
    let selected = match marks.as_slice() {
        [only] => *only,
        [] => {
            let style = |row: &EntryRow<'_>| view.style(row.line, row.column);
            odd_one(&rows.iter().map(style).collect::<Vec<_>>())?
        }
        _ => return None,
    };
    let entry = |(index, row): (usize, &EntryRow<'_>)| {
        let id = row.number.map_or(index + 1, |number| number as usize);
        MenuEntry::new(id.to_string(), row.label)
    };
    let menu = ScreenMenu {
        entries: rows.iter().enumerate().map(entry).collect(),
        selected,
        layout: MenuLayout::Rows,
        is_plain,
        lines: first.line..last.line + 1,
    };
    (rows.len() > 1).then_some(menu)
}

/// The one that looks different from all others, which look the same. Of two, the one with colours
/// exchanged or with a background.
fn odd_one(styles: &[CellStyle]) -> Option<usize> {
    let is_lit =
        |style: &CellStyle| style.attributes.inverse || style.background != CellColor::Default;
    if let [first, second] = styles {
        return match (is_lit(first), is_lit(second)) {
            (true, false) => Some(0),
            (false, true) => Some(1),
            _ => None,
        };
    }
    let is_odd = |&index: &usize| {
        let other = &styles[usize::from(index == 0)];
        let is_as_other = |(place, style): (usize, &CellStyle)| place == index || style == other;
        *other != styles[index] && styles.iter().enumerate().all(is_as_other)
    };
    (styles.len() > 2).then(|| (0..styles.len()).find(is_odd)).flatten()
}

impl<'a> EntryRow<'a> {
    fn read(line: usize, text: &'a str) -> Option<Self> {
        let mut rest = text.trim_start_matches(is_edge);
        let first = rest.chars().next()?;
        let mut mark = None;
        if MARKS.contains(&first) || OPEN_MARKS.contains(&first) {
            let after = &rest[first.len_utf8()..];
            if !after.starts_with(' ') {
                return None;
            }
            mark = MARKS.contains(&first).then_some(first);
            rest = after.trim_start();
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
        let label = label.split("  ").next().unwrap_or(label);
        let label = label.trim_end_matches(is_edge);
        let has_words = label.contains(char::is_alphanumeric);
        has_words.then_some(Self { line, mark, number, column, label })
    }

    /// Whether this is the entry after another.
    fn follows(&self, before: &Self) -> bool {
        self.number == before.number.and_then(|number| number.checked_add(1))
            && self.line - before.line <= MAX_LINES_BETWEEN + 1
            && self.column.abs_diff(before.column) <= MAX_SHIFT
    }
}

/// Blanks and what programs draw at the edges of a dialog.
fn is_edge(char: char) -> bool {
    char == ' ' || char == '|' || is_frame(char)
}
