//! What can be wrong with a recording.

use std::io;

/// Why a recording could not be read or written.
///
/// Lines count from 1, and so do columns, which are bytes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source could not be read.
    #[error("line {line}: cannot read the recording")]
    Read {
        /// The line that was being read.
        line: u64,
        source: io::Error,
    },
    /// The target could not be written. The recording may now end in the middle of a line.
    #[error("cannot write the recording")]
    Write { source: io::Error },
    /// There is nothing in the file.
    #[error("the recording is empty; its first line must be an asciicast v2 header")]
    Empty,
    /// A recording in version 1 of the format, which is a single JSON object.
    #[error(
        "this is an asciicast v1 recording; only v2 can be read, and `asciinema convert` makes one"
    )]
    Version1,
    /// A recording in version 3 of the format, whose times count from event to event.
    #[error(
        "this is an asciicast v3 recording; only v2 can be read, and `asciinema convert` makes one"
    )]
    Version3,
    /// A header with another version, or with none.
    #[error("the header has {found}; expected \"version\": 2")]
    Version {
        /// What stands where the version should.
        found: String,
    },
    /// The first line is JSON, but not an object.
    #[error("line {line}: expected the header, an object, but found {found}")]
    NotAHeader {
        /// The line of the header.
        line: u64,
        found: &'static str,
    },
    /// A field of the header is missing or wrong.
    #[error("the header's {field:?} must be {expected}, but it is {found}")]
    HeaderField {
        /// The name of the field.
        field: &'static str,
        /// What the format asks for.
        expected: &'static str,
        found: String,
    },
    /// A line is longer than a recording's lines may be.
    #[error("line {line}: longer than {limit} bytes; is this a recording?")]
    LineTooLong {
        line: u64,
        /// How long it may be.
        limit: usize,
    },
    /// A line is not UTF-8.
    #[error("line {line}, column {column}: not valid UTF-8")]
    NotUtf8 {
        line: u64,
        /// Where the first wrong byte is.
        column: usize,
    },
    /// A line is not JSON.
    #[error("line {line}, column {column}: not valid JSON: {problem}")]
    Json {
        line: u64,
        /// Where the parser gave up.
        column: usize,
        /// What the parser says.
        problem: String,
    },
    /// The last line breaks off: the recorder died, or still writes. Everything before it was
    /// read and is good.
    #[error("line {line}: the recording breaks off in the middle of this line")]
    Truncated { line: u64 },
    /// A line is JSON, but not an array.
    #[error("line {line}: expected an event, [time, code, data], but found {found}")]
    NotAnEvent { line: u64, found: &'static str },
    /// An event does not have three parts.
    #[error("line {line}: an event has 3 parts, [time, code, data], but this one has {found}")]
    Arity {
        line: u64,
        /// How many parts there are.
        found: usize,
    },
    /// A part of an event is of the wrong type.
    #[error("line {line}: the {part} of an event must be {expected}, but it is {found}")]
    Type {
        line: u64,
        /// Which part: time, code or data.
        part: &'static str,
        /// What the format asks for.
        expected: &'static str,
        found: &'static str,
    },
    /// The time of an event lies before the recording.
    #[error("line {line}: the time of an event must not be negative, but it is {time}")]
    NegativeTime { line: u64, time: f64 },
    /// The size in a resize event is none.
    #[error(
        "line {line}: the size in a resize event must look like \"80x24\", each number from 1 to \
         65535, but it is {found:?}"
    )]
    Resize {
        line: u64,
        /// What is there, shortened if it is long.
        found: String,
    },
    /// A [`Writer`](super::RecordingWriter) was given a time that cannot be written.
    #[error("the time of an event must be a number of seconds from 0 to {max}, but it is {time}")]
    Time {
        time: f64,
        /// The largest time that can be written exactly.
        max: f64,
    },
    /// A [`Writer`](super::RecordingWriter) was given a size without columns or rows.
    #[error("a terminal of {cols} columns and {rows} rows cannot be recorded")]
    Size { cols: u16, rows: u16 },
    /// A [`Writer`](super::RecordingWriter) was given a label or a header that no
    /// [`Reader`](super::RecordingReader) would take.
    #[error("a line of {bytes} bytes is too long for a recording; the most is {limit}")]
    TooLong {
        /// How long the line would be.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
}
