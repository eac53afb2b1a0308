//! Changing the size, and mending what the emulator leaves behind.

use std::mem;

use alacritty_terminal::grid::{Dimensions, GridCell};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;

use super::GridSize;
use super::engine::ScreenEmulator;
use super::grid::{Grid, compact, forget_empty_history};

impl ScreenEmulator {
    pub(super) fn resize(&mut self, size: GridSize) {
        let old = self.size();
        if size == old {
            return;
        }
        let (rows, columns) = (size.screen_lines(), Dimensions::columns(&size));
        let history = self.history;
        self.with_main_grid(|grid| {
            forget_empty_history(grid, history);
            reflow(grid, rows, columns);
            *grid = compact(grid, history);
        });
        if self.modes.alternate_screen {
            self.term.resize(size);
        } else {
            // The main screen has its size already; the emulator must still learn of it.
            let stand_in = Grid::new(old.screen_lines(), Dimensions::columns(&old), 0);
            let main = mem::replace(self.term.grid_mut(), stand_in);
            self.term.resize(size);
            *self.term.grid_mut() = main;
        }
        self.margins = (0, self.height());
        self.tabs.resize(self.columns());
        self.parked = None;
        self.last_char = None;
        for alternate in [false, true] {
            if let Some(saved) = self.saved.get_mut(alternate) {
                let point = &mut saved.cursor.point;
                point.line = point.line.min(Line(i32::from(size.rows) - 1));
                point.column = point.column.min(Column(usize::from(size.columns) - 1));
            }
        }
        mend(self.term.grid_mut());
        self.with_main_grid(mend);
        self.touch_all();
    }
}

/// Wraps the lines of the main screen anew. In fewer columns they need more rows; the emulator
/// takes them by pushing others off the top. Here the empty rows below are used up first.
fn reflow(grid: &mut Grid, rows: usize, columns: usize) {
    if columns >= grid.columns() {
        return grid.resize(true, rows, columns);
    }
    let height = grid.screen_lines();
    let used = height - empty_rows_below(grid);
    grid.resize(true, used, grid.columns());
    let history = grid.history_size();
    grid.resize(true, used, columns);
    let pushed_off = grid.history_size().saturating_sub(history);
    let history = grid.history_size();
    grid.resize(true, rows, columns);
    // New rows are filled from history: those just pushed off, and no older ones unless the
    // screen really grew.
    let pulled = history.saturating_sub(grid.history_size());
    let wanted = pushed_off + rows.saturating_sub(height);
    let too_many = pulled.saturating_sub(wanted);
    if too_many > 0 {
        let template = mem::take(&mut grid.cursor.template);
        grid.scroll_up(&(Line(0)..Line(rows as i32)), too_many);
        grid.cursor.template = template;
        grid.cursor.point.line -= too_many;
    }
}

/// Rows at the end with nothing on them and not the cursor.
fn empty_rows_below(grid: &Grid) -> usize {
    let is_empty = |line: &i32| grid[Line(*line)][..].iter().all(GridCell::is_empty);
    let below = grid.cursor.point.line.0 + 1..grid.screen_lines() as i32;
    below.rev().take_while(is_empty).count()
}

fn mend(grid: &mut Grid) {
    let last = grid.columns() - 1;
    for line in grid.topmost_line().0..=grid.bottommost_line().0 {
        // Writing to a row, if only in name, makes the emulator clear all of it when it is used
        // again. Else it clears up to the last cell written before the size changed.
        let cells = &mut grid[Line(line)][Column(0)..Column(last + 1)];
        // The alternate screen is cut, not wrapped anew, perhaps through a wide character.
        if cells[last].flags.contains(Flags::WIDE_CHAR) {
            cells[last].clear_wide();
        }
    }
    // Where there is room now, the text goes on in the same row.
    let cursor = &mut grid.cursor;
    if cursor.input_needs_wrap && cursor.point.column.0 < last {
        cursor.input_needs_wrap = false;
        cursor.point.column += 1;
    }
}

impl Dimensions for GridSize {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.rows)
    }

    fn columns(&self) -> usize {
        usize::from(self.columns)
    }
}
