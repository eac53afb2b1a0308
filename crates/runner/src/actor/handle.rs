//! What a handle asks of its actor.

use std::sync::Arc;

use coven_adapters::hook::HookEvent;
use coven_model::{AgentVerdict, JobOutcome, Timestamp};
use coven_terminal::keys::KeyPress;
use coven_terminal::screen::GridSize;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use super::StopError;
use super::published::PublishedState;
use crate::agent::AgentView;
use crate::answer::{AnswerError, GivenAnswer};
use crate::delivery::{DeliveryError, Message};
use crate::event::ShownState;
use crate::subscription::{EventSource, RunnerSubscription};

/// Where a caller waits for an answer.
#[derive(Debug)]
pub(crate) struct Reply<T>(oneshot::Sender<T>);

impl<T> Reply<T> {
    /// For something that no caller waits for.
    pub(super) fn to_nobody() -> Self {
        Self(oneshot::channel().0)
    }

    /// Answers. A caller that has stopped waiting needs no answer.
    pub(super) fn end(self, answer: T) {
        drop(self.0.send(answer));
    }
}

/// Where the end of a delivery is told.
pub(super) type DeliveryReply = Reply<Result<(), DeliveryError>>;

/// Where the end of an answer is told.
pub(super) type AnswerReply = Reply<Result<(), AnswerError>>;

/// Where the end of a stop is told.
pub(super) type StopReply = Reply<Result<JobOutcome, StopError>>;

/// What can be asked of an actor.
#[derive(Debug)]
pub(crate) enum Request {
    Send {
        message: Message,
        reply: DeliveryReply,
    },
    Paste {
        text: String,
        reply: DeliveryReply,
    },
    Keys(Vec<KeyPress>),
    Bytes(Vec<u8>),
    CloseInput,
    Resize(GridSize),
    /// The size of the viewer that has the keyboard; none when no viewer has it.
    ViewerSize(Option<GridSize>),
    Interrupt(DeliveryReply),
    Answer {
        answer: GivenAnswer,
        reply: AnswerReply,
    },
    View(Reply<AgentView>),
    Shown(Reply<ShownState>),
    /// What an agent with a protocol said at the end of its last turn.
    LastAnswer(Reply<Option<String>>),
    /// What the agent reports by itself.
    Report(HookEvent),
    Stop(StopReply),
    Detach(Reply<()>),
}

/// A handle to an actor.
#[derive(Clone, Debug)]
pub(crate) struct ActorHandle {
    requests: mpsc::Sender<Request>,
    events: EventSource,
    /// What the first subscriber gets: everything from the start.
    first: Arc<Mutex<Option<RunnerSubscription>>>,
    pub(crate) verdict: watch::Receiver<AgentVerdict>,
    pub(crate) since: watch::Receiver<Timestamp>,
    pub(crate) unexplained: watch::Receiver<bool>,
    outcome: watch::Receiver<Option<JobOutcome>>,
}

impl ActorHandle {
    pub(super) fn new(requests: mpsc::Sender<Request>, published: &PublishedState) -> Self {
        Self {
            requests,
            events: published.events.source(),
            first: Arc::new(Mutex::new(Some(published.events.subscribe()))),
            verdict: published.verdict.subscribe(),
            since: published.since.subscribe(),
            unexplained: published.unexplained.subscribe(),
            outcome: published.outcome.subscribe(),
        }
    }

    /// Asks and waits for the reply; nothing if the actor has ended.
    pub(crate) async fn ask<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(Reply(reply))).await.ok()?;
        answer.await.ok()
    }

    /// Asks for something that has no reply.
    pub(crate) async fn tell(&self, request: Request) {
        // An actor that has ended needs no request: that its agent has ended is told to all.
        drop(self.requests.send(request).await);
    }

    /// Asks for something that may be left undone when too much else waits.
    pub(crate) fn try_tell(&self, request: Request) {
        drop(self.requests.try_send(request));
    }

    pub(crate) async fn stop(&self) -> Result<JobOutcome, StopError> {
        match self.ask(Request::Stop).await {
            Some(result) => result,
            // It ended by itself meanwhile, or its actor failed and is ending it.
            None => self.done().await.ok_or(StopError::Gone),
        }
    }

    /// Ends the actor and leaves the process as it is.
    pub(crate) async fn detach(&self) {
        // An actor that has ended has let go of the process.
        self.ask(Request::Detach).await;
    }

    pub(crate) async fn done(&self) -> Option<JobOutcome> {
        let mut outcome = self.outcome.clone();
        outcome.wait_for(Option::is_some).await.ok()?.clone()
    }

    pub(crate) fn subscribe(&self) -> RunnerSubscription {
        let first = self.first.lock().take();
        first.unwrap_or_else(|| self.events.subscribe())
    }
}
