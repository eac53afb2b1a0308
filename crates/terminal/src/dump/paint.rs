//! Cells to bytes.

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};

use crate::screen::{Grid, is_tone};
use crate::snapshot::{
    CellColor, CellStyle, UnderlineStyle, ends_with_spacer, is_wrapped, same_style,
};

/// Writes cells, changing attributes only where they change.
pub(super) struct CellPainter {
    bytes: Vec<u8>,
    /// A cell with the attributes in force.
    pen: Cell,
    /// Added to every row, for origin mode.
    origin: i32,
    /// The last character written ends with a joiner, which would take the next one in.
    joiner: bool,
}

impl CellPainter {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::with_capacity(4096), pen: Cell::default(), origin: 0, joiner: false }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub(super) fn origin(&mut self, rows: i32) {
        self.origin = rows;
    }

    pub(super) fn go_to(&mut self, row: usize, column: usize) {
        let row = row as i32 + self.origin;
        self.push(&format!("\x1b[{};{}H", row + 1, column + 1));
        self.joiner = false;
    }

    /// Makes sure that what comes next is not joined to the last character. Any sequence does.
    pub(super) fn end_text(&mut self) {
        self.push(&format!("\x1b[{}m", sgr_params(&self.pen)));
        self.joiner = false;
    }

    /// Back to no attributes and the usual character set, whatever was in force.
    pub(super) fn reset_pen(&mut self) {
        self.push("\x1b]8;;\x1b\\\x1b[m\x1b(B\x1b)B\x1b*B\x1b+B\x0f");
        self.pen = Cell::default();
    }

    /// Sets the attributes of a cell.
    pub(super) fn pen(&mut self, cell: &Cell) {
        if same_style(&self.pen, cell) {
            return;
        }
        let (old, new) = (self.pen.hyperlink(), cell.hyperlink());
        if old != new {
            let text = match &new {
                Some(link) if link.id().is_empty() => format!("\x1b]8;;{}\x1b\\", link.uri()),
                Some(link) => format!("\x1b]8;id={};{}\x1b\\", link.id(), link.uri()),
                None => "\x1b]8;;\x1b\\".to_owned(),
            };
            self.push(&text);
        }
        self.push(&format!("\x1b[{}m", sgr_params(cell)));
        self.pen = cell.clone();
    }

    /// One cell; the second half of a wide character is written with the first.
    fn cell(&mut self, cell: &Cell) {
        self.pen(cell);
        let mut buffer = [0; 4];
        for char in std::iter::once(&cell.c).chain(cell.zerowidth().unwrap_or_default()) {
            self.bytes.extend_from_slice(char.encode_utf8(&mut buffer).as_bytes());
        }
    }

    fn cells(&mut self, cells: &[Cell]) {
        for cell in cells.iter().filter(|cell| !cell.flags.contains(Flags::WIDE_CHAR_SPACER)) {
            if self.joiner || is_tone(cell.c) {
                self.end_text();
            }
            self.cell(cell);
            self.joiner = cell.zerowidth().and_then(<[char]>::last) == Some(&'\u{200d}');
        }
    }

    /// All rows of a screen that is empty and without margins.
    pub(super) fn rows(&mut self, grid: &Grid) {
        let (height, columns) = (grid.screen_lines(), grid.columns());
        let last = height - 1;
        let bottom_done = last > 0 && is_wrapped(grid, last);
        if bottom_done {
            self.wrapped_bottom(grid);
        }
        let mut continues = false;
        for row in 0..height {
            let cells = &grid[Line(row as i32)][..];
            let wrapped = row < last && is_wrapped(grid, row);
            let mut end = if wrapped {
                columns - usize::from(ends_with_spacer(grid, row))
            } else {
                cells.iter().rposition(|cell| !is_blank(cell)).map_or(0, |column| column + 1)
            };
            if row == last && bottom_done {
                end = 0;
            }
            if continues {
                // The first character of this row makes the line above go on.
                end = end.max(1);
            } else if end > 0 {
                self.go_to(row, 0);
            }
            self.cells(&cells[..end]);
            continues = wrapped;
        }
    }

    /// A last row whose line goes on below the screen: it is written one row higher, where it can
    /// wrap, and scrolled into place.
    fn wrapped_bottom(&mut self, grid: &Grid) {
        let last = grid.screen_lines() - 1;
        self.go_to(last - 1, 0);
        self.cells(&grid[Line(last as i32)][..]);
        self.pen(&Cell::default());
        self.push(&format!(" \x1b[{};{}r\x1b[T\x1b[r", last, last + 1));
    }

    /// Brings the cursor behind the last column by writing what stands there once more.
    pub(super) fn pending_wrap(&mut self, grid: &Grid, row: usize) {
        self.last_character(grid, (row, grid.columns() - 1));
    }

    /// Writes one character once more, from its first half if the column has the second. A wide
    /// one that did not fit in the row above is written there, so that it wraps again.
    pub(super) fn last_character(&mut self, grid: &Grid, (row, column): (usize, usize)) {
        let cells = &grid[Line(row as i32)];
        let wide = cells[Column(column)].flags.contains(Flags::WIDE_CHAR_SPACER);
        let column = column - usize::from(wide);
        if column == 0 && row > 0 && ends_with_spacer(grid, row - 1) {
            self.go_to(row - 1, grid.columns() - 1);
        } else {
            self.go_to(row, column);
        }
        self.cell(&cells[Column(column)]);
    }
}

/// Whether an erased cell looks the same.
fn is_blank(cell: &Cell) -> bool {
    cell.c == ' '
        && cell.zerowidth().unwrap_or_default().is_empty()
        && same_style(cell, &Cell::default())
}

/// SGR parameters that give these attributes, whatever was before.
pub(crate) fn sgr_params(cell: &Cell) -> String {
    let style = CellStyle::of(cell);
    let attributes = style.attributes;
    let underline = match style.underline {
        UnderlineStyle::None => None,
        UnderlineStyle::Single => Some("4"),
        UnderlineStyle::Double => Some("4:2"),
        UnderlineStyle::Curly => Some("4:3"),
        UnderlineStyle::Dotted => Some("4:4"),
        UnderlineStyle::Dashed => Some("4:5"),
    };
    let mut params: Vec<String> = [
        Some("0"),
        attributes.bold.then_some("1"),
        attributes.dim.then_some("2"),
        attributes.italic.then_some("3"),
        underline,
        attributes.inverse.then_some("7"),
        attributes.hidden.then_some("8"),
        attributes.strikeout.then_some("9"),
    ]
    .into_iter()
    .flatten()
    .map(str::to_owned)
    .collect();
    params.extend(color_params(style.foreground, 30));
    params.extend(color_params(style.background, 40));
    params.extend(style.underline_color.and_then(|color| match color {
        CellColor::Default => None,
        CellColor::Named(index) | CellColor::Indexed(index) => Some(format!("58:5:{index}")),
        CellColor::Rgb(r, g, b) => Some(format!("58:2::{r}:{g}:{b}")),
    }));
    params.join(";")
}

/// `base` is 30 for the text and 40 for what is behind it.
fn color_params(color: CellColor, base: u16) -> Option<String> {
    match color {
        CellColor::Default => None,
        CellColor::Named(index @ 0..=7) => Some((base + u16::from(index)).to_string()),
        CellColor::Named(index) => Some((base + 60 + u16::from(index) - 8).to_string()),
        CellColor::Indexed(index) => Some(format!("{};5;{index}", base + 8)),
        CellColor::Rgb(r, g, b) => Some(format!("{};2;{r};{g};{b}", base + 8)),
    }
}
