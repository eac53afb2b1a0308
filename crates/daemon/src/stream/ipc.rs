//! The conversation of interfaces: commands with an id, each answered with that id, and events that
//! are pushed. `docs/reference/ipc.md` tells the same for people.

mod command;
mod push;

use std::collections::VecDeque;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::response::Response;
use coven_api::ipc::{IpcAnswer, IpcCommand, SUBPROTOCOL};
use coven_api::{ApiProblem, ProblemCode};
use coven_service::{FeedItem, Service};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use self::push::PushBuilder;
use super::followers::StreamLimits;
use super::socket::{CLIENT_TIMEOUT, CLOSE_TIMEOUT, PING_INTERVAL, subprotocol_upgrade};
use crate::answer::{HttpFailure, parse};
use crate::peer::Caller;
use crate::state::Daemon;

/// How many commands of one interface may be under way.
const MAX_PENDING_COMMANDS: usize = 64;

pub(super) async fn ipc(
    State(daemon): State<Daemon>,
    Extension(streams): Extension<StreamLimits>,
    Extension(caller): Extension<Caller>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, HttpFailure> {
    let upgrade = subprotocol_upgrade(upgrade, SUBPROTOCOL)?;
    let place = streams.place()?;
    let service = daemon.service;
    // The service waits for its tasks when it closes, so that the last words are said.
    Ok(upgrade.on_upgrade(async move |socket| {
        service.clone().spawn(async move {
            IpcConnection::new(service, caller).run(socket).await;
            drop(place);
        });
    }))
}

struct IpcConnection {
    service: Service,
    caller: Caller,
    commands: FuturesUnordered<BoxFuture<'static, IpcAnswer>>,
    /// What is to be sent.
    ready: VecDeque<String>,
}

impl IpcConnection {
    fn new(service: Service, caller: Caller) -> Self {
        let (commands, ready) = (FuturesUnordered::new(), VecDeque::new());
        Self { service, caller, commands, ready }
    }

    async fn run(mut self, mut socket: WebSocket) {
        let stopping = self.service.stopping();
        let mut events = self.service.all_events(None);
        let mut pushes = PushBuilder::default();
        let mut ping = tokio::time::interval(PING_INTERVAL);
        let mut heard = Instant::now();
        loop {
            // Nothing more is taken in while something waits to be sent: an interface that does not
            // read holds up only itself.
            while let Some(text) = self.ready.pop_front() {
                let sent = socket.send(Message::Text(text.into()));
                match tokio::time::timeout(CLIENT_TIMEOUT, sent).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) | Err(_) => return,
                }
            }
            tokio::select! {
                message = socket.recv() => {
                    heard = Instant::now();
                    match message {
                        None | Some(Err(_) | Ok(Message::Close(_))) => return,
                        Some(Ok(Message::Text(text))) => self.handle_message(text.as_bytes()),
                        Some(Ok(Message::Binary(bytes))) => self.handle_message(&bytes),
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    }
                }
                Some(answer) = self.commands.next() => self.say(&answer),
                item = events.next() => match item {
                    Some(FeedItem::Event(envelope)) => {
                        for push in pushes.of(&self.service, &envelope).await {
                            self.say(&push);
                        }
                    }
                    // Only what is kept is missing then, and a list shows it.
                    Some(FeedItem::Gap { .. }) => {}
                    None => return going_away(socket).await,
                },
                _ = ping.tick() => {
                    if heard.elapsed() > CLIENT_TIMEOUT {
                        return;
                    }
                    let sent = socket.send(Message::Ping(axum::body::Bytes::new()));
                    if !matches!(tokio::time::timeout(CLIENT_TIMEOUT, sent).await, Ok(Ok(()))) {
                        return;
                    }
                }
                () = stopping.cancelled() => return going_away(socket).await,
            }
        }
    }

    fn say(&mut self, what: &impl Serialize) {
        self.ready.push_back(serde_json::to_string(what).unwrap_or_default());
    }

    /// Begins a command, or says at once why not.
    fn handle_message(&mut self, message: &[u8]) {
        match self.admit(message) {
            Ok(command) => {
                let (service, caller) = (self.service.clone(), self.caller.clone());
                self.commands.push(command::answer(service, caller, command).boxed());
            }
            Err(answer) => self.say(&answer),
        }
    }

    /// A command that can be begun, or the answer that says why not.
    fn admit(&self, message: &[u8]) -> Result<IpcCommand, Box<IpcAnswer>> {
        let wrong = |id: &Value, code, detail: String| {
            let error = Some(ApiProblem::new(code, detail));
            Box::new(IpcAnswer { id: id.clone(), result: None, error })
        };
        let value: Value = parse(message).map_err(|problem| {
            Box::new(IpcAnswer { id: Value::Null, result: None, error: Some(problem) })
        })?;
        // The id is found even where the rest is wrong, so that the answer can name it.
        let id = value.get("id").cloned().unwrap_or_default();
        if !matches!(id, Value::Number(_) | Value::String(_)) {
            let detail = "a command needs an `id`: a number or a text".to_owned();
            return Err(wrong(&id, ProblemCode::BadRequest, detail));
        }
        if self.commands.len() >= MAX_PENDING_COMMANDS {
            let detail = format!("{MAX_PENDING_COMMANDS} commands are under way already");
            return Err(wrong(&id, ProblemCode::TooMany, detail));
        }
        serde_json::from_value(value).map_err(|error| {
            wrong(&id, ProblemCode::BadRequest, format!("the command cannot be read: {error}"))
        })
    }
}

async fn going_away(mut socket: WebSocket) {
    let reason = Utf8Bytes::from_static("the daemon is stopping");
    let close = Message::Close(Some(CloseFrame { code: close_code::AWAY, reason }));
    let goodbye = async {
        // The other side answers the goodbye. Who does not wait for that takes away what it may
        // still have to read.
        if socket.send(close).await.is_ok() {
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    if tokio::time::timeout(CLOSE_TIMEOUT, goodbye).await.is_err() {
        tracing::debug!("an interface did not answer the close of its connection");
    }
}
