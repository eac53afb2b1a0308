//! Menus whose selected entry is only lit: its colours are exchanged, or it has a background of its
//! own.
//!
//! Much else is lit that nobody chooses from: the status line of a pager or an editor, the head of a
//! table, a changed line. So the whole label must be lit and that of no other row, the rows must
//! begin in the same column right below one another, and something else must speak for a menu.

use std::ops::Range;
use std::sync::LazyLock;

use coven_terminal::snapshot::{CellColor, CellStyle};
use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use super::row::{EntryRow, is_edge};
use super::{MenuProof, ScreenMenu, entries, group};
use crate::rules::LineView;
use crate::rules::generic::{heading, is_asked_at, is_key_hint, pattern};

/// The fewest columns that are lit: programs draw their own cursor as one.
const MIN_LIT_COLUMNS: usize = 2;

/// From how many columns of text on rows are those of a table.
const TABLE_COLUMNS: usize = 3;

/// How many rows at the bottom of a screen may be a status line.
const STATUS_ROWS: usize = 2;

/// A line of a difference between two files, or a numbered line of one.
static CHANGED_LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d*\s*[+-]|^\d+\s"));

/// How a label is lit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Light {
    inverse: bool,
    background: CellColor,
}

impl Light {
    fn of(style: &CellStyle) -> Self {
        Self { inverse: style.attributes.inverse, background: style.background }
    }

    fn is_on(self) -> bool {
        self != Self::default()
    }
}

/// The lowest menu in these lines of which one entry is lit.
pub(super) fn menu(view: &LineView<'_>, lines: Range<usize>) -> Option<ScreenMenu> {
    lines.clone().rev().filter(|&line| view.is_styled(line)).find_map(|line| {
        let row = EntryRow::read_lit(line, view.line(line))?;
        label_light(view, &row).filter(|light| light.is_on())?;
        let mut rows = group(view, lines.clone(), &row, EntryRow::read_lit);
        leave_out_heading(view, &mut rows, line);
        let selected = self::row(view, &rows).filter(|&selected| rows[selected].line == line)?;
        let (first, last) = (rows.first()?.line, rows.last()?.line);
        let is_menu = !is_table(view, &rows, selected)
            && !is_changed_line(view, &rows, selected)
            && !is_status_line(view, &row, line == last)
            && (is_only_marked(&rows, selected) || is_offered(view, &row, first..last + 1));
        is_menu.then(|| ScreenMenu {
            entries: entries(&rows),
            selected,
            proof: MenuProof::None,
            is_lit: true,
            // Of check boxes none may be on.
            chosen: rows.iter().map(|row| Some(row.choice?.is_chosen)).collect(),
            ..ScreenMenu::new(first..last + 1)
        })
    })
}

/// Leaves out a line right above the entries that asks for a choice, and one right below that names
/// the keys.
fn leave_out_heading(view: &LineView<'_>, rows: &mut Vec<EntryRow<'_>>, lit: usize) {
    let is_heading = |row: &EntryRow<'_>| row.line < lit && row.label.ends_with(['?', ':']);
    let first = rows.iter().rposition(is_heading).map_or(0, |heading| heading + 1);
    rows.drain(..first);
    let is_footer = |row: &EntryRow<'_>| row.line > lit && is_key_hint(view.line(row.line));
    let end = rows.iter().position(is_footer).unwrap_or(rows.len());
    rows.truncate(end);
}

/// The one row whose label is lit, or lit in another way than all others.
pub(super) fn row(view: &LineView<'_>, rows: &[EntryRow<'_>]) -> Option<usize> {
    let lights: Vec<Light> =
        rows.iter().map(|row| label_light(view, row)).collect::<Option<_>>()?;
    let is_only = |&index: &usize| {
        let mut others = (0..lights.len()).filter(|&other| other != index).map(|at| lights[at]);
        let Some(other) = others.next() else { return false };
        let is_clear = lights.len() > 2 || !other.is_on();
        lights[index].is_on()
            && lights[index] != other
            && is_clear
            && others.all(|light| light == other)
    };
    (0..lights.len()).find(is_only)
}

/// How a label is lit, if all of it is lit in one way.
fn label_light(view: &LineView<'_>, row: &EntryRow<'_>) -> Option<Light> {
    let light = |column: usize| Light::of(&view.style(row.line, column));
    let first = light(row.columns.start);
    let is_whole = row.columns.clone().all(|column| light(column) == first);
    let is_wide = !first.is_on() || row.columns.len() >= MIN_LIT_COLUMNS;
    (is_whole && is_wide).then_some(first)
}

/// Whether these are the rows of a table, or its head and what stands below that.
fn is_table(view: &LineView<'_>, rows: &[EntryRow<'_>], selected: usize) -> bool {
    let columns = |row: &EntryRow<'_>| {
        let text = view.line(row.line).trim_matches(is_edge);
        text.split("  ").filter(|cell| !cell.trim().is_empty()).count()
    };
    let is_upper = |row: &EntryRow<'_>| !row.label.contains(char::is_lowercase);
    let head = selected == 0 && columns(&rows[0]) > 1;
    rows.iter().all(|row| columns(row) >= TABLE_COLUMNS)
        || (head && is_upper(&rows[0]) && !rows[1..].iter().all(is_upper))
}

/// Whether a row is a line of a file, with a background because it was changed. The others have none,
/// as in a dialog.
fn is_changed_line(view: &LineView<'_>, rows: &[EntryRow<'_>], selected: usize) -> bool {
    let light = |row: &EntryRow<'_>| Light::of(&view.style(row.line, row.column));
    let is_dialog = light(&rows[usize::from(selected == 0)]).is_on();
    let text = view.line(rows[selected].line).trim_start_matches(is_edge);
    !light(&rows[selected]).inverse && !is_dialog && CHANGED_LINE.is_match(text)
}

/// Whether a row is the last of the screen and looks like the status line of a pager or an editor:
/// lit over the whole width, or with the cursor right behind it.
fn is_status_line(view: &LineView<'_>, row: &EntryRow<'_>, is_last: bool) -> bool {
    if !is_last || view.rows_below(row.line) >= STATUS_ROWS {
        return false;
    }
    let has_cursor = view.cursor_visible() == Some(true)
        && view
            .cursor_line()
            .is_some_and(|(line, column)| line == row.line && column >= view.line(line).width());
    has_cursor || view.is_lit_over_whole_width(row.line)
}

/// Whether the entry that is lit is the only one with a mark.
fn is_only_marked(rows: &[EntryRow<'_>], selected: usize) -> bool {
    let marked = |at: &usize| rows[*at].has_lit_mark;
    (0..rows.len()).filter(marked).eq([selected])
}

/// Whether something beside the light says that these rows can be chosen from.
fn is_offered(view: &LineView<'_>, row: &EntryRow<'_>, lines: Range<usize>) -> bool {
    let is_inverse = view.style(row.line, row.column).attributes.inverse;
    let is_bar = view.is_lit_over_whole_width(row.line);
    let at_cursor = view.cursor_visible() == Some(false)
        || view.cursor_line().is_some_and(|(line, _)| line == row.line);
    let is_named = || !view.collects_line() && heading(view, &lines).ends_with(':');
    // Programs that print their rows have their cursor in the line below. A row that is lit and has
    // none above is a heading itself.
    let is_left = || {
        let below = |(line, column)| line == lines.end && column == 0;
        let has_heading = !heading(view, &lines).is_empty();
        has_heading && !view.collects_line() && view.cursor_line().is_some_and(below)
    };
    is_asked_at(view, lines.clone())
        || (is_inverse && !is_bar && (at_cursor || is_named() || is_left()))
}
