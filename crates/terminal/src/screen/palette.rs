//! Colours a program may set and ask for (OSC 4, 10, 11, 12).

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb {
    pub r: u8,
    pub g: u8,
    pub b: u8,
}

impl Rgb {
    /// Reads `#rgb`, `#rrggbb` (up to four digits each) and `rgb:r/g/b`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = if let Some(parts) = text.strip_prefix("rgb:") {
            parts.split('/').collect()
        } else {
            let digits = text.strip_prefix('#')?;
            let width = digits.len() / 3;
            if width == 0 || digits.len() % 3 != 0 || !digits.is_ascii() {
                return None;
            }
            vec![&digits[..width], &digits[width..2 * width], &digits[2 * width..]]
        };
        let [r, g, b] = parts.try_into().ok()?;
        Some(Self { r: channel(r)?, g: channel(g)?, b: channel(b)? })
    }

    /// As `rgb:rrrr/gggg/bbbb`, the form terminals answer in.
    pub(crate) fn spec(self) -> String {
        let Self { r, g, b } = self;
        format!("rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}")
    }
}

/// One to four hex digits, scaled to eight bits.
fn channel(digits: &str) -> Option<u8> {
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let max = (1 << (4 * digits.len())) - 1;
    Some((value * 255 / max) as u8)
}

/// What a colour number stands for: the 256 indexed ones, then foreground, background, cursor.
pub(crate) const FOREGROUND: u16 = 256;
pub(crate) const BACKGROUND: u16 = 257;
pub(crate) const CURSOR: u16 = 258;

/// The colours in force: defaults, and what the program has set.
#[derive(Clone, Debug)]
pub(crate) struct ColorPalette {
    foreground: Rgb,
    background: Rgb,
    set: BTreeMap<u16, Rgb>,
}

impl ColorPalette {
    pub(crate) fn new(foreground: Rgb, background: Rgb) -> Self {
        Self { foreground, background, set: BTreeMap::new() }
    }

    pub(crate) fn set(&mut self, index: u16, color: Rgb) {
        self.set.insert(index, color);
    }

    pub(crate) fn reset(&mut self, index: u16) {
        self.set.remove(&index);
    }

    pub(crate) fn reset_indexed(&mut self) {
        self.set.retain(|index, _| *index >= FOREGROUND);
    }

    pub(crate) fn reset_all(&mut self) {
        self.set.clear();
    }

    /// What the program has set, in order.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = (u16, Rgb)> {
        self.set.iter().map(|(index, color)| (*index, *color))
    }

    /// Whether light text stands on dark ground.
    pub(crate) fn is_dark(&self) -> bool {
        let light = |Rgb { r, g, b }: Rgb| 2 * u32::from(r) + 5 * u32::from(g) + u32::from(b);
        light(self.get(BACKGROUND)) <= light(self.get(FOREGROUND))
    }

    pub(crate) fn get(&self, index: u16) -> Rgb {
        self.set.get(&index).copied().unwrap_or_else(|| match index {
            BACKGROUND => self.background,
            0..=255 => standard(index as u8),
            _ => self.foreground,
        })
    }
}

/// The standard colours of xterm: sixteen named ones, a cube of 6x6x6, 24 greys.
fn standard(index: u8) -> Rgb {
    const NAMED_COLORS: [u32; 16] = [
        0x00_0000, 0xcd_0000, 0x00_cd00, 0xcd_cd00, 0x00_00ee, 0xcd_00cd, 0x00_cdcd, 0xe5_e5e5,
        0x7f_7f7f, 0xff_0000, 0x00_ff00, 0xff_ff00, 0x5c_5cff, 0xff_00ff, 0x00_ffff, 0xff_ffff,
    ];
    match index {
        0..=15 => {
            let [_, r, g, b] = NAMED_COLORS[usize::from(index)].to_be_bytes();
            Rgb { r, g, b }
        }
        16..=231 => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = index - 16;
            Rgb { r: level(cube / 36), g: level(cube / 6 % 6), b: level(cube % 6) }
        }
        _ => {
            let grey = 8 + 10 * (index - 232);
            Rgb { r: grey, g: grey, b: grey }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_in_every_form() {
        let colour = |r, g, b| Some(Rgb { r, g, b });
        assert_eq!(Rgb::parse("#f08"), colour(0xff, 0, 0x88));
        assert_eq!(Rgb::parse("#102030"), colour(0x10, 0x20, 0x30));
        assert_eq!(Rgb::parse("rgb:ffff/8080/0"), colour(0xff, 0x80, 0));
        for bad in ["", "#", "#12", "#12345", "rgb:1/2", "rgb:1/2/3/4", "rgb:g/0/0", "red", "#é1"]
        {
            assert_eq!(Rgb::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_standard_colours_have_their_known_corners() {
        assert_eq!(standard(16), Rgb { r: 0, g: 0, b: 0 });
        assert_eq!(standard(231), Rgb { r: 255, g: 255, b: 255 });
        assert_eq!(standard(196), Rgb { r: 255, g: 0, b: 0 });
        assert_eq!(standard(255), Rgb { r: 238, g: 238, b: 238 });
    }
}
