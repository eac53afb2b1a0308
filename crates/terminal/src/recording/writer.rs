//! Writing a recording event by event.

use std::io::Write;

use super::utf8::Utf8Decoder;
use super::{Error, MAX_LINE, RecordingHeader};

/// The latest time that can be written, in seconds: 285 years, or 2^53 microseconds. A float
/// cannot tell microseconds apart beyond it.
const MAX_SECONDS: f64 = 9_007_199_254.0;

/// Output and input are written in events of at most this many bytes of text, so that their lines
/// stay below [`MAX_LINE`] even if every byte needs the six of `\u0000`.
const MAX_TEXT: usize = 1024 * 1024;

/// Writes a recording to a target.
///
/// Times are seconds since the start, written in microseconds. A time before that of the last
/// written event becomes that time, because players do not go backwards; a negative one, or one
/// that is no number, is an error.
///
/// Output and input are bytes, cut wherever the reads happened to cut them, but a recording holds
/// text. A character that is incomplete at the end of a call is held back and written with the
/// next event of the same stream; bytes that are not UTF-8 become U+FFFD. A call that completes
/// no text writes nothing.
///
/// Each line reaches the target in one `write_all`, so a target without a buffer never holds half
/// an event unless a write fails. After a failed write the recording should be given up.
#[derive(Debug)]
pub struct RecordingWriter<W> {
    target: W,
    /// The time of the last written event.
    last: Micros,
    output: Utf8Decoder,
    input: Utf8Decoder,
    line: Vec<u8>,
}

/// A time in microseconds.
type Micros = u64;

impl<W: Write> RecordingWriter<W> {
    /// Begins a recording by writing its header.
    pub fn new(mut target: W, header: &RecordingHeader) -> Result<Self, Error> {
        let mut line = header.to_json()?;
        line.push(b'\n');
        target.write_all(&line).map_err(|source| Error::Write { source })?;
        let (output, input) = (Utf8Decoder::default(), Utf8Decoder::default());
        Ok(Self { target, last: 0, output, input, line })
    }

    /// Writes what the program wrote to the terminal.
    pub fn output(&mut self, time: f64, bytes: &[u8]) -> Result<(), Error> {
        let time = micros(time)?;
        let text = self.output.push(bytes);
        self.text(time, 'o', &text)
    }

    /// Writes what the program was sent.
    pub fn input(&mut self, time: f64, bytes: &[u8]) -> Result<(), Error> {
        let time = micros(time)?;
        let text = self.input.push(bytes);
        self.text(time, 'i', &text)
    }

    /// Writes that the terminal has a new size, which must not be 0 either way.
    pub fn resize(&mut self, time: f64, cols: u16, rows: u16) -> Result<(), Error> {
        if cols == 0 || rows == 0 {
            return Err(Error::Size { cols, rows });
        }
        self.event(micros(time)?, 'r', &format!("{cols}x{rows}"))
    }

    /// Writes a mark with a label, which may be empty.
    pub fn marker(&mut self, time: f64, label: &str) -> Result<(), Error> {
        self.event(micros(time)?, 'm', label)
    }

    /// Ends the recording and gives the target back, flushed. Characters that are still held back
    /// are written as U+FFFD; without this call they are lost.
    pub fn finish(mut self) -> Result<W, Error> {
        let (output, input) = (self.output.finish(), self.input.finish());
        self.text(self.last, 'o', output)?;
        self.text(self.last, 'i', input)?;
        self.target.flush().map_err(|source| Error::Write { source })?;
        Ok(self.target)
    }

    /// Writes a text of any length, in as many events as it needs.
    fn text(&mut self, time: Micros, code: char, mut text: &str) -> Result<(), Error> {
        while !text.is_empty() {
            let (now, later) = text.split_at(text.floor_char_boundary(MAX_TEXT));
            self.event(time, code, now)?;
            text = later;
        }
        Ok(())
    }

    fn event(&mut self, time: Micros, code: char, data: &str) -> Result<(), Error> {
        let time = time.max(self.last);
        let (seconds, rest) = (time / 1_000_000, time % 1_000_000);
        self.line.clear();
        self.line.extend_from_slice(format!("[{seconds}.{rest:06}, \"{code}\", ").as_bytes());
        serde_json::to_writer(&mut self.line, data)
            .map_err(|error| Error::Write { source: error.into() })?;
        self.line.extend_from_slice(b"]\n");
        if self.line.len() > MAX_LINE {
            return Err(Error::TooLong { bytes: self.line.len(), limit: MAX_LINE });
        }
        self.target.write_all(&self.line).map_err(|source| Error::Write { source })?;
        self.last = time;
        Ok(())
    }
}

fn micros(seconds: f64) -> Result<Micros, Error> {
    if (0.0..=MAX_SECONDS).contains(&seconds) {
        // Not negative and below 2^53, so the conversion is exact.
        Ok((seconds * 1e6).round() as Micros)
    } else {
        Err(Error::Time { time: seconds, max: MAX_SECONDS })
    }
}
