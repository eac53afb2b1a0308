//! Following events: server-sent events that go on after the connection or the daemon went away.

use std::collections::VecDeque;
use std::io::BufRead;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};

use super::transport::unreachable;
use super::{ApiClient, ClientError};
use crate::event::{EventEnvelope, EventGap};

/// How long to wait before connecting again: at first, and at most.
const FIRST_RECONNECT_DELAY: Duration = Duration::from_millis(50);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(2);

/// How long the daemon may say nothing at all. It says something every fifteen seconds.
const STREAM_TIMEOUT: Duration = Duration::from_mins(1);

/// Whose events are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventScope {
    /// The events of all sessions.
    Everything,
    /// The events of one session, by what requests name it.
    Workflow(String),
}

/// What a follower is told.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamedEvent {
    /// How things stand, as JSON: [`crate::event::EventSnapshot`] or
    /// [`crate::event::SessionSnapshot`], by what is followed.
    Snapshot(serde_json::Value),
    /// An event in its envelope.
    Event(Box<EventEnvelope>),
    /// Some events are no longer kept; a snapshot follows.
    Gap(EventGap),
    /// The follower was too slow for what is live; no fact is missing.
    Lagged,
    /// The connection was lost; following goes on by itself.
    Reconnecting(String),
    /// Nothing more will come: the session is over.
    End,
}

/// A stream of events that resumes by itself.
#[derive(Debug)]
pub struct EventStream {
    client: ApiClient,
    path: String,
    cursor: Option<u64>,
    connection: Option<StreamConnection>,
    ready: VecDeque<StreamedEvent>,
    wait: Duration,
    ended: bool,
}

#[derive(Debug)]
struct StreamConnection {
    body: Incoming,
    reader: SseReader,
}

impl EventStream {
    pub(super) fn new(client: ApiClient, path: String, cursor: Option<u64>) -> Self {
        Self {
            client,
            path,
            cursor,
            connection: None,
            ready: VecDeque::new(),
            wait: FIRST_RECONNECT_DELAY,
            ended: false,
        }
    }

    /// The cursor of the newest fact that was told.
    pub fn cursor(&self) -> Option<u64> {
        self.cursor
    }

    /// What comes next. An error is one that trying again would not mend, such as a session that
    /// does not exist; after it, and after [`StreamedEvent::End`], there is nothing more.
    pub async fn next(&mut self) -> Result<Option<StreamedEvent>, ClientError> {
        loop {
            if let Some(streamed) = self.ready.pop_front() {
                self.ended |= streamed == StreamedEvent::End;
                return Ok(Some(streamed));
            }
            if self.ended {
                return Ok(None);
            }
            match &mut self.connection {
                None => match self.connect().await {
                    Ok(connection) => self.connection = Some(connection),
                    Err(ClientError::Unreachable(why)) => return Ok(Some(self.again(why).await)),
                    Err(error) => {
                        self.ended = true;
                        return Err(error);
                    }
                },
                Some(connection) => {
                    let next = tokio::time::timeout(STREAM_TIMEOUT, connection.body.frame()).await;
                    match next {
                        Ok(Some(Ok(frame))) => {
                            self.wait = FIRST_RECONNECT_DELAY;
                            let bytes = frame.into_data().unwrap_or_default();
                            let messages = connection.reader.feed(&bytes);
                            for message in messages {
                                self.take(&message);
                            }
                        }
                        Ok(Some(Err(error))) => {
                            let why = unreachable(&error).to_string();
                            return Ok(Some(self.again(why).await));
                        }
                        Ok(None) => {
                            return Ok(Some(self.again("the daemon closed it".to_owned()).await));
                        }
                        Err(_) => {
                            return Ok(Some(self.again("the daemon is silent".to_owned()).await));
                        }
                    }
                }
            }
        }
    }

    async fn connect(&mut self) -> Result<StreamConnection, ClientError> {
        let mut headers = HeaderMap::new();
        if let Some(cursor) = self.cursor {
            headers.insert("last-event-id", HeaderValue::from(cursor));
        }
        let begun = self.client.transport.begin(Method::GET, &self.path, headers, None);
        match tokio::time::timeout(STREAM_TIMEOUT, begun).await {
            Ok(answer) => {
                Ok(StreamConnection { body: answer?.into_body(), reader: SseReader::default() })
            }
            Err(_) => Err(ClientError::Unreachable("the daemon is silent".to_owned())),
        }
    }

    /// Forgets the connection and lets some time pass, longer each time.
    async fn again(&mut self, why: String) -> StreamedEvent {
        self.connection = None;
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(MAX_RECONNECT_DELAY);
        StreamedEvent::Reconnecting(why)
    }

    fn take(&mut self, message: &SseMessage) {
        if let Some(id) = message.id {
            // A fact that was told before is not told again.
            if self.cursor.is_some_and(|cursor| id <= cursor) && message.event != "snapshot" {
                return;
            }
            self.cursor = Some(id);
        }
        let streamed = match message.event.as_str() {
            "snapshot" => serde_json::from_str(&message.data).ok().map(StreamedEvent::Snapshot),
            "gap" => serde_json::from_str(&message.data).ok().map(StreamedEvent::Gap),
            "lagged" => Some(StreamedEvent::Lagged),
            "end" => Some(StreamedEvent::End),
            // The daemon goes away; the connection ends by itself.
            "stopping" => None,
            _ => serde_json::from_str(&message.data).ok().map(StreamedEvent::Event),
        };
        self.ready.extend(streamed);
    }
}

/// One message of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SseMessage {
    id: Option<u64>,
    event: String,
    data: String,
}

/// Cuts a stream into messages, however it arrives.
#[derive(Debug, Default)]
struct SseReader {
    line: Vec<u8>,
    message: SseMessage,
}

impl SseReader {
    fn feed(&mut self, bytes: &[u8]) -> Vec<SseMessage> {
        let mut messages = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            // A fact can be megabytes, so whole runs are taken. Reading from memory cannot fail.
            if rest.read_until(b'\n', &mut self.line).is_err() || !self.line.ends_with(b"\n") {
                break;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                let message = std::mem::take(&mut self.message);
                if !message.data.is_empty() || !message.event.is_empty() {
                    messages.push(message);
                }
                continue;
            }
            self.field(&String::from_utf8_lossy(line));
        }
        messages
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.message.id = value.parse().ok(),
            "event" => value.clone_into(&mut self.message.event),
            "data" => {
                if !self.message.data.is_empty() {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            // Comments keep the connection alive; other fields mean nothing to us.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b": hello\n\nid: 7\r\nevent: task.ended\r\ndata: {\"a\":\ndata: 1}\n\n\
        event: lagged\ndata: {}\n\n";

    #[test]
    fn a_stream_reads_the_same_wherever_it_is_cut() {
        let whole = SseReader::default().feed(STREAM);
        assert_eq!(whole.len(), 2);
        assert_eq!(whole[0].id, Some(7));
        assert_eq!(whole[0].data, "{\"a\":\n1}");
        for cut in 0..STREAM.len() {
            let mut reader = SseReader::default();
            let mut messages = reader.feed(&STREAM[..cut]);
            messages.extend(reader.feed(&STREAM[cut..]));
            assert_eq!(messages, whole, "cut at {cut}");
        }
    }
}
