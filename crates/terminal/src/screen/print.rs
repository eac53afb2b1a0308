//! Printing text. Runs of plain ASCII, most of all output, are written straight into the row;
//! everything else goes through the emulator one character at a time.
//!
//! Widths are those of whole graphemes where the emulator counts single characters: an emoji with
//! a variation selector is wide, and modifiers and joined emoji take no place of their own, as the
//! programs we run and the terminals they are made for count them.

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Handler, StandardCharset};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::engine::ScreenEmulator;

/// Characters without width kept in one cell; the longest emoji in use has nine.
const MAX_MARKS: usize = 16;

const ZERO_WIDTH_JOINER: char = '\u{200d}';
const EMOJI_PRESENTATION: char = '\u{fe0f}';

impl ScreenEmulator {
    pub(super) fn print_text(&mut self, text: &str) {
        let cursor = &self.grid().cursor;
        let plain = cursor.charsets[self.charset] == StandardCharset::Ascii && !self.modes.insert;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = if !plain {
                self.print(first);
                first.len_utf8()
            } else if first.is_ascii() {
                let end = rest.bytes().position(|byte| !byte.is_ascii());
                let run = &rest.as_bytes()[..end.unwrap_or(rest.len())];
                self.print_ascii(run);
                self.last_char = run.last().copied().map(char::from);
                self.joiner = false;
                run.len()
            } else {
                match self.print_row(rest) {
                    0 => {
                        self.print(first);
                        first.len_utf8()
                    }
                    printed => printed,
                }
            };
            rest = &rest[length..];
        }
    }

    /// Prints characters beyond ASCII as far as they need nothing special and fit in the row.
    /// Gives the length of what was printed.
    fn print_row(&mut self, text: &str) -> usize {
        let columns = self.columns();
        let (row, start) = (self.row(), self.column());
        if self.joiner || self.grid().cursor.input_needs_wrap || start == 0 {
            return 0;
        }
        let grid = self.term.grid_mut();
        let Cell { fg, bg, flags, extra, .. } = grid.cursor.template.clone();
        let cells = &mut grid[Line(row as i32)][Column(0)..Column(columns)];
        let (mut column, mut length, mut last) = (start, 0, None);
        for char in text.chars() {
            let width = char.width().unwrap_or(0);
            let end = column + width;
            // A wide character that stands here is taken apart by the slow way.
            let halves = Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER;
            if width == 0
                || char.is_ascii()
                || is_tone(char)
                || end > columns
                || cells[column..end].iter().any(|cell| cell.flags.intersects(halves))
            {
                break;
            }
            for cell in &mut cells[column..end] {
                cell.c = char;
                cell.fg = fg;
                cell.bg = bg;
                cell.flags = flags;
                if cell.extra.is_some() || extra.is_some() {
                    cell.extra.clone_from(&extra);
                }
            }
            if width == 2 {
                cells[column].flags.insert(Flags::WIDE_CHAR);
                cells[column + 1].flags.insert(Flags::WIDE_CHAR_SPACER);
                cells[column + 1].c = ' ';
            }
            column = end;
            length += char.len_utf8();
            last = Some(char);
        }
        if length > 0 {
            grid.cursor.input_needs_wrap = column == columns;
            grid.cursor.point.column = Column(column.min(columns - 1));
            self.last_char = last;
            self.touch(row);
        }
        length
    }

    /// REP. More than fills screen and history is left out where it would change nothing.
    pub(super) fn repeat(&mut self, count: usize) {
        let Some(char) = self.last_char else { return };
        let width = char.width().unwrap_or(0).max(1);
        let per_row = self.columns() / width;
        let enough = per_row * (self.height() + self.grid().history_size() + 2);
        let count = if count > enough { enough + (count - enough) % per_row } else { count };
        let mut buffer = [0; 4];
        let text = char.encode_utf8(&mut buffer);
        self.print_text(&text.repeat(count));
    }

    fn print_ascii(&mut self, bytes: &[u8]) {
        let columns = self.columns();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            let (row, column) = (self.row(), self.column());
            let grid = self.term.grid_mut();
            // The emulator knows how to wrap, and what a wide character at the beginning of a
            // wrapped line means for the row above.
            let first_is_wide =
                column < 2 && grid[Line(row as i32)][Column(0)].flags.contains(Flags::WIDE_CHAR);
            if grid.cursor.input_needs_wrap || first_is_wide {
                self.print(char::from(first));
                rest = &rest[1..];
                continue;
            }
            let length = rest.len().min(columns - column);
            let (run, after) = rest.split_at(length);
            self.split_wide(row, column);
            self.split_wide(row, column + length);
            self.write_ascii(row, column, run);
            self.touch(row);
            rest = after;
        }
    }

    fn write_ascii(&mut self, row: usize, column: usize, run: &[u8]) {
        let columns = self.columns();
        let grid = self.term.grid_mut();
        let Cell { fg, bg, flags, extra, .. } = grid.cursor.template.clone();
        let end = column + run.len();
        let cells = &mut grid[Line(row as i32)][Column(column)..Column(end)];
        for (cell, &byte) in cells.iter_mut().zip(run) {
            cell.c = char::from(byte);
            cell.fg = fg;
            cell.bg = bg;
            cell.flags = flags;
            if cell.extra.is_some() || extra.is_some() {
                cell.extra.clone_from(&extra);
            }
        }
        grid.cursor.input_needs_wrap = end == columns;
        grid.cursor.point.column = Column(end.min(columns - 1));
    }

    fn print(&mut self, char: char) {
        let Some(width) = char.width() else { return };
        if width == 0 || self.joins(char) {
            self.attach(char);
            return;
        }
        let columns = self.columns();
        if self.modes.insert {
            if self.grid().cursor.input_needs_wrap && self.modes.autowrap {
                self.wrap();
            }
            let (row, column) = (self.row(), self.column());
            if column + width <= columns {
                self.insert_cells(row, column, width);
            }
        }
        let row = self.row();
        let (column, pending) = (self.column(), self.grid().cursor.input_needs_wrap);
        if width > 1 && column + width > columns && !self.modes.autowrap {
            return;
        }
        let wraps = self.modes.autowrap && (pending || column + width > columns);
        if wraps && row + 1 == self.margins.1 {
            self.touch_all();
            self.rows_leave(1);
        }
        // Wide characters are taken apart before they are overwritten: the emulator would forget
        // that this one did not fit in the row above.
        let (row_hit, column_hit) = if wraps { (row + 1, 0) } else { (row, column) };
        if row_hit < self.height() {
            self.split_wide(row_hit, column_hit);
            self.split_wide(row_hit, column_hit + 1);
            self.split_wide(row_hit, column_hit + width);
        }
        if !wraps && column == 0 {
            self.forget_spacer_above(row);
        }
        self.touch(row);
        self.term.input(char);
        self.touch(self.row());
        self.last_char = Some(char);
        self.joiner = false;
    }

    /// Goes on in the next row, which continues this one.
    fn wrap(&mut self) {
        self.term.grid_mut().cursor_cell().flags.insert(Flags::WRAPLINE);
        self.index();
        self.set_column(0);
    }

    /// The cell a character without width belongs to: the one just left of the cursor.
    pub(crate) fn base(&self) -> (usize, usize) {
        let cursor = &self.grid().cursor;
        let (row, mut column) = (self.row(), self.column());
        if !cursor.input_needs_wrap {
            column = column.saturating_sub(1);
        }
        let spacer = Flags::WIDE_CHAR_SPACER;
        if self.grid()[Line(row as i32)][Column(column)].flags.contains(spacer) {
            column = column.saturating_sub(1);
        }
        (row, column)
    }

    /// Whether a character with a width of its own is part of the emoji printed just before it: a
    /// skin tone, or what follows a joiner.
    fn joins(&self, char: char) -> bool {
        if self.last_char.is_none() || !(self.joiner || is_tone(char)) {
            return false;
        }
        let (row, column) = self.base();
        let cell = &self.grid()[Line(row as i32)][Column(column)];
        let marks = cell.zerowidth().unwrap_or_default();
        if marks.len() >= MAX_MARKS {
            return false;
        }
        let mut cluster = [0; 4 * (MAX_MARKS + 2)];
        let mut length = 0;
        for part in [cell.c].iter().chain(marks).chain([&char]) {
            length += part.encode_utf8(&mut cluster[length..]).len();
        }
        let width = if cell.flags.contains(Flags::WIDE_CHAR) { 2 } else { 1 };
        str::from_utf8(&cluster[..length]).is_ok_and(|cluster| cluster.width() == width)
    }

    /// Adds a character to the cell before the cursor.
    fn attach(&mut self, char: char) {
        let (row, column) = self.base();
        let cell = &self.grid()[Line(row as i32)][Column(column)];
        if cell.zerowidth().map_or(0, <[char]>::len) >= MAX_MARKS {
            return;
        }
        let narrow = !cell.flags.contains(Flags::WIDE_CHAR);
        if char == EMOJI_PRESENTATION && narrow && widens(cell.c) {
            // In the last column there is no room: the character stays as it is.
            if column + 1 != self.column() || self.grid().cursor.input_needs_wrap {
                return;
            }
            self.widen(row, column);
        }
        self.term.grid_mut()[Line(row as i32)][Column(column)].push_zerowidth(char);
        self.joiner = char == ZERO_WIDTH_JOINER;
        self.touch(row);
    }

    /// Gives the cell just left of the cursor a second column.
    fn widen(&mut self, row: usize, column: usize) {
        let columns = self.columns();
        self.split_wide(row, column + 2);
        if column == 0 {
            self.forget_spacer_above(row);
        }
        let cells = &mut self.term.grid_mut()[Line(row as i32)];
        let mut spacer = cells[Column(column)].clone();
        spacer.clear_wide();
        spacer.flags.insert(Flags::WIDE_CHAR_SPACER);
        cells[Column(column)].flags.insert(Flags::WIDE_CHAR);
        cells[Column(column + 1)] = spacer;
        let cursor = &mut self.term.grid_mut().cursor;
        cursor.input_needs_wrap = column + 2 == columns;
        cursor.point.column = Column((column + 2).min(columns - 1));
    }
}

/// Whether this is a skin tone, which colours the emoji before it.
pub(crate) fn is_tone(char: char) -> bool {
    ('\u{1f3fb}'..='\u{1f3ff}').contains(&char)
}

/// Whether the emoji presentation of this character is wide.
fn widens(base: char) -> bool {
    let mut buffer = [0; 8];
    let length = base.encode_utf8(&mut buffer).len();
    let end = length + EMOJI_PRESENTATION.encode_utf8(&mut buffer[length..]).len();
    str::from_utf8(&buffer[..end]).is_ok_and(|text| text.width() == 2)
}
