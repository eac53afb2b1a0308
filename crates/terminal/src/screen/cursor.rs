//! Moving the cursor: within margins, over tab stops, back to where it was saved.

use alacritty_terminal::grid::Cursor as GridCursor;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Cell;
use alacritty_terminal::vte::ansi::{CharsetIndex, Handler};

use super::engine::ScreenEmulator;

/// Columns between tab stops in a new terminal.
const TAB_STOP_COLUMNS: usize = 8;

/// Tab stops. The emulator has its own, but does not show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TabStops(Vec<bool>);

impl TabStops {
    pub(super) fn new(columns: usize) -> Self {
        Self((0..columns).map(|column| column % TAB_STOP_COLUMNS == 0).collect())
    }

    pub(super) fn resize(&mut self, columns: usize) {
        let old = self.0.len();
        self.0.truncate(columns);
        self.0.extend((old..columns).map(|column| column % TAB_STOP_COLUMNS == 0));
    }

    pub(super) fn set(&mut self, column: usize, stop: bool) {
        if let Some(tab) = self.0.get_mut(column) {
            *tab = stop;
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(false);
    }

    /// Where the stops are, if not where a new terminal has them.
    pub(crate) fn changed(&self) -> Option<Vec<usize>> {
        (*self != Self::new(self.0.len()))
            .then(|| (0..self.0.len()).filter(|column| self.0[*column]).collect())
    }

    fn after(&self, column: usize) -> usize {
        let next = (column + 1..self.0.len()).find(|column| self.0[*column]);
        next.unwrap_or(self.0.len() - 1)
    }

    fn before(&self, column: usize) -> usize {
        (0..column).rev().find(|column| self.0[*column]).unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SavedCursor {
    pub(crate) cursor: GridCursor<Cell>,
    pub(crate) charset: CharsetIndex,
    pub(crate) origin: bool,
}

impl ScreenEmulator {
    fn point(&self) -> (usize, usize) {
        let point = self.grid().cursor.point;
        (point.line.0 as usize, point.column.0)
    }

    pub(super) fn row(&self) -> usize {
        self.point().0
    }

    pub(super) fn column(&self) -> usize {
        self.point().1
    }

    /// Puts the cursor somewhere on the screen; a pending wrap is gone.
    pub(super) fn place(&mut self, row: usize, column: usize) {
        let (row, column) = (row.min(self.height() - 1), column.min(self.columns() - 1));
        let cursor = &mut self.term.grid_mut().cursor;
        cursor.point.line = Line(row as i32);
        cursor.point.column = Column(column);
        cursor.input_needs_wrap = false;
    }

    /// CUP: counts rows from the top margin in origin mode, and stays within the margins then.
    pub(super) fn go_to(&mut self, row: usize, column: usize) {
        let (top, bottom) = self.margins;
        let row = if self.modes.origin { (top + row).min(bottom - 1) } else { row };
        self.place(row, column);
    }

    pub(super) fn set_column(&mut self, column: usize) {
        self.place(self.row(), column);
    }

    /// CUU: stops at the top margin unless it begins above it.
    pub(super) fn up(&mut self, count: usize) {
        let (row, column) = self.point();
        let top = if row >= self.margins.0 { self.margins.0 } else { 0 };
        self.place(row.saturating_sub(count).max(top), column);
    }

    /// CUD: stops at the bottom margin unless it begins below it.
    pub(super) fn down(&mut self, count: usize) {
        let (row, column) = self.point();
        let bottom = if row < self.margins.1 { self.margins.1 } else { self.height() };
        self.place((row + count).min(bottom - 1), column);
    }

    pub(super) fn right(&mut self, count: usize) {
        let (row, column) = self.point();
        self.place(row, column + count);
    }

    /// CUB and backspace. With reverse wrap it goes on at the end of the row above, and from the
    /// first row in the last.
    pub(super) fn left(&mut self, count: usize) {
        let (mut row, mut column) = self.point();
        let mut count = count;
        if self.modes.reverse_wrap && self.modes.autowrap {
            // A pending wrap stands one column further right.
            count -= usize::from(self.grid().cursor.input_needs_wrap);
            let (top, bottom) = self.margins;
            while count > column {
                count -= column + 1;
                row = if row == top { bottom } else { row.max(1) } - 1;
                column = self.columns() - 1;
            }
        }
        self.place(row, column.saturating_sub(count));
    }

    /// HT and CHT. In the last column nothing happens, and a pending wrap stays.
    pub(super) fn tab_forward(&mut self, count: usize) {
        if self.grid().cursor.input_needs_wrap {
            return;
        }
        let (row, mut column) = self.point();
        for _ in 0..count.min(self.columns()) {
            column = self.tabs.after(column);
        }
        self.place(row, column);
    }

    pub(super) fn tab_backward(&mut self, count: usize) {
        let (row, mut column) = self.point();
        for _ in 0..count.min(self.columns()) {
            column = self.tabs.before(column);
        }
        self.place(row, column);
    }

    /// VPR: down without regard to the margins, but for origin mode.
    pub(super) fn down_anywhere(&mut self, count: usize) {
        let bottom = if self.modes.origin { self.margins.1 } else { self.height() };
        let (row, column) = self.point();
        self.place((row + count).min(bottom - 1), column);
    }

    /// DECSTBM. Margins must hold two rows at least.
    pub(super) fn set_margins(&mut self, top: usize, bottom: usize) {
        let cursor = self.term.grid().cursor.clone();
        self.margins = (top, bottom);
        self.term.set_scrolling_region(top + 1, Some(bottom));
        self.term.grid_mut().cursor = cursor;
    }

    /// IND: down one row; at the bottom margin the rows scroll instead.
    pub(super) fn index(&mut self) {
        if self.row() + 1 == self.margins.1 {
            self.touch_all();
            self.scrolled += u64::from(self.margins.0 == 0);
            self.rows_leave(1);
        }
        self.term.linefeed();
        self.term.grid_mut().cursor.input_needs_wrap = false;
    }

    /// RI: up one row; at the top margin the rows scroll instead.
    pub(super) fn reverse_index(&mut self) {
        if self.row() == self.margins.0 {
            self.touch_all();
        }
        self.term.reverse_index();
        self.term.grid_mut().cursor.input_needs_wrap = false;
    }

    pub(super) fn save_cursor(&mut self) {
        let saved = SavedCursor {
            cursor: self.grid().cursor.clone(),
            charset: self.charset,
            origin: self.modes.origin,
        };
        let buffer = self.modes.alternate_screen;
        *self.saved.get_mut(buffer) = Some(saved);
    }

    /// DECRC; without a saved cursor the cursor goes home as in a new terminal. A pending wrap is
    /// not restored, and the screen may have become smaller since.
    pub(super) fn restore_cursor(&mut self) {
        let saved = self.saved.get(self.modes.alternate_screen).clone();
        let saved = saved.unwrap_or_else(|| SavedCursor {
            cursor: GridCursor::default(),
            charset: CharsetIndex::G0,
            origin: false,
        });
        self.modes.origin = saved.origin;
        self.use_charset(saved.charset);
        let point = saved.cursor.point;
        let mut row = point.line.0 as usize;
        if saved.origin {
            row = row.clamp(self.margins.0, self.margins.1 - 1);
        }
        self.term.grid_mut().cursor = saved.cursor;
        self.place(row, point.column.0);
    }
}
