//! As much HTTP as the CLIs need: requests with a length or in chunks, answers as JSON or events.

use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::SharedExchanges;
use super::scene::{SpokenText, WORD_INTERVAL};

/// The longest body. A long conversation with many tools has one or two megabytes.
const MAX_BODY_BYTES: u64 = 256 << 20;

/// The longest line of a head, and how many there may be.
const MAX_HEAD_LINE_BYTES: u64 = 64 << 10;
const MAX_HEAD_LINES: usize = 200;

#[derive(Debug)]
pub(super) struct HttpRequest {
    pub(super) method: String,
    target: String,
    pub(super) body: Vec<u8>,
}

impl HttpRequest {
    /// The next request of a connection; nothing if there is none.
    pub(super) fn read(reader: &mut impl BufRead, writer: &TcpStream) -> io::Result<Option<Self>> {
        let Some(first) = line(reader)? else { return Ok(None) };
        let mut words = first.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Err(bad()) };
        let (mut length, mut chunked) = (0, false);
        for number in 0.. {
            let header = line(reader)?.filter(|_| number < MAX_HEAD_LINES).ok_or_else(bad)?;
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').ok_or_else(bad)?;
            let value = value.trim().to_ascii_lowercase();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().map_err(|_| bad())?,
                "transfer-encoding" => chunked = value == "chunked",
                "expect" => write!(&mut &*writer, "HTTP/1.1 100 Continue\r\n\r\n")?,
                _ => {}
            }
        }
        let body = if chunked { chunks(reader)? } else { exactly(reader, length)? };
        Ok(Some(Self { method: method.to_owned(), target: target.to_owned(), body }))
    }

    /// The target without its query.
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

fn bad() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}

/// A line without its end; nothing at the end of the stream.
fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if reader.by_ref().take(MAX_HEAD_LINE_BYTES).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let text = line.strip_suffix('\n').ok_or_else(bad)?;
    Ok(Some(text.strip_suffix('\r').unwrap_or(text).to_owned()))
}

fn exactly(reader: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_BODY_BYTES {
        return Err(bad());
    }
    let mut body = Vec::new();
    let read = reader.by_ref().take(length).read_to_end(&mut body)?;
    if read as u64 == length { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(reader)?.ok_or_else(bad)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| bad())?;
        if body.len() as u64 + size > MAX_BODY_BYTES {
            return Err(bad());
        }
        body.append(&mut exactly(reader, size)?);
        // The end of the chunk; behind the last one there may be more headers.
        while let Some(rest) = line(reader)?
            && size == 0
            && !rest.is_empty()
        {}
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Where an answer goes.
pub(super) struct HttpResponder<'a> {
    stream: &'a TcpStream,
    shared: &'a SharedExchanges,
    last: bool,
}

impl<'a> HttpResponder<'a> {
    pub(super) fn new(stream: &'a TcpStream, shared: &'a SharedExchanges) -> Self {
        Self { stream, shared, last: false }
    }

    pub(super) fn shared(&self) -> &'a SharedExchanges {
        self.shared
    }

    /// Whether the connection ends with this answer.
    pub(super) fn is_last(&self) -> bool {
        self.last
    }

    /// Answers in one piece.
    pub(super) fn json(&mut self, status: u16, value: &Value) -> io::Result<()> {
        let body = value.to_string();
        let head = format!(
            "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            if status == 200 { "OK" } else { "Refused" },
            body.len()
        );
        self.write(&[head, body].concat())
    }

    /// Begins an answer of events, which ends with the connection.
    pub(super) fn begin_events(&mut self) -> io::Result<()> {
        self.last = true;
        self.write(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
             connection: close\r\n\r\n",
        )
    }

    /// One event, with its type as its name where it has one.
    pub(super) fn event(&mut self, value: &Value) -> io::Result<()> {
        let name = value.get("type").and_then(Value::as_str);
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        self.write(&format!("{name}data: {value}\n\n"))
    }

    /// One event that is no JSON.
    pub(super) fn word(&mut self, word: &str) -> io::Result<()> {
        self.write(&format!("data: {word}\n\n"))
    }

    /// Says a speech word by word at its pace, and gives all of it.
    pub(super) fn say(
        &mut self,
        speech: &SpokenText,
        mut each: impl FnMut(&mut Self, &str) -> io::Result<()>,
    ) -> io::Result<String> {
        self.pause(speech.silence)?;
        let mut said = String::new();
        for word in speech.words() {
            each(self, &word)?;
            said.push_str(&word);
            self.pause(speech.pace.unwrap_or(WORD_INTERVAL))?;
        }
        Ok(said)
    }

    fn pause(&self, time: std::time::Duration) -> io::Result<()> {
        if self.shared.pause(time) { Ok(()) } else { Err(io::ErrorKind::ConnectionAborted.into()) }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(text.as_bytes())
    }
}
