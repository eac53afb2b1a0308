//! The first line of a recording: how big the terminal is, and what is recorded.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Error, MAX_HEADER};

/// What the first line of a recording says.
///
/// Only the size is required. Keys this type does not have (`theme`, `duration` and whatever
/// comes later) are ignored in reading, and so are environment variables without a value, which
/// some recorders write.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingHeader {
    /// The width of the terminal in columns; not 0.
    pub width: u16,
    /// The height of the terminal in rows; not 0.
    pub height: u16,
    /// When the recording began, in seconds since 1970.
    pub timestamp: Option<i64>,
    /// The longest pause a player should make, in seconds.
    pub idle_time_limit: Option<f64>,
    /// The command that was recorded.
    pub command: Option<String>,
    /// A title for people.
    pub title: Option<String>,
    /// Some of the environment, usually `TERM` and `SHELL`.
    pub env: BTreeMap<String, String>,
}

/// The header as it is written.
#[derive(Serialize)]
struct HeaderJson<'a> {
    version: u8,
    width: u16,
    height: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_time_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: &'a BTreeMap<String, String>,
}

impl RecordingHeader {
    /// A header that says the size and nothing else.
    pub fn new(width: u16, height: u16) -> Self {
        Self {
            width,
            height,
            timestamp: None,
            idle_time_limit: None,
            command: None,
            title: None,
            env: BTreeMap::new(),
        }
    }

    /// Reads a header from the object on the line with this number.
    pub(super) fn from_json(value: &Value, line: u64) -> Result<Self, Error> {
        let Value::Object(fields) = value else {
            return Err(Error::NotAHeader { line, found: kind(value) });
        };
        check_version(fields)?;
        Ok(Self {
            width: size(fields, "width")?,
            height: size(fields, "height")?,
            timestamp: optional(fields, "timestamp", "a whole number", Value::as_i64)?,
            idle_time_limit: optional(fields, "idle_time_limit", SECONDS, seconds)?,
            command: optional(fields, "command", "text", text)?,
            title: optional(fields, "title", "text", text)?,
            env: optional(fields, "env", "an object of texts", environment)?.unwrap_or_default(),
        })
    }

    /// The header as one line of JSON, without the line break.
    pub(super) fn to_json(&self) -> Result<Vec<u8>, Error> {
        if self.width == 0 || self.height == 0 {
            return Err(Error::Size { cols: self.width, rows: self.height });
        }
        if let Some(limit) = self.idle_time_limit.filter(|limit| !is_duration(*limit)) {
            let found = limit.to_string();
            return Err(Error::HeaderField { field: "idle_time_limit", expected: SECONDS, found });
        }
        let written = HeaderJson {
            version: 2,
            width: self.width,
            height: self.height,
            timestamp: self.timestamp,
            idle_time_limit: self.idle_time_limit,
            command: self.command.as_deref(),
            title: self.title.as_deref(),
            env: &self.env,
        };
        let json =
            serde_json::to_vec(&written).map_err(|error| Error::Write { source: error.into() })?;
        if json.len() >= MAX_HEADER {
            return Err(Error::TooLong { bytes: json.len(), limit: MAX_HEADER });
        }
        Ok(json)
    }
}

/// Whether the beginning of a file that is no v2 recording looks like version 1, which is one
/// JSON object, usually spread over many lines.
pub(super) fn looks_like_version_1(beginning: &str) -> bool {
    let after_key = beginning.split_once("\"version\"").map(|(_, after)| after.trim_start());
    let value = after_key.and_then(|after| after.strip_prefix(':')).map(str::trim_start);
    let after_1 = value.and_then(|value| value.strip_prefix('1'));
    after_1.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_digit()))
}

/// What to call a piece of JSON in a message.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn check_version(fields: &Map<String, Value>) -> Result<(), Error> {
    match fields.get("version") {
        Some(version) if version.as_u64() == Some(2) => Ok(()),
        Some(version) if version.as_u64() == Some(3) => Err(Error::Version3),
        Some(version) if version.as_u64() == Some(1) => Err(Error::Version1),
        None if fields.contains_key("stdout") => Err(Error::Version1),
        None => Err(Error::Version { found: "no version".to_owned() }),
        Some(other) => {
            Err(Error::Version { found: format!("the version {}", quoted_value(other)) })
        }
    }
}

fn size(fields: &Map<String, Value>, field: &'static str) -> Result<u16, Error> {
    let value = fields.get(field);
    value
        .and_then(Value::as_u64)
        .and_then(|size| u16::try_from(size).ok())
        .filter(|size| *size > 0)
        .ok_or_else(|| Error::HeaderField {
            field,
            expected: "a whole number from 1 to 65535",
            found: value.map_or_else(|| "missing".to_owned(), quoted_value),
        })
}

fn optional<'a, T>(
    fields: &'a Map<String, Value>,
    field: &'static str,
    expected: &'static str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, Error> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(Error::HeaderField { field, expected, found: quoted_value(value) }),
        },
    }
}

const SECONDS: &str = "a number of seconds that is not negative";

fn seconds(value: &Value) -> Option<f64> {
    value.as_f64().filter(|seconds| is_duration(*seconds))
}

fn is_duration(seconds: f64) -> bool {
    seconds.is_finite() && seconds >= 0.0
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn environment(value: &Value) -> Option<BTreeMap<String, String>> {
    let variables = value.as_object()?.iter().filter(|(_, value)| !value.is_null());
    variables.map(|(name, value)| Some((name.clone(), text(value)?))).collect()
}

/// A wrong value in a message: as it is if it is short, else what it is.
fn quoted_value(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.len() <= 40 => format!("{text:?}"),
        other => kind(other).to_owned(),
    }
}
