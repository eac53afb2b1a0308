//! What a handle asks of its actor.

use std::sync::{Arc, Mutex, PoisonError};

use coven_model::{Digest, Outcome, Timestamp, Verdict};
use coven_terminal::keys::Key;
use coven_terminal::screen::Size;
use tokio::sync::{mpsc, oneshot, watch};

use super::StopError;
use crate::agent::View;
use crate::answer::{Action, AnswerError};
use crate::delivery::{DeliveryError, Message};
use crate::news::{Following, Subscription, Teller};

/// Where the end of a delivery is told.
pub(crate) type Delivered = oneshot::Sender<Result<(), DeliveryError>>;

/// Where the end of an answer is told.
pub(crate) type Answered = oneshot::Sender<Result<(), AnswerError>>;

/// What can be asked of an actor.
#[derive(Debug)]
pub(crate) enum Request {
    Send { message: Message, reply: Delivered },
    Paste { text: String, reply: Delivered },
    Keys(Vec<Key>),
    Bytes(Vec<u8>),
    CloseInput,
    Resize(Size),
    Interrupt,
    Answer { digest: Digest, action: Action, reply: Answered },
    View(oneshot::Sender<View>),
    Stop { reply: oneshot::Sender<Result<Outcome, StopError>> },
    Detach(oneshot::Sender<()>),
}

/// A handle to an actor.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    requests: mpsc::Sender<Request>,
    events: Following,
    /// What the first subscriber gets: everything from the start.
    first: Arc<Mutex<Option<Subscription>>>,
    pub(crate) verdict: watch::Receiver<Verdict>,
    pub(crate) since: watch::Receiver<Timestamp>,
    outcome: watch::Receiver<Option<Outcome>>,
}

impl Handle {
    pub(super) fn new(
        requests: mpsc::Sender<Request>,
        events: &Teller,
        (verdict, since): (watch::Receiver<Verdict>, watch::Receiver<Timestamp>),
        outcome: watch::Receiver<Option<Outcome>>,
    ) -> Self {
        let first = Arc::new(Mutex::new(Some(events.subscribe())));
        Self { requests, events: events.follow(), first, verdict, since, outcome }
    }

    /// Asks and waits for the reply; nothing if the actor has ended.
    pub(crate) async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.ok()?;
        answer.await.ok()
    }

    /// Asks for something that has no reply. An actor that has ended does not hear it.
    pub(crate) async fn tell(&self, request: Request) {
        let _ = self.requests.send(request).await;
    }

    pub(crate) async fn stop(&self) -> Result<Outcome, StopError> {
        match self.ask(|reply| Request::Stop { reply }).await {
            Some(result) => result,
            // It ended by itself meanwhile.
            None => self.outcome.borrow().clone().ok_or(StopError::Gone),
        }
    }

    /// Ends the actor and leaves the process as it is.
    pub(crate) async fn detach(&self) {
        let _ = self.ask(Request::Detach).await;
    }

    pub(crate) async fn done(&self) -> Option<Outcome> {
        let mut outcome = self.outcome.clone();
        outcome.wait_for(Option::is_some).await.ok()?.clone()
    }

    pub(crate) fn subscribe(&self) -> Subscription {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.events.subscribe())
    }
}
