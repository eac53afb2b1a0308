//! The part of a screen that a rule looks at.

use std::fmt;
use std::str::FromStr;

/// The most lines a region can name; no screen has more.
const MAX_REGION_LINES: u16 = 1000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScreenRegion {
    #[default]
    Screen,
    /// The last lines, without the empty ones at the end.
    Tail(u16),
    Head(u16),
    /// The cursor's line and those above it.
    Cursor(u16),
}

/// A text that names no region.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    /// The word is none of ours.
    #[error("`{0}` is no region; there are `screen`, `tail:N`, `head:N` and `cursor:N`")]
    Unknown(String),
    /// The number is missing or wrong.
    #[error("`{0}` needs a number of lines from 1 to 1000 after the colon, as in `tail:15`")]
    Lines(String),
}

impl FromStr for ScreenRegion {
    type Err = RegionError;

    fn from_str(text: &str) -> Result<Self, RegionError> {
        let (word, number) = match text.split_once(':') {
            Some((word, number)) => (word, Some(number)),
            None => (text, None),
        };
        let lines = || {
            number
                .and_then(|number| number.parse().ok())
                .filter(|lines| (1..=MAX_REGION_LINES).contains(lines))
                .ok_or_else(|| RegionError::Lines(text.to_owned()))
        };
        match word {
            "screen" if number.is_none() => Ok(Self::Screen),
            "tail" => Ok(Self::Tail(lines()?)),
            "head" => Ok(Self::Head(lines()?)),
            "cursor" => Ok(Self::Cursor(lines()?)),
            _ => Err(RegionError::Unknown(text.to_owned())),
        }
    }
}

impl fmt::Display for ScreenRegion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Screen => formatter.write_str("screen"),
            Self::Tail(lines) => write!(formatter, "tail:{lines}"),
            Self::Head(lines) => write!(formatter, "head:{lines}"),
            Self::Cursor(lines) => write!(formatter, "cursor:{lines}"),
        }
    }
}
