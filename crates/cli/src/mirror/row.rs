//! One row of another terminal, cut to the columns there are.

use coven_terminal::snapshot::{CellColor, CellStyle, ScreenRow, UnderlineStyle};
use coven_terminal::through::is_direction_mark;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::PutText;

/// The row as text with its colours.
pub(super) fn painted(row: &ScreenRow, columns: usize) -> String {
    let mut text = String::new();
    let mut at = 0;
    let mut pen: Option<&CellStyle> = None;
    for piece in pieces(row.text()) {
        // A control character cannot stand on a screen; whatever has no width takes one here.
        let width = piece.width().max(1);
        if at + width > columns {
            break;
        }
        put(&mut text, row, at, &mut pen);
        text.extend(piece.chars().filter(|letter| !is_direction_mark(*letter)));
        at += width;
    }
    // What is coloured goes on behind the last letter.
    let end = row.runs().iter().map(|run| usize::from(run.column + run.length)).max().unwrap_or(0);
    while at < end.min(columns) {
        put(&mut text, row, at, &mut pen);
        text.push(' ');
        at += 1;
    }
    text
}

/// Sets the style of a column, if it is another one.
fn put<'a>(text: &mut String, row: &'a ScreenRow, column: usize, pen: &mut Option<&'a CellStyle>) {
    let covers = |run: &&coven_terminal::snapshot::StyledRun| {
        (usize::from(run.column)..usize::from(run.column + run.length)).contains(&column)
    };
    let style = row.runs().iter().find(covers).map(|run| &run.style);
    if style != *pen {
        text.put(format!("\x1b[0{}m", style.map(sgr).unwrap_or_default()));
        *pen = style;
    }
}

/// Letters, each with what is joined to it.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let joined = |(_, letter): &(usize, char)| letter.width().unwrap_or(0) > 0;
        let end = rest.char_indices().skip(1).find(joined).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// What switches a style on, after everything was switched off.
fn sgr(style: &CellStyle) -> String {
    let mut text = String::new();
    let set = style.attributes;
    for (on, code) in [
        (set.bold, 1),
        (set.dim, 2),
        (set.italic, 3),
        (set.inverse, 7),
        (set.hidden, 8),
        (set.strikeout, 9),
    ] {
        if on {
            text.put(format!(";{code}"));
        }
    }
    text.push_str(match style.underline {
        UnderlineStyle::None => "",
        UnderlineStyle::Single => ";4",
        UnderlineStyle::Double => ";21",
        UnderlineStyle::Curly => ";4:3",
        UnderlineStyle::Dotted => ";4:4",
        UnderlineStyle::Dashed => ";4:5",
    });
    text.push_str(&color(style.foreground, 30));
    text.push_str(&color(style.background, 40));
    text
}

/// A colour, as that of the text (30) or of what is behind it (40).
fn color(color: CellColor, base: u8) -> String {
    match color {
        CellColor::Default => String::new(),
        CellColor::Named(name @ 0..8) => format!(";{}", base + name),
        CellColor::Named(name) => format!(";{}", base + 60 + (name & 7)),
        CellColor::Indexed(index) => format!(";{};5;{index}", base + 8),
        CellColor::Rgb(red, green, blue) => format!(";{};2;{red};{green};{blue}", base + 8),
    }
}

#[cfg(test)]
mod tests {
    use coven_terminal::screen::{GridSize, Screen};

    use super::*;

    /// The first row of a wide terminal, shown on one with fewer columns.
    fn shown(bytes: &str, columns: u16) -> (Screen, Screen) {
        let mut wide = Screen::new(GridSize::new(40, 2));
        wide.feed(bytes.as_bytes());
        let mut narrow = Screen::new(GridSize::new(columns, 2));
        narrow.feed(painted(&wide.snapshot().rows()[0], usize::from(columns)).as_bytes());
        (wide, narrow)
    }

    #[test]
    fn what_there_is_room_for_looks_the_same() {
        let bytes = "a\x1b[1;38;5;9;48;2;1;2;3mbold\x1b[4:3m漢字\x1b[0;7m \x1b[K\x1b[m";
        let (mut wide, mut narrow) = shown(bytes, 40);
        assert_eq!(wide.snapshot().rows()[0], narrow.snapshot().rows()[0]);
    }

    #[test]
    fn what_turns_text_around_is_left_out() {
        let mut wide = Screen::new(GridSize::new(40, 2));
        wide.feed("a\u{202e}b\u{2066}".as_bytes());
        assert_eq!(painted(&wide.snapshot().rows()[0], 40), "ab");
    }

    #[test]
    fn a_letter_is_shown_whole_or_not_at_all() {
        let (_, mut narrow) = shown("ab漢e\u{301}f", 3);
        assert_eq!(narrow.snapshot().rows()[0].text(), "ab");
        let (_, mut narrow) = shown("ab漢e\u{301}f", 5);
        assert_eq!(narrow.snapshot().rows()[0].text(), "ab漢e\u{301}");
    }
}
