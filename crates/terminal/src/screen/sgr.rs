//! Select graphic rendition: attributes and colours of the text to come.

use alacritty_terminal::vte::ansi::{Attr, Color, Handler, NamedColor, Rgb};

use super::engine::ScreenEmulator;
use crate::dump;
use crate::parser::SequenceParams;

impl ScreenEmulator {
    pub(super) fn select_rendition(&mut self, params: &SequenceParams) {
        if params.is_empty() {
            self.term.terminal_attribute(Attr::Reset);
        }
        let mut groups = params.groups();
        while let Some(group) = groups.next() {
            let attribute = match group {
                [38] => color_of(&mut groups.by_ref().map(|group| group[0])).map(Attr::Foreground),
                [48] => color_of(&mut groups.by_ref().map(|group| group[0])).map(Attr::Background),
                [58] => color_of(&mut groups.by_ref().map(|group| group[0]))
                    .map(|color| Attr::UnderlineColor(Some(color))),
                [38, rest @ ..] => joined_color(rest).map(Attr::Foreground),
                [48, rest @ ..] => joined_color(rest).map(Attr::Background),
                [58, rest @ ..] => {
                    joined_color(rest).map(|color| Attr::UnderlineColor(Some(color)))
                }
                _ => attribute(group),
            };
            if let Some(attribute) = attribute {
                self.term.terminal_attribute(attribute);
            }
        }
    }

    /// The current attributes as SGR parameters.
    pub(super) fn pen_params(&self) -> String {
        dump::sgr_params(&self.grid().cursor.template)
    }
}

fn attribute(group: &[u16]) -> Option<Attr> {
    Some(match *group {
        [0] => Attr::Reset,
        [1] => Attr::Bold,
        [2] => Attr::Dim,
        [3] => Attr::Italic,
        [4, 0] | [24] => Attr::CancelUnderline,
        [4] | [4, 1] => Attr::Underline,
        [4, 2] | [21] => Attr::DoubleUnderline,
        [4, 3] => Attr::Undercurl,
        [4, 4] => Attr::DottedUnderline,
        [4, 5] => Attr::DashedUnderline,
        [7] => Attr::Reverse,
        [8] => Attr::Hidden,
        [9] => Attr::Strike,
        [22] => Attr::CancelBoldDim,
        [23] => Attr::CancelItalic,
        [27] => Attr::CancelReverse,
        [28] => Attr::CancelHidden,
        [29] => Attr::CancelStrike,
        [value @ 30..=37] => Attr::Foreground(named(value - 30)),
        [39] => Attr::Foreground(Color::Named(NamedColor::Foreground)),
        [value @ 40..=47] => Attr::Background(named(value - 40)),
        [49] => Attr::Background(Color::Named(NamedColor::Background)),
        [59] => Attr::UnderlineColor(None),
        [value @ 90..=97] => Attr::Foreground(named(value - 90 + 8)),
        [value @ 100..=107] => Attr::Background(named(value - 100 + 8)),
        _ => return None,
    })
}

fn named(index: u16) -> Color {
    use NamedColor as N;
    const SGR_COLORS: [NamedColor; 16] = [
        N::Black,
        N::Red,
        N::Green,
        N::Yellow,
        N::Blue,
        N::Magenta,
        N::Cyan,
        N::White,
        N::BrightBlack,
        N::BrightRed,
        N::BrightGreen,
        N::BrightYellow,
        N::BrightBlue,
        N::BrightMagenta,
        N::BrightCyan,
        N::BrightWhite,
    ];
    Color::Named(SGR_COLORS[usize::from(index)])
}

/// The old form, `38;5;n` and `38;2;r;g;b`: the values follow as parameters of their own.
fn color_of(values: &mut dyn Iterator<Item = u16>) -> Option<Color> {
    match values.next()? {
        5 => Some(Color::Indexed(byte(values.next()?)?)),
        2 => rgb(values.next()?, values.next()?, values.next()?),
        _ => None,
    }
}

/// The form with colons, `38:5:n`, `38:2:r:g:b` and `38:2:space:r:g:b`.
fn joined_color(values: &[u16]) -> Option<Color> {
    match *values {
        [5, index, ..] => Some(Color::Indexed(byte(index)?)),
        [2, r, g, b] | [2, _, r, g, b, ..] => rgb(r, g, b),
        _ => None,
    }
}

fn rgb(r: u16, g: u16, b: u16) -> Option<Color> {
    Some(Color::Spec(Rgb { r: byte(r)?, g: byte(g)?, b: byte(b)? }))
}

fn byte(value: u16) -> Option<u8> {
    u8::try_from(value).ok()
}
