//! One row of a snapshot: its text, and the runs of it that are styled.

use std::hash::Hash;
use std::sync::Arc;

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Color as EmulatorColor, NamedColor};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::screen::Grid;

/// A row as it stands on the screen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScreenRow {
    text: String,
    wrapped: bool,
    spacer: bool,
    runs: Vec<StyledRun>,
}

/// Neighbouring cells with the same style, other than the usual.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StyledRun {
    pub column: u16,
    pub length: u16,
    pub style: CellStyle,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CellStyle {
    /// Colour of the text.
    pub foreground: CellColor,
    /// Colour behind the text.
    pub background: CellColor,
    /// Colour of the underline, where it is not that of the text.
    pub underline_color: Option<CellColor>,
    pub underline: UnderlineStyle,
    pub attributes: CellAttributes,
    /// The link, if the text is one.
    pub link: Option<Arc<LinkTarget>>,
}

/// A colour as the program named it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CellColor {
    #[default]
    Default,
    /// One of the sixteen with names.
    Named(u8),
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// The kinds of underline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnderlineStyle {
    #[default]
    None,
    Single,
    Double,
    Curly,
    Dotted,
    Dashed,
}

/// Attributes that are on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the protocol")]
pub struct CellAttributes {
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    /// Text and background exchanged.
    pub inverse: bool,
    pub hidden: bool,
    pub strikeout: bool,
}

/// Where a link leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LinkTarget {
    /// What ties separate parts of one link together; empty if nothing does.
    pub id: String,
    pub uri: String,
}

impl ScreenRow {
    /// The text. Blanks at the end are left out, unless the line goes on in the next row.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text as it goes on in the next row: without the blank that a wide character left.
    pub(crate) fn joined_text(&self) -> &str {
        if self.spacer { self.text.strip_suffix(' ').unwrap_or(&self.text) } else { &self.text }
    }

    /// Whether the line goes on in the next row.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.wrapped
    }

    /// The part before a column, with the blanks there.
    pub(super) fn until_column(&self, column: u16) -> String {
        let (mut text, mut width) = (String::new(), 0);
        for char in self.text.chars() {
            let next = width + char.width().unwrap_or(0);
            if next > usize::from(column) {
                break;
            }
            text.push(char);
            width = next;
        }
        text.extend(std::iter::repeat_n(' ', usize::from(column).saturating_sub(width)));
        text
    }

    /// The row with nothing but its beginning, which is this text.
    pub(super) fn only(&self, text: &str) -> Self {
        let width = UnicodeWidthStr::width(text);
        let runs = self.runs.iter().filter(|run| usize::from(run.column) < width).cloned();
        let text = text.trim_end_matches(' ').to_owned();
        Self { text, wrapped: false, spacer: false, runs: runs.collect() }
    }

    /// The styled parts, from left to right.
    pub fn runs(&self) -> &[StyledRun] {
        &self.runs
    }

    /// Whether the last column is blank only because a wide character did not fit.
    pub(super) fn has_spacer(&self) -> bool {
        self.spacer
    }

    pub(crate) fn read(grid: &Grid, index: usize) -> Self {
        let cells = &grid[Line(index as i32)][..];
        let wrapped = is_wrapped(grid, index);
        let spacer = wrapped && ends_with_spacer(grid, index);
        let mut text = String::with_capacity(cells.len());
        let mut runs: Vec<StyledRun> = Vec::new();
        let mut filled = 0;
        let mut last_style: Option<&Cell> = None;
        for (column, cell) in cells.iter().enumerate() {
            if !cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                text.push(cell.c);
                text.extend(cell.zerowidth().unwrap_or_default());
                if cell.c != ' ' || !cell.zerowidth().unwrap_or_default().is_empty() {
                    filled = text.len();
                }
            }
            // A column left over by a wide character has no look of its own.
            let left_over = spacer && column + 1 == cells.len();
            if is_plain(cell) || left_over {
                last_style = None;
            } else if let (Some(run), true) =
                (runs.last_mut(), last_style.is_some_and(|last| same_style(last, cell)))
            {
                run.length += 1;
            } else {
                runs.push(StyledRun {
                    column: column as u16,
                    length: 1,
                    style: CellStyle::of(cell),
                });
                last_style = Some(cell);
            }
        }
        if !wrapped {
            text.truncate(filled);
        }
        text.shrink_to_fit();
        Self { text, wrapped, spacer, runs }
    }
}

/// Whether the line of this row goes on in the next.
pub(crate) fn is_wrapped(grid: &Grid, index: usize) -> bool {
    grid[Line(index as i32)][..].last().is_some_and(|cell| cell.flags.contains(Flags::WRAPLINE))
}

/// Whether the last column was left blank because the wide character at the beginning of the next
/// row did not fit. One that is wide only through a variation selector never gets there by being
/// printed, only when the size changes; its blank is taken as one.
pub(crate) fn ends_with_spacer(grid: &Grid, index: usize) -> bool {
    let row = &grid[Line(index as i32)];
    let spacer = Flags::LEADING_WIDE_CHAR_SPACER;
    index + 1 < grid.screen_lines()
        && row[..].last().is_some_and(|cell| cell.flags.contains(spacer))
        && grid[Line(index as i32 + 1)][Column(0)].c.width() == Some(2)
}

/// Flags that say how a cell looks.
const STYLE_FLAGS: Flags = Flags::INVERSE
    .union(Flags::BOLD)
    .union(Flags::ITALIC)
    .union(Flags::DIM)
    .union(Flags::HIDDEN)
    .union(Flags::STRIKEOUT)
    .union(Flags::ALL_UNDERLINES);

/// Whether two cells look the same apart from their characters.
pub(crate) fn same_style(one: &Cell, other: &Cell) -> bool {
    one.fg == other.fg
        && one.bg == other.bg
        && one.flags.intersection(STYLE_FLAGS) == other.flags.intersection(STYLE_FLAGS)
        && (one.extra.is_none() && other.extra.is_none()
            || one.underline_color() == other.underline_color()
                && one.hyperlink() == other.hyperlink())
}

fn is_plain(cell: &Cell) -> bool {
    cell.fg == EmulatorColor::Named(NamedColor::Foreground)
        && cell.bg == EmulatorColor::Named(NamedColor::Background)
        && !cell.flags.intersects(STYLE_FLAGS)
        && (cell.extra.is_none() || cell.underline_color().is_none() && cell.hyperlink().is_none())
}

impl CellStyle {
    pub(crate) fn of(cell: &Cell) -> Self {
        let has = |flag| cell.flags.contains(flag);
        Self {
            foreground: cell.fg.into(),
            background: cell.bg.into(),
            underline_color: cell.underline_color().map(CellColor::from),
            underline: UnderlineStyle::of(cell.flags),
            attributes: CellAttributes {
                bold: has(Flags::BOLD),
                dim: has(Flags::DIM),
                italic: has(Flags::ITALIC),
                inverse: has(Flags::INVERSE),
                hidden: has(Flags::HIDDEN),
                strikeout: has(Flags::STRIKEOUT),
            },
            link: cell.hyperlink().map(|link| {
                Arc::new(LinkTarget { id: link.id().to_owned(), uri: link.uri().to_owned() })
            }),
        }
    }
}

impl UnderlineStyle {
    fn of(flags: Flags) -> Self {
        [
            (Flags::UNDERLINE, Self::Single),
            (Flags::DOUBLE_UNDERLINE, Self::Double),
            (Flags::UNDERCURL, Self::Curly),
            (Flags::DOTTED_UNDERLINE, Self::Dotted),
            (Flags::DASHED_UNDERLINE, Self::Dashed),
        ]
        .into_iter()
        .find_map(|(flag, kind)| flags.contains(flag).then_some(kind))
        .unwrap_or_default()
    }
}

impl From<EmulatorColor> for CellColor {
    fn from(color: EmulatorColor) -> Self {
        match color {
            EmulatorColor::Named(name) => match name as usize {
                index @ 0..=15 => Self::Named(index as u8),
                _ => Self::Default,
            },
            EmulatorColor::Indexed(index) => Self::Indexed(index),
            EmulatorColor::Spec(rgb) => Self::Rgb(rgb.r, rgb.g, rgb.b),
        }
    }
}
