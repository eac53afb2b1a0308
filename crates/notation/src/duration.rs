//! Durations as people write them: `30m`, `1h30m`, `500ms`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The units, largest first, in milliseconds.
const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("a duration is missing; write for example `30m`")]
    Empty,
    /// A number without a unit.
    #[error("`{0}` has no unit; write for example `{0}s` or `{0}m`")]
    NoUnit(String),
    /// A unit that does not exist.
    #[error("`{0}` is not a unit of time; there are `ms`, `s`, `m`, `h` and `d`")]
    UnknownUnit(String),
    /// Something that is no number and no unit.
    #[error("`{0}` is not a duration; write for example `30m`, `1h30m` or `500ms`")]
    Malformed(String),
    /// Units that come twice or in the wrong order.
    #[error("the units of `{0}` must go from large to small, each once")]
    Order(String),
    /// More than can be counted.
    #[error("`{0}` is longer than we can count")]
    TooLong(String),
}

/// A duration that is written as `30m` in files and on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct HumanDuration(pub Duration);

/// Reads `1h30m` and the like: whole numbers, each with a unit, from large to small.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let whole = text.trim();
    if whole.is_empty() {
        return Err(DurationError::Empty);
    }
    let (mut rest, mut millis, mut last) = (whole, 0_u64, usize::MAX);
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        if number.is_empty() {
            return Err(DurationError::Malformed(whole.to_owned()));
        }
        if unit.is_empty() {
            return Err(if tail.is_empty() {
                DurationError::NoUnit(whole.to_owned())
            } else {
                DurationError::Malformed(whole.to_owned())
            });
        }
        let Some(index) = UNITS.iter().position(|(name, _)| *name == unit) else {
            return Err(DurationError::UnknownUnit(unit.to_owned()));
        };
        if last != usize::MAX && index <= last {
            return Err(DurationError::Order(whole.to_owned()));
        }
        let too_long = || DurationError::TooLong(whole.to_owned());
        let number: u64 = number.parse().map_err(|_| too_long())?;
        let more = number.checked_mul(UNITS[index].1).ok_or_else(too_long)?;
        millis = millis.checked_add(more).ok_or_else(too_long)?;
        (rest, last) = (tail, index);
    }
    Ok(Duration::from_millis(millis))
}

/// Writes a duration as it can be read again; what is finer than a millisecond is dropped.
pub fn format(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    for (unit, size) in UNITS {
        if rest >= size {
            parts.push(format!("{}{unit}", rest / size));
            rest %= size;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.concat() }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format(self.0))
    }
}

impl FromStr for HumanDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map(Self)
    }
}

impl From<Duration> for HumanDuration {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl From<HumanDuration> for Duration {
    fn from(duration: HumanDuration) -> Self {
        duration.0
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for HumanDuration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "title": "a duration such as `30m`, `1h30m` or `500ms`",
            "pattern": "^\\s*([0-9]+(ms|s|m|h|d))+\\s*$",
            "format": "coven-duration",
            "examples": ["30m", "1h30m", "500ms"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read_and_written_back() {
        for (text, millis, back) in [
            ("30m", 1_800_000, "30m"),
            ("1h30m", 5_400_000, "1h30m"),
            ("500ms", 500, "500ms"),
            ("5s", 5000, "5s"),
            ("2d", 172_800_000, "2d"),
            ("90m", 5_400_000, "1h30m"),
            (" 1d2h3m4s5ms ", 93_784_005, "1d2h3m4s5ms"),
            ("0s", 0, "0s"),
        ] {
            let duration: HumanDuration = text.parse().unwrap();
            assert_eq!(duration.0, Duration::from_millis(millis), "{text}");
            assert_eq!(duration.to_string(), back);
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        let words = |text: &str| parse(text).unwrap_err().to_string();
        insta::assert_snapshot!(words(" "), @"a duration is missing; write for example `30m`");
        insta::assert_snapshot!(words("30"), @"`30` has no unit; write for example `30s` or `30m`");
        insta::assert_snapshot!(words("3 weeks"), @"`3 weeks` is not a duration; write for example `30m`, `1h30m` or `500ms`");
        insta::assert_snapshot!(words("3w"), @"`w` is not a unit of time; there are `ms`, `s`, `m`, `h` and `d`");
        insta::assert_snapshot!(words("-5s"), @"`-5s` is not a duration; write for example `30m`, `1h30m` or `500ms`");
        insta::assert_snapshot!(words("1.5h"), @"`1.5h` is not a duration; write for example `30m`, `1h30m` or `500ms`");
        insta::assert_snapshot!(words("5s1h"), @"the units of `5s1h` must go from large to small, each once");
        insta::assert_snapshot!(words("1h1h"), @"the units of `1h1h` must go from large to small, each once");
        insta::assert_snapshot!(words("99999999999999999999d"), @"`99999999999999999999d` is longer than we can count");
        insta::assert_snapshot!(words("300000000000d"), @"`300000000000d` is longer than we can count");
    }

    #[test]
    fn the_published_pattern_accepts_what_is_read() {
        let schema = crate::schema_of::<HumanDuration>();
        let pattern = regex::Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
        for text in ["30m", "1h30m", " 5s "] {
            assert!(pattern.is_match(text), "{text}");
        }
        for text in ["", "30", "m", "1.5h", "5 s"] {
            assert!(!pattern.is_match(text), "{text}");
        }
    }

    #[test]
    fn files_hold_it_as_text() {
        let duration: HumanDuration = serde_json::from_str("\"1m\"").unwrap();
        assert_eq!(serde_json::to_string(&duration).unwrap(), "\"1m\"");
        assert!(serde_json::from_str::<HumanDuration>("60").is_err());
    }
}
