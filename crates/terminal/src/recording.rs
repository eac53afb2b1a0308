//! Recordings of terminal sessions as asciicast v2 files, read and written as a stream.
//!
//! The format is <https://docs.asciinema.org/manual/asciicast/v2/>: a header line, then one line
//! per event, each line a piece of JSON. [`RecordingReader`] never holds more than one line,
//! [`RecordingWriter`] writes each line at once, so a recording may be longer than memory and may
//! be cut off anywhere without losing what came before.

mod error;
mod header;
mod line;
mod reader;
mod utf8;
mod writer;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use header::RecordingHeader;
pub use reader::RecordingReader;
pub use writer::RecordingWriter;

/// The longest line of an event that is read or written, in bytes.
///
/// A file without line breaks must not eat the memory. Recorders write a line per read from the
/// terminal, of a few hundred KiB at most even if every byte needs the six of `\u0000`, so this
/// leaves room for those that collect more before they write.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// The longest header that is read or written, in bytes.
///
/// A header holds a command, a title and some variables. The values of a header are all in memory
/// before they are looked at, and there they take many times the room they have in the file.
pub const MAX_HEADER: usize = 1024 * 1024;

/// One event of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingEvent {
    /// Seconds since the start of the recording; finite and not negative. Events normally stand
    /// in the order of their times, but a [`RecordingReader`] does not check that.
    pub time: f64,
    pub data: EventData,
}

/// What happened in an [`RecordingEvent`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventData {
    /// `o`: the program wrote this to the terminal.
    Output(String),
    /// `i`: the program was sent this, keys and replies of the terminal alike.
    Input(String),
    /// `r`: the terminal got this size. Neither is 0.
    Resize {
        /// The new width in columns.
        cols: u16,
        /// The new height in rows.
        rows: u16,
    },
    /// `m`: a mark with this label, which may be empty.
    Marker(String),
    /// An event of a kind the format did not know when this was written. Players are asked to
    /// ignore such events.
    Other {
        /// The code of the event.
        code: String,
        /// Its data if that is text. Data of another shape is not kept, because its meaning
        /// is not known here.
        data: Option<String>,
    },
}
