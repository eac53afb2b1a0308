//! One line of a recording that should be an event.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Error, EventData, RecordingEvent};

/// How much of a wrong size an error quotes.
const QUOTED_CHARS: usize = 24;

/// An array that should be an event. What no event has is skipped while it is parsed, so a line
/// costs no more memory than its text.
struct EventArray {
    first: [EventField; 3],
    count: usize,
}

/// One part of an event.
enum EventField {
    Number(f64),
    Text(String),
    Other(&'static str),
}

/// The event in the text of the line with this number. The outer error is the JSON parser's.
pub(super) fn event(
    text: &str,
    line: u64,
) -> Result<Result<RecordingEvent, Error>, serde_json::Error> {
    if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map(|parts: EventArray| parts.into_event(line))
    } else {
        let part: EventField = serde_json::from_str(text)?;
        Ok(Err(Error::NotAnEvent { line, found: part.kind() }))
    }
}

impl EventArray {
    fn into_event(self, line: u64) -> Result<RecordingEvent, Error> {
        if self.count != 3 {
            return Err(Error::Arity { line, found: self.count });
        }
        let [time, code, data] = self.first;
        let time = match time {
            EventField::Number(time) if time < 0.0 => {
                return Err(Error::NegativeTime { line, time });
            }
            EventField::Number(time) => time,
            other => return Err(other.wrong_part(line, "time", "a number of seconds")),
        };
        let code = match code {
            EventField::Text(code) => code,
            other => return Err(other.wrong_part(line, "code", "text")),
        };
        Ok(RecordingEvent { time, data: event_data(code, data, line)? })
    }
}

impl EventField {
    fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::Other(kind) => kind,
        }
    }

    fn wrong_part(&self, line: u64, part: &'static str, expected: &'static str) -> Error {
        Error::Type { line, part, expected, found: self.kind() }
    }
}

fn event_data(code: String, data: EventField, line: u64) -> Result<EventData, Error> {
    let known = matches!(code.as_str(), "o" | "i" | "m" | "r");
    let data = match data {
        EventField::Text(data) => data,
        _ if !known => return Ok(EventData::Other { code, data: None }),
        other => return Err(other.wrong_part(line, "data", "text")),
    };
    Ok(match code.as_str() {
        "o" => EventData::Output(data),
        "i" => EventData::Input(data),
        "m" => EventData::Marker(data),
        "r" => resize(&data, line)?,
        _ => EventData::Other { code, data: Some(data) },
    })
}

fn resize(data: &str, line: u64) -> Result<EventData, Error> {
    let sides = data.split_once('x').map(|(cols, rows)| (side(cols), side(rows)));
    if let Some((Some(cols), Some(rows))) = sides {
        return Ok(EventData::Resize { cols, rows });
    }
    Err(Error::Resize { line, found: data.chars().take(QUOTED_CHARS).collect() })
}

fn side(digits: &str) -> Option<u16> {
    // Numbers may have a sign where they are parsed, but not in a size.
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|side| plain && *side > 0)
}

impl<'de> Deserialize<'de> for EventArray {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EventArrayVisitor)
    }
}

impl<'de> Deserialize<'de> for EventField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EventFieldVisitor)
    }
}

struct EventArrayVisitor;

impl<'de> Visitor<'de> for EventArrayVisitor {
    type Value = EventArray;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<EventArray, A::Error> {
        let mut first = [const { EventField::Other("missing") }; 3];
        let mut count = 0;
        for part in &mut first {
            let Some(found) = array.next_element()? else {
                return Ok(EventArray { first, count });
            };
            *part = found;
            count += 1;
        }
        while array.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(EventArray { first, count })
    }
}

struct EventFieldVisitor;

impl<'de> Visitor<'de> for EventFieldVisitor {
    type Value = EventField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of an event")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<EventField, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(EventField::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventField, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(EventField::Other("an object"))
    }

    fn visit_unit<E>(self) -> Result<EventField, E> {
        Ok(EventField::Other("null"))
    }

    fn visit_bool<E>(self, _: bool) -> Result<EventField, E> {
        Ok(EventField::Other("a boolean"))
    }

    #[expect(clippy::cast_precision_loss, reason = "a time is a float however it is written")]
    fn visit_u64<E>(self, number: u64) -> Result<EventField, E> {
        Ok(EventField::Number(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "a time is a float however it is written")]
    fn visit_i64<E>(self, number: i64) -> Result<EventField, E> {
        Ok(EventField::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<EventField, E> {
        Ok(EventField::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<EventField, E> {
        Ok(EventField::Text(text.to_owned()))
    }
}
