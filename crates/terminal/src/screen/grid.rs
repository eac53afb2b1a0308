//! The emulator's grid under our names, with a history that takes its memory once.
//!
//! The emulator adds history in blocks of a thousand rows, two megabytes at the first line that
//! scrolls off, and what is freed again lies scattered over the heap. A grid from here has all its
//! history rows from the beginning, empty ones, and never grows.

use alacritty_terminal::grid::{Dimensions, GridCell};
use alacritty_terminal::index::Line;
use alacritty_terminal::term::cell::Cell;

/// Rows of cells, with cursor and history.
pub(crate) type Grid = alacritty_terminal::grid::Grid<Cell>;

/// An empty grid with as many empty history rows as it may have.
pub(super) fn with_history(rows: usize, columns: usize, history: usize) -> Grid {
    let mut grid = Grid::new(rows, columns, history);
    let all = Line(0)..Line(rows as i32);
    let mut left = history;
    while left > 0 {
        let count = left.min(rows);
        grid.scroll_up(&all, count);
        left -= count;
    }
    grid.truncate();
    // A copy has room for just these rows; the original still has it for the thousand it was given.
    grid.clone()
}

/// The same grid without the empty rows its history begins with: they stand for rows that never
/// were.
pub(super) fn forget_empty_history(grid: &mut Grid, limit: usize) {
    let is_empty = |line: &i32| grid[Line(*line)][..].iter().all(GridCell::is_empty);
    let empty = (grid.topmost_line().0..0).take_while(is_empty).count();
    grid.update_history(grid.history_size() - empty);
    grid.update_history(limit);
}

/// The same rows and cursor in a grid that has all its history rows.
pub(super) fn compact(grid: &Grid, limit: usize) -> Grid {
    let mut copy = with_history(grid.screen_lines(), grid.columns(), limit);
    for line in grid.topmost_line().0..=grid.bottommost_line().0 {
        copy[Line(line)] = grid[Line(line)].clone();
    }
    copy.cursor = grid.cursor.clone();
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_begins_with_all_its_history() {
        for (rows, history) in [(24, 24), (5, 100), (3, 0), (1, 7)] {
            let grid = with_history(rows, 80, history);
            assert_eq!(grid.history_size(), history);
            assert_eq!(grid.screen_lines(), rows);
        }
    }
}
