//! Erasing, inserting, deleting and scrolling. A wide character that is cut by an edit becomes
//! blank as a whole, so that no half of one is ever left.

use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{ClearMode, Handler};

use super::engine::ScreenEmulator;

/// The part of a line or screen to erase, seen from the cursor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EraseRange {
    After,
    Before,
    All,
}

impl EraseRange {
    pub(super) fn from_param(value: u16) -> Option<Self> {
        match value {
            0 => Some(Self::After),
            1 => Some(Self::Before),
            2 => Some(Self::All),
            _ => None,
        }
    }
}

impl ScreenEmulator {
    fn cells(&mut self, row: usize, from: usize, to: usize) -> &mut [Cell] {
        &mut self.term.grid_mut()[Line(row as i32)][Column(from)..Column(to)]
    }

    /// A blank cell in the current background.
    fn blank(&self) -> Cell {
        self.grid().cursor.template.bg.into()
    }

    /// Makes sure that no wide character lies across the boundary left of `column`.
    pub(super) fn split_wide(&mut self, row: usize, column: usize) {
        if column == 0 || column >= self.columns() {
            return;
        }
        let pair = self.cells(row, column - 1, column + 1);
        if pair[1].flags.contains(Flags::WIDE_CHAR_SPACER) {
            for cell in pair {
                cell.flags.remove(Flags::WIDE_CHAR_SPACER);
                cell.clear_wide();
            }
        }
    }

    /// Says that what will stand at the beginning of this row was not wrapped there for want of
    /// room in the row above.
    pub(super) fn forget_spacer_above(&mut self, row: usize) {
        if row > 0 {
            let last = self.columns() - 1;
            let cell = &mut self.cells(row - 1, last, last + 1)[0];
            cell.flags.remove(Flags::LEADING_WIDE_CHAR_SPACER);
        }
    }

    pub(super) fn erase(&mut self, row: usize, from: usize, to: usize) {
        self.split_wide(row, from);
        self.split_wide(row, to);
        let blank = self.blank();
        self.cells(row, from, to).fill(blank);
        self.touch(row);
    }

    /// EL. Text that just filled the line to its end is left alone, as most terminals do: the
    /// cursor stands behind the last column then.
    pub(super) fn erase_line(&mut self, part: EraseRange) {
        let (row, column, columns) = (self.row(), self.column(), self.columns());
        match part {
            EraseRange::After if self.grid().cursor.input_needs_wrap => {}
            EraseRange::After => self.erase(row, column, columns),
            EraseRange::Before => self.erase(row, 0, column + 1),
            EraseRange::All => self.erase(row, 0, columns),
        }
    }

    pub(super) fn erase_screen(&mut self, part: EraseRange) {
        let (row, height, columns) = (self.row(), self.height(), self.columns());
        let rows = match part {
            EraseRange::After => row + 1..height,
            EraseRange::Before => 0..row,
            EraseRange::All => 0..height,
        };
        if part != EraseRange::All {
            self.erase_line(part);
        }
        for row in rows {
            self.erase(row, 0, columns);
        }
    }

    pub(super) fn erase_history(&mut self) {
        self.history_erased();
        self.term.clear_screen(ClearMode::Saved);
    }

    pub(super) fn erase_chars(&mut self, count: usize) {
        let (row, column) = (self.row(), self.column());
        self.erase(row, column, (column + count).min(self.columns()));
    }

    /// Moves the cells right of `column` to the right by `count`; those pushed out are lost.
    pub(super) fn insert_cells(&mut self, row: usize, column: usize, count: usize) {
        let columns = self.columns();
        let count = count.min(columns - column);
        self.shift_cells(row, column, columns - count, |cells| cells.rotate_right(count));
        self.erase(row, column, column + count);
    }

    /// Moves the cells right of `column` to the left by `count`; the free ones become blank.
    pub(super) fn delete_cells(&mut self, row: usize, column: usize, count: usize) {
        let columns = self.columns();
        let count = count.min(columns - column);
        self.shift_cells(row, column, column + count, |cells| cells.rotate_left(count));
        self.erase(row, columns - count, columns);
    }

    /// Shifts the cells from `column` on. `cut` is the other place where the row is taken apart.
    fn shift_cells(
        &mut self,
        row: usize,
        column: usize,
        cut: usize,
        shift: impl FnOnce(&mut [Cell]),
    ) {
        self.split_wide(row, column);
        self.split_wide(row, cut);
        if column == 0 {
            self.forget_spacer_above(row);
        }
        let columns = self.columns();
        let cells = self.cells(row, column, columns);
        // What was the end of a wrapped line no longer is.
        if let Some(last) = cells.last_mut() {
            last.flags.remove(Flags::WRAPLINE | Flags::LEADING_WIDE_CHAR_SPACER);
        }
        shift(cells);
    }

    pub(super) fn insert_chars(&mut self, count: usize) {
        let (row, column) = (self.row(), self.column());
        self.insert_cells(row, column, count);
        self.set_column(column);
    }

    pub(super) fn delete_chars(&mut self, count: usize) {
        let (row, column) = (self.row(), self.column());
        self.delete_cells(row, column, count);
        self.set_column(column);
    }

    fn in_margins(&self) -> bool {
        (self.margins.0..self.margins.1).contains(&self.row())
    }

    /// IL; the cursor goes to the first column.
    pub(super) fn insert_lines(&mut self, count: usize) {
        if self.in_margins() {
            self.term.insert_blank_lines(count);
            self.set_column(0);
            self.touch_all();
        }
    }

    /// DL; the cursor goes to the first column.
    pub(super) fn delete_lines(&mut self, count: usize) {
        if self.in_margins() {
            self.term.delete_lines(count);
            self.set_column(0);
            self.touch_all();
        }
    }

    pub(super) fn scroll_up(&mut self, count: usize) {
        self.rows_leave(count);
        self.term.scroll_up(count);
        self.end_line_at_wrap();
        self.touch_all();
    }

    pub(super) fn scroll_down(&mut self, count: usize) {
        self.term.scroll_down(count);
        self.end_line_at_wrap();
        self.touch_all();
    }

    /// Another row stands under the cursor now. Where a wrap is pending, the line of that row ends
    /// there: it goes on only with what is printed next.
    pub(super) fn end_line_at_wrap(&mut self) {
        if self.grid().cursor.input_needs_wrap {
            let (row, last) = (self.row(), self.columns() - 1);
            self.cells(row, last, last + 1)[0].flags.remove(Flags::WRAPLINE);
        }
    }

    /// SL and DECDC: columns from `column` on move left in every row between the margins.
    pub(super) fn delete_columns(&mut self, column: usize, count: usize) {
        if self.in_margins() {
            for row in self.margins.0..self.margins.1 {
                self.delete_cells(row, column, count);
            }
        }
    }

    /// SR and DECIC: columns from `column` on move right in every row between the margins.
    pub(super) fn insert_columns(&mut self, column: usize, count: usize) {
        if self.in_margins() {
            for row in self.margins.0..self.margins.1 {
                self.insert_cells(row, column, count);
            }
        }
    }

    /// DECALN: the screen full of `E`, margins and cursor as new.
    pub(super) fn alignment_pattern(&mut self) {
        self.set_margins(0, self.height());
        self.place(0, 0);
        self.term.decaln();
        self.touch_all();
    }
}
