//! What the tests of streams share: events as they come over the wire, and what a journal says.

use coven_api::client::{EventStream, StreamedEvent};
use coven_api::event::EventEnvelope;
use serde_json::Value;

use crate::http::{Request, Response};
use crate::support::{DEADLINE, Daemon};

/// One event of a stream, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) event: String,
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
    /// The stream's own lines that begin with a colon, and have no event.
    pub(crate) comment: Option<String>,
}

/// A stream of events, read by hand.
pub(crate) struct Raw {
    response: Response,
    text: String,
}

impl Raw {
    pub(crate) async fn open(daemon: &Daemon<'_>, path: &str, cursor: Option<u64>) -> Self {
        Self::of(daemon.raw("GET", path), cursor).await
    }

    /// What an agent says, as a stream.
    pub(crate) async fn transcript(daemon: &Daemon<'_>, path: &str, cursor: Option<u64>) -> Self {
        Self::of(daemon.raw("GET", path).header("Accept", "text/event-stream"), cursor).await
    }

    async fn of(mut request: Request, cursor: Option<u64>) -> Self {
        if let Some(cursor) = cursor {
            request = request.header("Last-Event-ID", cursor);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// The next event or comment; nothing once the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                return Some(frame(&block));
            }
            let bytes = tokio::time::timeout(DEADLINE, self.response.chunk()).await;
            let bytes = bytes.expect("the stream is silent").unwrap()?;
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The next event that is wanted.
    pub(crate) async fn find(&mut self, event: &str) -> Frame {
        loop {
            let frame = self.next().await;
            let frame = frame.unwrap_or_else(|| panic!("the stream ended before `{event}`"));
            if frame.event == event {
                return frame;
            }
        }
    }

    /// Everything to the end of the stream, without comments.
    pub(crate) async fn rest(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            if frame.comment.is_none() {
                frames.push(frame);
            }
        }
        frames
    }
}

fn frame(block: &str) -> Frame {
    let mut frame = Frame { event: String::new(), id: None, data: Value::Null, comment: None };
    for line in block.lines().filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        match name {
            "event" => value.clone_into(&mut frame.event),
            "id" => frame.id = Some(value.parse().unwrap()),
            "data" => frame.data = serde_json::from_str(value).unwrap(),
            "retry" => {}
            "" => frame.comment = Some(value.to_owned()),
            other => panic!("a stream of events has no `{other}`"),
        }
    }
    frame
}

/// All facts of a session that is over, by number and type, as its own stream replays them.
pub(crate) async fn journal(daemon: &Daemon<'_>, id: &str) -> Vec<(u64, String)> {
    let mut raw =
        Raw::open(daemon, &format!("/workflows/{id}/events?after=0&live=false"), None).await;
    let mut frames = raw.rest().await;
    let end = frames.pop().unwrap();
    assert_eq!(end.event, "end", "{frames:#?}");
    let facts: Vec<_> = frames.into_iter().map(|frame| (frame.id.unwrap(), frame.event)).collect();
    let file = daemon.home.base().join(format!(".coven/sessions/{id}/journal.jsonl"));
    let lines = std::fs::read_to_string(file).unwrap().lines().count();
    assert_eq!(facts.len(), lines - 1, "the first line says what the file is");
    facts
}

/// What comes next, before the deadline.
pub(crate) async fn next(events: &mut EventStream) -> Option<StreamedEvent> {
    let next = tokio::time::timeout(DEADLINE, events.next()).await;
    next.expect("nothing comes").unwrap()
}

/// The next fact or live event, whatever else is told before.
pub(crate) async fn event(events: &mut EventStream) -> Box<EventEnvelope> {
    loop {
        match next(events).await {
            Some(StreamedEvent::Event(envelope)) => return envelope,
            Some(_) => {}
            None => panic!("there is nothing more"),
        }
    }
}

/// The next event of a type.
pub(crate) async fn find(events: &mut EventStream, kind: &str) -> Box<EventEnvelope> {
    loop {
        let envelope = event(events).await;
        if envelope.kind == kind {
            return envelope;
        }
    }
}
