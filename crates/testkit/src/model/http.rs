//! Where an answer goes: JSON in one piece, or events while the scene is played.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::SharedExchanges;
use super::scene::{SpokenText, WORD_INTERVAL};

/// Events that the client has not taken yet. More is not played.
const UNREAD_EVENTS: usize = 16;

/// The answer to one request, written by a thread that plays a scene.
pub(super) struct HttpResponder {
    shared: Arc<SharedExchanges>,
    /// Where the answer begins; nothing once it has begun.
    begin: Option<oneshot::Sender<Response>>,
    events: Option<mpsc::Sender<Event>>,
}

impl HttpResponder {
    /// A responder, and where its answer begins.
    pub(super) fn new(shared: Arc<SharedExchanges>) -> (Self, oneshot::Receiver<Response>) {
        let (begin, response) = oneshot::channel();
        (Self { shared, begin: Some(begin), events: None }, response)
    }

    pub(super) fn shared(&self) -> &SharedExchanges {
        &self.shared
    }

    fn respond(&mut self, response: Response) -> io::Result<()> {
        let begin = self.begin.take().ok_or(io::ErrorKind::AlreadyExists)?;
        begin.send(response).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Answers in one piece.
    pub(super) fn json(&mut self, status: u16, value: &Value) -> io::Result<()> {
        let status = StatusCode::from_u16(status).map_err(io::Error::other)?;
        self.respond((status, Json(value)).into_response())
    }

    /// Answers in one piece, with headers of its own.
    pub(super) fn json_with(
        &mut self,
        status: u16,
        headers: &[(&'static str, String)],
        value: &Value,
    ) -> io::Result<()> {
        let status = StatusCode::from_u16(status).map_err(io::Error::other)?;
        let mut response = (status, Json(value)).into_response();
        for (name, text) in headers {
            let text = HeaderValue::from_str(text).map_err(io::Error::other)?;
            response.headers_mut().insert(*name, text);
        }
        self.respond(response)
    }

    /// Begins an answer of events.
    pub(super) fn begin_events(&mut self) -> io::Result<()> {
        let (sender, receiver) = mpsc::channel(UNREAD_EVENTS);
        let events = stream::unfold(receiver, |mut receiver| async {
            let event = receiver.recv().await?;
            Some((Ok::<_, Infallible>(event), receiver))
        });
        self.events = Some(sender);
        self.respond(Sse::new(events).into_response())
    }

    /// One event, with its type as its name where it has one.
    pub(super) fn event(&mut self, value: &Value) -> io::Result<()> {
        let event = Event::default().data(value.to_string());
        let name = value.get("type").and_then(Value::as_str);
        self.send(match name {
            Some(name) => event.event(name),
            None => event,
        })
    }

    /// One event that is no JSON.
    pub(super) fn word(&mut self, word: &str) -> io::Result<()> {
        self.send(Event::default().data(word))
    }

    fn send(&mut self, event: Event) -> io::Result<()> {
        let events = self.events.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        events.blocking_send(event).map_err(|_| io::ErrorKind::BrokenPipe.into())
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

    fn pause(&self, time: Duration) -> io::Result<()> {
        if self.shared.pause(time) { Ok(()) } else { Err(io::ErrorKind::ConnectionAborted.into()) }
    }
}
