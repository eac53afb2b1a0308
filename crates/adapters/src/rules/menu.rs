//! The menu of a dialog: its entries, and which of them is selected.
//!
//! Programs show a menu in rows below one another, numbered or not, or side by side. The selected
//! entry has a mark before it, or looks different from all others. Where one entry has the mark of
//! the cursor and another that of what is chosen, the cursor counts: that is where Enter is pressed.

mod buttons;
mod lit;
mod radio;
mod row;

use std::ops::Range;

use coven_model::MenuEntry;
use coven_terminal::snapshot::{CellColor, CellStyle};
use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use super::LineView;
pub(super) use buttons::{buttons, lit_words};
pub(super) use radio::question_before;
use row::EntryRow;
pub(super) use row::is_edge;

/// How many columns of a line across make it a rule.
const MIN_RULE_WIDTH: usize = 8;

/// What begins a row that says that a list goes on above.
const UP_ARROWS: [char; 4] = ['↑', '▲', '△', '⬆'];

/// What begins a row that says that a list goes on below.
const DOWN_ARROWS: [char; 4] = ['↓', '▼', '▽', '⬇'];

/// What such a row says, if not a number.
const SCROLL_WORDS: [&str; 4] = ["more", "above", "below", "scroll"];

/// How the entries of a menu lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuLayout {
    /// One below the other.
    Rows,
    /// One beside the other.
    Columns,
}

/// What else must be on the screen before rows that look like a menu are taken for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MenuProof {
    /// Nothing: the entries have numbers, or marks that are used for nothing else.
    None,
    /// The keys that choose, named below: a plain `>` also stands before what a person types.
    Keys,
    /// The same, or a question above: boxes also stand before the tasks of a plan.
    Question,
}

/// A menu as it stands on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenMenu {
    pub entries: Vec<MenuEntry>,
    /// The index of the entry that is selected.
    pub selected: usize,
    pub layout: MenuLayout,
    pub(super) proof: MenuProof,
    /// Whether only its look tells the selected entry from the others, and not its text.
    pub(crate) is_lit: bool,
    /// Which entries are chosen, where each says that beside the mark of the cursor.
    chosen: Option<Vec<bool>>,
    /// The lines of the screen that it takes.
    pub(super) lines: Range<usize>,
    /// The words of the question above its entries, without what moves in them.
    pub question: Vec<String>,
}

impl ScreenMenu {
    /// A menu of entries below one another, for use without a screen.
    pub fn of_rows(entries: Vec<MenuEntry>, selected: usize) -> Self {
        let lines = 0..entries.len();
        Self { entries, selected, ..Self::new(lines) }
    }

    fn new(lines: Range<usize>) -> Self {
        Self {
            entries: Vec::new(),
            selected: 0,
            layout: MenuLayout::Rows,
            proof: MenuProof::None,
            is_lit: false,
            chosen: None,
            lines,
            question: Vec::new(),
        }
    }

    /// Whether Enter may take something else than the selected entry: in a list of choices another
    /// key chooses, and Enter takes what is chosen.
    pub fn may_take_other(&self) -> bool {
        let is_chosen = |chosen: &Vec<bool>| chosen.get(self.selected) == Some(&true);
        !self.chosen.as_ref().is_none_or(is_chosen)
    }

    /// The same menu as a list of choices, of which these are chosen.
    #[must_use]
    pub fn with_chosen(self, chosen: Vec<bool>) -> Self {
        Self { chosen: Some(chosen), ..self }
    }

    /// The lowest menu in these lines. Where a pattern names the entries of a row, one group for
    /// each, that row counts.
    pub(super) fn read(
        view: &LineView<'_>,
        lines: Range<usize>,
        row: Option<&Regex>,
    ) -> Option<Self> {
        row.and_then(|row| columns(view, lines.clone(), row)).or_else(|| {
            let rows = rows(view, lines.clone());
            let above = |radio: &ScreenMenu| {
                rows.as_ref().is_none_or(|rows| rows.lines.start < radio.lines.start)
            };
            radio::menu(view, lines).filter(above).or(rows)
        })
    }

    /// The same, where an entry with a label like this takes a text.
    pub(super) fn with_text_entry(mut self, label: Option<&Regex>) -> Self {
        for entry in &mut self.entries {
            entry.takes_text = label.is_some_and(|label| label.is_match(&entry.label));
        }
        self
    }

    /// The same with these words above its entries.
    #[must_use]
    pub fn with_question(self, question: Vec<String>) -> Self {
        Self { question, ..self }
    }

    /// The index of an entry.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.id == id)
    }
}

/// The lowest menu of entries below one another.
fn rows(view: &LineView<'_>, lines: Range<usize>) -> Option<ScreenMenu> {
    numbered(view, lines.clone()).or_else(|| {
        let marked = marked(view, lines.clone());
        match &marked {
            Some(menu) if menu.proof == MenuProof::None => marked,
            _ => lit::menu(view, lines).or(marked),
        }
    })
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
        is_lit: true,
        ..ScreenMenu::new(line..line + 1)
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
            menu = in_rows(view, &rows[begin..end], MenuProof::None).or(menu);
            begin = end;
        }
    }
    menu
}

/// Entries without numbers, one of them with a mark: right below one another, or each with a
/// description below it and an empty line between.
fn marked(view: &LineView<'_>, lines: Range<usize>) -> Option<ScreenMenu> {
    if let Some(rows) = described(view, lines.clone()) {
        return in_rows(view, &rows, proof(&rows));
    }
    for line in lines.clone().rev() {
        let Some(row) = EntryRow::read(line, view.line(line)).filter(EntryRow::is_marked) else {
            continue;
        };
        let rows = group(view, lines.clone(), &row, EntryRow::read);
        let menu = in_rows(view, &rows, proof(&rows));
        // What stands above the lowest mark of a cursor is over: the mark is where Enter acts. A plain
        // one also stands before what a person types.
        if menu.is_some() || row.cursor.is_some_and(|mark| mark != '>') {
            return menu;
        }
    }
    None
}

/// The rows right above and below one, up to the first that begins in another column.
fn group<'a>(
    view: &'a LineView<'_>,
    lines: Range<usize>,
    row: &EntryRow<'_>,
    read: fn(usize, &'a str) -> Option<EntryRow<'a>>,
) -> Vec<EntryRow<'a>> {
    let beside =
        |line: usize| read(line, view.line(line)).filter(|other| other.column == row.column);
    let mut rows: Vec<_> = (lines.start..row.line).rev().map_while(beside).collect();
    rows.reverse();
    rows.extend((row.line..lines.end).map_while(beside));
    without_scroll_marks(rows)
}

/// Leaves out a first and a last row that only say that the list goes on there. In a menu with no
/// other entries, or with the cursor at such a row, they are entries.
fn without_scroll_marks(mut rows: Vec<EntryRow<'_>>) -> Vec<EntryRow<'_>> {
    let says_more = |word: &str| {
        SCROLL_WORDS.contains(&word.to_lowercase().as_str()) || word.parse::<u32>().is_ok()
    };
    let is_mark = |row: &EntryRow<'_>, arrows: [char; 4]| {
        let words = row.label.strip_prefix(arrows);
        let says_so = words.is_some_and(|words| words.split_whitespace().any(says_more));
        says_so && !row.is_marked() && row.number.is_none()
    };
    let goes_on_above = rows.first().is_some_and(|row| is_mark(row, UP_ARROWS));
    let goes_on_below = rows.last().is_some_and(|row| is_mark(row, DOWN_ARROWS));
    let marks = usize::from(goes_on_above) + usize::from(goes_on_below);
    if rows.len() < marks + 2 {
        return rows;
    }
    if goes_on_below {
        rows.pop();
    }
    if goes_on_above {
        rows.remove(0);
    }
    rows
}

/// What must be seen beside rows with these marks.
fn proof(rows: &[EntryRow<'_>]) -> MenuProof {
    let are_boxes = |row: &EntryRow<'_>| row.choice.is_some_and(|choice| choice.is_box);
    let are_choices = rows.iter().all(|row| row.choice.is_some());
    match rows.iter().find_map(|row| row.cursor) {
        Some('>') if !are_choices => MenuProof::Keys,
        None if rows.iter().any(are_boxes) => MenuProof::Question,
        _ => MenuProof::None,
    }
}

/// The first rows of groups that begin in the same column, each with more rows below its first.
fn described<'a>(view: &'a LineView<'_>, lines: Range<usize>) -> Option<Vec<EntryRow<'a>>> {
    let at = lines
        .clone()
        .rev()
        .find(|&line| EntryRow::read(line, view.line(line)).is_some_and(|row| row.is_marked()))?;
    let column = EntryRow::read(at, view.line(at))?.column;
    let in_column =
        |line: usize| EntryRow::read(line, view.line(line)).filter(|row| row.column == column);
    let is_blank = |line: usize| {
        let text = view.line(line);
        text.trim_matches(is_edge).is_empty() && !is_rule(text)
    };
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
            .all(|group| group.len() > 1 && group[1..].iter().all(|row| !row.is_marked()));
    are_described.then(|| groups.into_iter().filter_map(|group| group.into_iter().next()).collect())
}

/// Whether a line is a rule across, which parts what stands above it from what stands below.
fn is_rule(text: &str) -> bool {
    text.chars().filter(|char| matches!(char, '─' | '━' | '═')).count() >= MIN_RULE_WIDTH
}

/// The menu of these rows, if one of them is selected.
fn in_rows(view: &LineView<'_>, rows: &[EntryRow<'_>], proof: MenuProof) -> Option<ScreenMenu> {
    let (first, last) = (rows.first()?, rows.last()?);
    let (selected, is_lit) = selected(view, rows)?;
    let has_cursor = rows.iter().any(|row| row.cursor.is_some());
    let chosen = rows.iter().map(|row| row.choice.map(|choice| choice.is_chosen));
    let menu = ScreenMenu {
        entries: entries(rows),
        selected,
        proof,
        is_lit,
        chosen: chosen.collect::<Option<Vec<bool>>>().filter(|_| has_cursor || is_lit),
        ..ScreenMenu::new(first.line..last.line + 1)
    };
    (rows.len() > 1).then_some(menu)
}

fn entries(rows: &[EntryRow<'_>]) -> Vec<MenuEntry> {
    let entry = |(index, row): (usize, &EntryRow<'_>)| {
        let id = row.number.map_or(index + 1, |number| number as usize);
        MenuEntry::new(id.to_string(), row.label)
    };
    rows.iter().enumerate().map(entry).collect()
}

/// The row that Enter takes, and whether only its look says so: the one with the mark of the cursor,
/// else the one that is lit, else the one that is chosen, else the one that looks different.
fn selected(view: &LineView<'_>, rows: &[EntryRow<'_>]) -> Option<(usize, bool)> {
    let only = |is_it: &dyn Fn(&EntryRow<'_>) -> bool| {
        let mut found = (0..rows.len()).filter(|&row| is_it(&rows[row]));
        (found.next(), found.next().is_some())
    };
    match only(&|row| row.cursor.is_some()) {
        (Some(row), false) => return Some((row, false)),
        (Some(_), true) => return None,
        (None, _) => {}
    }
    let chosen = only(&|row| row.is_chosen());
    if chosen.0.is_some()
        && let Some(row) = lit::row(view, rows)
    {
        return Some((row, true));
    }
    match chosen {
        (Some(row), false) => Some((row, false)),
        (Some(_), true) => None,
        (None, _) => {
            let style = |row: &EntryRow<'_>| view.style(row.line, row.column);
            let row = odd_one(&rows.iter().map(style).collect::<Vec<_>>())?;
            Some((row, true))
        }
    }
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
