//! The emulator's grid under our names.

use alacritty_terminal::term::cell::Cell;

/// Rows of cells, with cursor and history.
pub(crate) type Grid = alacritty_terminal::grid::Grid<Cell>;
