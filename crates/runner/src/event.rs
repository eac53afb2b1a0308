//! The events of a runner: everything that happens to its agent.

use std::sync::Arc;

use coven_adapters::transcript::Entry;
use coven_model::{AwaitingKind, Digest, Outcome, Usage, Verdict};
use coven_runtime::domain::Stream;
use coven_terminal::screen::Size;

use crate::delivery::Stage;

/// Something that happened to an agent.
#[derive(Clone, Debug)]
pub enum Event {
    Output {
        stream: Stream,
        /// Where in all of its output this begins, over all streams.
        offset: u64,
        /// The bytes as they came.
        raw: Arc<[u8]>,
        /// The same as text, without sequences and secrets. May lag behind the bytes by a piece
        /// that could be the beginning of a sequence, a character or a secret.
        clean: Arc<str>,
    },
    /// Its terminal has another size now; what it printed before was for the old one.
    Resized {
        size: Size,
        /// How many times it was resized, with this one; see [`View`](crate::View::resizes).
        number: u64,
    },
    /// What it is doing changed.
    State(Verdict),
    Awaiting(Question),
    /// What it asked is no longer there.
    NoLongerAwaiting(Digest),
    /// It has worked and is done: ready for the next message, or stopped by an error.
    TurnEnded {
        /// Whether the turn ended with an error.
        error: bool,
    },
    /// An entry of its structured output.
    Entry(Arc<Entry>),
    /// What it has used up, as far as it tells.
    Usage(Usage),
    /// A message on its way to it.
    Delivery {
        id: u64,
        /// How far it came.
        stage: Stage,
    },
    /// A queued input could not be delivered, and those behind it were not tried.
    DeliveryFailed {
        id: u64,
        reason: String,
    },
    /// The task is over. Nothing follows, unless the process was to be kept alive.
    Done(Box<Outcome>),
}

/// What an agent asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What kind of answer it waits for.
    pub kind: AwaitingKind,
    /// The rule of the adapter that saw it.
    pub rule: String,
    /// The name of the dialog, where the adapter knows it.
    pub dialog: Option<String>,
    /// What it shows, line by line.
    pub excerpt: Vec<String>,
    /// What an answer must name.
    pub digest: Digest,
}

/// What a subscriber is told.
#[derive(Clone, Debug)]
pub enum Update {
    Event(Event),
    /// The subscriber was too slow and missed this many events. The output is on the tape.
    Lagged(u64),
}
