//! One viewer of a terminal: the exact screen first, then every byte after it.
//!
//! What the agent prints is always taken in at once, so that a slow viewer keeps nothing alive; what
//! it has not been sent waits in a bounded [`Outbox`].

use std::time::Instant;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use coven_api::attach::{FromDaemon, FromViewer};
use coven_model::AgentState;
use coven_service::{Terminal, TerminalEvent, TerminalPicture, TerminalUpdate};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::keyboard::KeyboardSeat;
use super::outbox::Outbox;
use super::socket::{CLIENT_TIMEOUT, CLOSE_TIMEOUT, PING_INTERVAL};

/// How many messages are on their way to the connection; the rest waits where it can be dropped.
const MAX_MESSAGES_IN_FLIGHT: usize = 2;

#[derive(Debug)]
pub(super) struct Viewer {
    terminal: Terminal,
    seat: KeyboardSeat,
    may_type: bool,
    stopping: CancellationToken,
    outbox: Outbox,
    /// How much of the output the viewer has, or will have from its outbox.
    offset: u64,
    /// How many resizes are in the picture.
    resizes: u64,
    /// Something was left out: a new picture is needed.
    lost: bool,
    /// When the viewer was last heard of.
    heard: Instant,
}

/// Why a conversation ends.
#[derive(Debug)]
enum ViewerEnd {
    /// The process has ended, and everything was said.
    Ended,
    /// The daemon does not follow the process any more.
    Left,
    /// The viewer is gone.
    Gone,
}

impl Viewer {
    pub(super) fn new(
        terminal: Terminal,
        seat: KeyboardSeat,
        may_type: bool,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            terminal,
            seat,
            may_type,
            stopping,
            outbox: Outbox::default(),
            offset: 0,
            resizes: 0,
            lost: true,
            heard: Instant::now(),
        }
    }

    /// Talks until the viewer leaves or the process ends.
    pub(super) async fn show(mut self, socket: WebSocket) {
        self.talk(socket).await;
        self.give_back_keyboard().await;
    }

    /// Gives the keyboard back. When no viewer has it, the terminal has its own size again: that of
    /// a viewer that left may be too small for what the agent asks next.
    async fn give_back_keyboard(&mut self) {
        if self.seat.holds() {
            self.seat.release();
            if self.seat.holder().is_none() {
                self.terminal.restore_size().await;
            }
        }
    }

    async fn talk(&mut self, socket: WebSocket) {
        let (sink, mut messages) = socket.split();
        let (outgoing, queue) = mpsc::channel(MAX_MESSAGES_IN_FLIGHT);
        let sending = send(sink, queue);
        tokio::pin!(sending);
        let end = tokio::select! {
            // The connection is broken.
            () = &mut sending => return,
            end = self.run_connection(&outgoing, &mut messages) => end,
        };
        // A viewer that saw the end gets all of it; a daemon that stops cannot wait for long.
        let (code, reason, time) = match end {
            ViewerEnd::Ended => (close_code::NORMAL, "the process has ended", CLIENT_TIMEOUT),
            ViewerEnd::Left => (close_code::AWAY, "the daemon is stopping", CLOSE_TIMEOUT),
            ViewerEnd::Gone => return,
        };
        let close = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        let last_words = async {
            // It fails only if the connection is broken, and then there is nothing to close.
            drop(outgoing.send(Message::Close(Some(close))).await);
            drop(outgoing);
        };
        // The viewer answers the goodbye. Who does not wait for that takes away what it may still
        // have to read.
        let answer = async { while let Some(Ok(_)) = messages.next().await {} };
        let goodbye = async { tokio::join!(last_words, sending, answer) };
        if tokio::time::timeout(time, goodbye).await.is_err() {
            tracing::debug!("a viewer did not answer the close of its connection");
        }
    }

    async fn run_connection(
        &mut self,
        outgoing: &mpsc::Sender<Message>,
        messages: &mut SplitStream<WebSocket>,
    ) -> ViewerEnd {
        // Subscribe before taking the picture, so that no output falls between the two; what is in
        // both is dropped by its offset.
        let mut events = self.terminal.subscribe();
        let mut over = !self.picture(false).await;
        self.say_holder();
        self.say_state();
        let mut ping = tokio::time::interval(PING_INTERVAL);
        let stopping = self.stopping.clone();
        loop {
            let waiting = self.lost || !self.outbox.is_empty();
            if over && !waiting {
                return self.ended(outgoing).await;
            }
            tokio::select! {
                room = outgoing.reserve(), if waiting => {
                    let Ok(room) = room else { return ViewerEnd::Gone };
                    // It takes what it is sent, if slowly.
                    self.heard = Instant::now();
                    if self.outbox.is_empty() {
                        over |= !self.picture(true).await;
                    }
                    if let Some(message) = self.outbox.next() {
                        room.send(message);
                    }
                }
                update = events.next(), if !over => match update {
                    Some(update) => self.update(update),
                    None => over = true,
                },
                message = messages.next() => {
                    self.heard = Instant::now();
                    match message {
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return ViewerEnd::Gone,
                        Some(Ok(message)) => self.handle_message(message).await,
                    }
                }
                () = self.seat.changed() => self.say_holder(),
                _ = ping.tick() => {
                    if self.heard.elapsed() > CLIENT_TIMEOUT {
                        return ViewerEnd::Gone;
                    }
                    // A connection that is full does not need to be asked.
                    drop(outgoing.try_send(Message::Ping(axum::body::Bytes::new())));
                }
                () = stopping.cancelled() => return ViewerEnd::Left,
            }
        }
    }

    /// Puts the screen as it is now into the outbox. Says whether the process is still followed.
    async fn picture(&mut self, lagged: bool) -> bool {
        self.lost = false;
        let attempt = self.terminal.attempt().clone();
        let picture = match self.terminal.picture().await {
            Ok(picture) => picture,
            Err(error) => {
                tracing::warn!(%attempt, "what it showed last is lost: {error}");
                return false;
            }
        };
        let TerminalPicture { cols, rows, offset, resizes, dump, live } = picture;
        self.outbox.picture(FromDaemon::Screen { attempt, cols, rows, offset, lagged }, dump);
        // Of a process that has ended, all that still comes from its actor is in the picture.
        self.offset = if live { offset } else { u64::MAX };
        self.resizes = resizes;
        live
    }

    fn update(&mut self, update: TerminalUpdate) {
        match update {
            TerminalUpdate::Lagged(_) => self.drop_stream(),
            TerminalUpdate::Event(TerminalEvent::State(verdict)) => {
                self.outbox.say(FromDaemon::State { verdict: Box::new(verdict) });
            }
            // The new picture will have it.
            TerminalUpdate::Event(_) if self.lost => {}
            TerminalUpdate::Event(TerminalEvent::Output { offset, raw, .. }) => {
                let end = offset + raw.len() as u64;
                if end <= self.offset {
                    return;
                }
                if offset > self.offset {
                    return self.drop_stream();
                }
                let known = usize::try_from(self.offset - offset).unwrap_or(raw.len());
                self.offset = end;
                self.lost = !self.outbox.bytes(&raw[known..]);
            }
            TerminalUpdate::Event(TerminalEvent::Resized { size, number })
                if number > self.resizes =>
            {
                self.resizes = number;
                self.outbox.say(FromDaemon::Resized { cols: size.columns, rows: size.rows });
            }
            TerminalUpdate::Event(_) => {}
        }
    }

    fn drop_stream(&mut self) {
        self.lost = true;
        self.outbox.forget();
    }

    async fn handle_message(&mut self, message: Message) {
        match message {
            Message::Binary(bytes) => match self.check_keyboard() {
                Ok(()) => self.terminal.write(bytes.to_vec()).await,
                Err(reason) => self.refuse(reason),
            },
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(said) => self.handle_request(said).await,
                Err(error) => self.refuse(format!("that is not understood: {error}")),
            },
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => {}
        }
    }

    async fn handle_request(&mut self, said: FromViewer) {
        match said {
            FromViewer::Take if self.may_type => self.seat.take(),
            FromViewer::Take => self.refuse("this viewer may only look".to_owned()),
            FromViewer::Release => self.give_back_keyboard().await,
            FromViewer::Resize { cols, rows } => {
                if let Err(reason) = self.check_keyboard() {
                    self.refuse(reason);
                } else if let Err(error) = self.terminal.resize(cols, rows).await {
                    self.refuse(error.to_string());
                }
            }
        }
    }

    fn check_keyboard(&mut self) -> Result<(), String> {
        if self.seat.holds() {
            return Ok(());
        }
        Err(match self.seat.holder() {
            _ if !self.may_type => "this viewer may only look".to_owned(),
            Some(holder) => format!("{} has the keyboard; take it first", holder.name),
            None => "nobody has the keyboard; take it first".to_owned(),
        })
    }

    fn refuse(&mut self, reason: String) {
        self.outbox.say(FromDaemon::Refused { reason });
    }

    fn say_holder(&mut self) {
        let holder = self.seat.holder().map(|holder| holder.name);
        self.outbox.say(FromDaemon::Keyboard { yours: self.seat.holds(), holder });
    }

    fn say_state(&mut self) {
        let verdict = Box::new(self.terminal.verdict());
        self.outbox.say(FromDaemon::State { verdict });
    }

    /// The last word: how the process ended, if it did and is not only left to itself.
    async fn ended(&self, outgoing: &mpsc::Sender<Message>) -> ViewerEnd {
        let verdict = self.terminal.verdict();
        if verdict.state != AgentState::Exited {
            return ViewerEnd::Left;
        }
        let said = FromDaemon::Ended { reason: verdict.evidence.text };
        let text = serde_json::to_string(&said).unwrap_or_default();
        match outgoing.send(Message::Text(text.into())).await {
            Ok(()) => ViewerEnd::Ended,
            Err(_) => ViewerEnd::Gone,
        }
    }
}

/// Sends what there is to send, until there is nothing more or the client takes no more.
async fn send(mut sink: SplitSink<WebSocket, Message>, mut queue: mpsc::Receiver<Message>) {
    while let Some(message) = queue.recv().await {
        if sink.send(message).await.is_err() {
            return;
        }
    }
    // The client may have closed it first.
    drop(sink.close().await);
}
