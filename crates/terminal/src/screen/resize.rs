//! Changing the size, and mending what the emulator leaves behind.

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;

use super::Size;
use super::engine::Engine;
use super::grid::Grid;

impl Engine {
    pub(super) fn resize(&mut self, size: Size) {
        if size == self.size() {
            return;
        }
        self.term.resize(size);
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

impl Dimensions for Size {
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
