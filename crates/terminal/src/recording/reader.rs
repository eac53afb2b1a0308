//! Reading a recording line by line.

use std::io::{self, BufRead, Read};
use std::iter::FusedIterator;

use super::header::looks_like_version_1;
use super::{Error, MAX_HEADER, MAX_LINE, RecordingEvent, RecordingHeader, line};

/// How much of a file that begins with a broken header is looked at to say whether it is an old
/// recording. The version stands at the very beginning of those.
const VERSION_1_BEGINNING: u64 = 4096;

/// Reads a recording from a source, one event at a time.
///
/// As an iterator it yields events until the end of the source or the first error, and after an
/// error nothing: what follows a broken line cannot be trusted. If the error is
/// [`Error::Truncated`], the recording merely stops early, and the events before it are all there
/// is. Blank lines are skipped. At most one line, of at most [`MAX_LINE`] bytes, is in memory.
#[derive(Debug)]
pub struct RecordingReader<R> {
    lines: NumberedLines<R>,
    header: RecordingHeader,
    ended: bool,
}

impl<R: BufRead> RecordingReader<R> {
    /// Reads the header. The rest of the source is read as the events are asked for.
    pub fn new(source: R) -> Result<Self, Error> {
        let mut lines = NumberedLines { source, number: 0, line: Vec::new() };
        let header = lines.header()?;
        Ok(Self { lines, header, ended: false })
    }

    /// What the first line says.
    pub fn header(&self) -> &RecordingHeader {
        &self.header
    }
}

impl<R: BufRead> Iterator for RecordingReader<R> {
    type Item = Result<RecordingEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let event = self.lines.event().transpose();
        self.ended = !matches!(event, Some(Ok(_)));
        event
    }
}

impl<R: BufRead> FusedIterator for RecordingReader<R> {}

/// The lines of a source, counted.
#[derive(Debug)]
struct NumberedLines<R> {
    source: R,
    /// The number of the line in `line`, from 1.
    number: u64,
    /// The current line, with its line break unless it is the last one and has none.
    line: Vec<u8>,
}

impl<R: BufRead> NumberedLines<R> {
    fn header(&mut self) -> Result<RecordingHeader, Error> {
        let read = self.advance(MAX_HEADER);
        if matches!(read, Err(Error::LineTooLong { .. }))
            && looks_like_version_1(&String::from_utf8_lossy(&self.line))
        {
            return Err(Error::Version1);
        }
        if !read? {
            return Err(Error::Empty);
        }
        match serde_json::from_str(self.text()?) {
            Ok(value) => RecordingHeader::from_json(&value, self.number),
            Err(error) if error.is_eof() && self.begins_version_1()? => Err(Error::Version1),
            Err(error) => Err(self.json_error(&error)),
        }
    }

    fn event(&mut self) -> Result<Option<RecordingEvent>, Error> {
        if !self.advance(MAX_LINE)? {
            return Ok(None);
        }
        match line::event(self.text()?, self.number) {
            Ok(event) => event.map(Some),
            Err(error) => Err(self.json_error(&error)),
        }
    }

    /// Goes to the next line that is not blank; false if there is none.
    fn advance(&mut self, limit: usize) -> Result<bool, Error> {
        loop {
            self.line.clear();
            self.number += 1;
            let line = self.number;
            let mut limited = self.source.by_ref().take(limit as u64 + 1);
            let read = limited.read_until(b'\n', &mut self.line);
            if read.map_err(|source| Error::Read { line, source })? == 0 {
                return Ok(false);
            }
            if self.line.len() > limit {
                return Err(Error::LineTooLong { line, limit });
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// The current line as text, without its line break.
    fn text(&self) -> Result<&str, Error> {
        match std::str::from_utf8(&self.line) {
            Ok(text) => Ok(text.trim_end_matches(['\r', '\n'])),
            // A character that is cut off at the very end is no wrong one.
            Err(error) if error.error_len().is_none() && self.is_cut_off() => {
                Err(Error::Truncated { line: self.number })
            }
            Err(error) => {
                Err(Error::NotUtf8 { line: self.number, column: error.valid_up_to() + 1 })
            }
        }
    }

    fn json_error(&self, error: &serde_json::Error) -> Error {
        if error.is_eof() && self.is_cut_off() {
            return Error::Truncated { line: self.number };
        }
        // The parser sees one line at a time, so the line it names is always the first.
        let column = error.column();
        let position = format!(" at line {} column {column}", error.line());
        let message = error.to_string();
        let problem = message.strip_suffix(&position).unwrap_or(&message).to_owned();
        Error::Json { line: self.number, column, problem }
    }

    fn is_cut_off(&self) -> bool {
        !self.line.ends_with(b"\n")
    }

    /// Whether the current line, with what follows, is the beginning of an asciicast v1 file.
    fn begins_version_1(&mut self) -> Result<bool, Error> {
        let mut beginning = self.line.clone();
        let read = self.source.by_ref().take(VERSION_1_BEGINNING).read_to_end(&mut beginning);
        read.map_err(|source: io::Error| Error::Read { line: self.number, source })?;
        Ok(looks_like_version_1(&String::from_utf8_lossy(&beginning)))
    }
}
