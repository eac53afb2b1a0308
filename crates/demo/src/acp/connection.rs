//! The two ends of the connection to the client: lines that come in, messages that go out.

use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use serde_json::{Value, json};

use super::message::RpcError;
use crate::error::MAX_PROMPT;
use crate::streams::{AgentStreams, UnbufferedOutput};

/// The longest line that is read: the longest prompt, with room for the characters JSON escapes.
const MAX_LINE_BYTES: usize = 4 * MAX_PROMPT;

const READ_BYTES: usize = 64 * 1024;

#[derive(Debug, PartialEq)]
pub(super) enum InputLine {
    Complete(Vec<u8>),
    /// Longer than [`MAX_LINE_BYTES`]; its bytes are not kept.
    TooLong,
}

/// Cuts what the client writes into lines.
pub(super) struct LineReader<'a> {
    input: BorrowedFd<'a>,
    partial: Vec<u8>,
    /// The line under way has become too long.
    too_long: bool,
}

impl<'a> LineReader<'a> {
    pub(super) fn new(input: BorrowedFd<'a>) -> Self {
        Self { input, partial: Vec::new(), too_long: false }
    }

    /// Reads once, and returns the lines that are complete now; `None` at the end of the input.
    pub(super) fn read(&mut self) -> io::Result<Option<Vec<InputLine>>> {
        let mut buffer = vec![0; READ_BYTES];
        match rustix::io::read(self.input, &mut buffer) {
            Ok(0) => Ok(None),
            Ok(count) => Ok(Some(self.split(&buffer[..count]))),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Some(Vec::new())),
            Err(error) => Err(error.into()),
        }
    }

    fn split(&mut self, bytes: &[u8]) -> Vec<InputLine> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            if self.too_long || self.partial.len() + piece.len() > MAX_LINE_BYTES {
                self.too_long = true;
                self.partial = Vec::new();
            } else {
                self.partial.extend_from_slice(piece);
            }
            if ends {
                let line = std::mem::take(&mut self.partial);
                if std::mem::take(&mut self.too_long) {
                    lines.push(InputLine::TooLong);
                } else if !line.trim_ascii().is_empty() {
                    lines.push(InputLine::Complete(line));
                }
            }
        }
        lines
    }
}

/// Where messages go. Nothing else is written to the output; what a person may want to know goes to
/// the errors.
pub(super) struct MessageWriter<'a> {
    out: UnbufferedOutput<'a>,
    errors: UnbufferedOutput<'a>,
    next_request: u64,
}

impl<'a> MessageWriter<'a> {
    pub(super) fn new(streams: AgentStreams<'a>) -> Self {
        Self {
            out: UnbufferedOutput(streams.output),
            errors: UnbufferedOutput(streams.errors),
            next_request: 0,
        }
    }

    pub(super) fn respond(&mut self, id: &Value, result: &Value) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    pub(super) fn refuse(&mut self, id: &Value, error: &RpcError) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error.to_json() }))
    }

    /// Asks the client, and returns the id under which it will answer.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> io::Result<u64> {
        let id = self.next_request;
        self.next_request += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    pub(super) fn update(&mut self, session_id: &str, update: &Value) -> io::Result<()> {
        self.send(&update_message(session_id, update))
    }

    /// Begins an update and stops in the middle of the first character that has several bytes.
    pub(super) fn split_update(&mut self, session_id: &str, update: &Value) -> io::Result<()> {
        let line = update_message(session_id, update).to_string();
        let middle = line.find(|char: char| !char.is_ascii()).map_or(line.len(), |at| at + 1);
        self.out.write_all(&line.as_bytes()[..middle])
    }

    /// Something that is worth knowing but changes nothing.
    pub(super) fn note(&mut self, text: &str) {
        // An agent whose errors are not read works on.
        writeln!(self.errors, "note: {text}").ok();
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        self.out.write_all(format!("{message}\n").as_bytes())
    }
}

fn update_message(session_id: &str, update: &Value) -> Value {
    let params = json!({ "sessionId": session_id, "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    fn complete(text: &str) -> InputLine {
        InputLine::Complete(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_found_however_they_are_cut() {
        let (pipe, _writer) = io::pipe().unwrap();
        let mut reader = LineReader::new(pipe.as_fd());
        assert_eq!(reader.split(b"{\"a\""), []);
        assert_eq!(reader.split(b":1}\n\n{}\n{"), [complete("{\"a\":1}\n"), complete("{}\n")]);
        assert_eq!(reader.split(b"}\n"), [complete("{}\n")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_forgotten_up_to_its_end() {
        let (pipe, _writer) = io::pipe().unwrap();
        let mut reader = LineReader::new(pipe.as_fd());
        assert_eq!(reader.split(&vec![b'x'; MAX_LINE_BYTES]), []);
        assert_eq!(reader.split(b"xx"), []);
        assert!(reader.partial.is_empty());
        assert_eq!(reader.split(b"x\n{}\n"), [InputLine::TooLong, complete("{}\n")]);
    }
}
