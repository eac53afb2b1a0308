//! The size of a terminal as it is written in files and facts: `100x30`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many columns a terminal may have. Fewer cut every dialog, more are no terminal.
pub(crate) const TERMINAL_COLUMNS: RangeInclusive<u16> = 20..=500;
/// How many rows a terminal may have.
pub(crate) const TERMINAL_ROWS: RangeInclusive<u16> = 5..=200;

/// The size of a terminal, written as columns and rows: `100x30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TerminalSize {
    /// How many characters a line has.
    pub columns: u16,
    /// How many lines there are.
    pub rows: u16,
}

/// Why a text is no size of a terminal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TerminalSizeError {
    /// It is not two numbers with an `x` between.
    #[error("`{0}` is not a terminal size; write columns and rows, such as `100x30`")]
    Malformed(String),
    /// There are too few or too many columns or rows.
    #[error("a terminal has 20 to 500 columns and 5 to 200 rows, and not {0}")]
    OutOfRange(String),
}

impl TerminalSize {
    /// The size that a text says, of any number of columns and rows.
    fn read(text: &str) -> Option<Self> {
        let (columns, rows) = text.split_once('x')?;
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // More than can be counted is out of range.
            plain.then(|| text.parse().unwrap_or(u16::MAX))
        };
        Some(Self { columns: number(columns)?, rows: number(rows)? })
    }
}

impl FromStr for TerminalSize {
    type Err = TerminalSizeError;

    fn from_str(text: &str) -> Result<Self, TerminalSizeError> {
        let malformed = || TerminalSizeError::Malformed(text.to_owned());
        let size = Self::read(text).ok_or_else(malformed)?;
        if TERMINAL_COLUMNS.contains(&size.columns) && TERMINAL_ROWS.contains(&size.rows) {
            Ok(size)
        } else {
            Err(TerminalSizeError::OutOfRange(text.to_owned()))
        }
    }
}

impl fmt::Display for TerminalSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}x{}", self.columns, self.rows)
    }
}

impl Serialize for TerminalSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The range is not checked here: a fact is read whatever is allowed in new files.
impl<'de> Deserialize<'de> for TerminalSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let malformed = || TerminalSizeError::Malformed(text.clone());
        Self::read(&text).ok_or_else(malformed).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::{TERMINAL_COLUMNS, TERMINAL_ROWS, TerminalSize, TerminalSizeError};

    #[test]
    fn a_size_is_columns_and_rows() {
        let size: TerminalSize = "100x30".parse().unwrap();
        assert_eq!(size, TerminalSize { columns: 100, rows: 30 });
        assert_eq!(size.to_string(), "100x30");
        let json = serde_json::to_string(&size).unwrap();
        assert_eq!(serde_json::from_str::<TerminalSize>(&json).unwrap(), size);
    }

    #[test]
    fn what_is_no_size_or_no_terminal_is_told_apart() {
        for text in ["", "x", "100", "100x", "x30", "100X30", "100 x 30", "-1x30", "+100x30"] {
            let malformed = TerminalSizeError::Malformed(text.to_owned());
            assert_eq!(text.parse::<TerminalSize>(), Err(malformed), "{text}");
        }
        for text in ["19x30", "501x30", "100x4", "100x201", "99999999x30"] {
            let out_of_range = TerminalSizeError::OutOfRange(text.to_owned());
            assert_eq!(text.parse::<TerminalSize>(), Err(out_of_range), "{text}");
        }
        let message = TerminalSizeError::OutOfRange("1x1".to_owned()).to_string();
        for bound in [TERMINAL_COLUMNS, TERMINAL_ROWS] {
            assert!(
                message.contains(&format!("{} to {}", bound.start(), bound.end())),
                "{message}"
            );
        }
    }
}
