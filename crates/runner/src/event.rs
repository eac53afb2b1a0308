//! The events of a runner: everything that happens to its agent.

use std::sync::Arc;

use coven_adapters::transcript::TranscriptItem;
use coven_model::{AgentVerdict, AskedAction, AwaitingKind, ContentDigest, JobOutcome, TokenUsage};
use coven_runtime::domain::PaneStream;
use coven_terminal::screen::GridSize;

use crate::delivery::{DeliveryError, DeliveryStage};

/// Something that happened to an agent.
#[derive(Clone, Debug)]
pub enum RunnerEvent {
    Output {
        stream: PaneStream,
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
        size: GridSize,
        /// How many times it was resized, with this one; see [`View`](crate::AgentView::resizes).
        number: u64,
    },
    /// What it is doing changed.
    State(AgentVerdict),
    Awaiting(ScreenQuestion),
    /// What it asked is no longer there.
    NoLongerAwaiting(ContentDigest),
    /// It has worked and is done: ready for the next message, or stopped by an error.
    TurnEnded {
        /// Whether the turn ended with an error.
        error: bool,
    },
    /// Its turn was interrupted, and it is ready for the next message.
    TurnInterrupted,
    /// Nobody knows what it does: it shows something unknown and is quiet, or does not get done with
    /// starting. What it shows, line by line.
    Unexplained(Vec<String>),
    /// An entry of its structured output.
    Entry(Arc<TranscriptItem>),
    /// What it has used up, as far as it tells.
    Usage(TokenUsage),
    /// A message on its way to it.
    Delivery {
        id: u64,
        /// How far it came.
        stage: DeliveryStage,
    },
    /// A queued input could not be delivered, and those behind it were not tried.
    DeliveryFailed {
        id: u64,
        error: DeliveryError,
    },
    /// The task is over. Nothing follows, unless the process was to be kept alive.
    Done(Box<JobOutcome>),
}

/// What an agent on a terminal shows, for somebody who has to be told again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownState {
    /// It asks something.
    Asks(Box<ScreenQuestion>),
    /// It is ready for a message.
    Rests {
        /// Whether it has worked since it was last given something.
        worked: bool,
    },
    /// It is ready for a message because it was interrupted.
    Interrupted,
    /// It shows this, has been quiet for some time, and nobody knows what it is.
    Unexplained(Vec<String>),
    /// It does something else.
    Other,
}

/// What an agent asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenQuestion {
    /// What kind of answer it waits for.
    pub kind: AwaitingKind,
    /// The rule of the adapter that saw it.
    pub rule: String,
    /// The name of the dialog, where the adapter knows it.
    pub dialog: Option<String>,
    /// What a person does about it, as the adapter says.
    pub help: Option<String>,
    /// It was on the screen before the last answer and still is: that was not taken, or the same is
    /// asked again.
    pub repeated: bool,
    /// The line by which people know it, where more than the excerpt tells it.
    pub title: Option<String>,
    /// What it shows, line by line.
    pub excerpt: Vec<String>,
    /// What it asks leave for.
    pub action: AskedAction,
    /// What an answer must name.
    pub digest: ContentDigest,
}

impl ScreenQuestion {
    /// Whether no rule of the adapter knows it, only what means the same in any program.
    pub fn is_generic(&self) -> bool {
        coven_model::is_generic_rule(&self.rule)
    }
}

/// What a subscriber is told.
#[expect(clippy::large_enum_variant, reason = "nearly every update is an event")]
#[derive(Clone, Debug)]
pub enum RunnerUpdate {
    Event(RunnerEvent),
    /// The subscriber was too slow and missed this many events. The output is on the tape.
    Lagged(u64),
}
