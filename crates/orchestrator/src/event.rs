//! What sessions tell: facts, each durable before it is told, and what happens live.

use std::sync::Arc;

use coven_model::event::SessionEvent;
use coven_model::{AgentVerdict, AttemptId, SessionId, Timestamp};
use coven_runtime::domain::PaneStream;
use coven_store::JournalReader;
use coven_store::journal::ReadError;
use tokio::sync::{broadcast, watch};

use crate::snapshot::SessionSnapshot;
use crate::state::replay::{LogFollower, ReplayLog, ReplayPiece};

/// Something that happened in a session.
#[derive(Clone, Debug)]
pub struct FeedEvent {
    /// Where a fact stands in the [feed](crate::Feed); always grows. What is not kept has none,
    /// and neither has a fact that is read again from the journal of one session.
    pub pos: Option<u64>,
    /// The session in which it happened.
    pub session: SessionId,
    /// When it was recorded, by the clock of the orchestrator.
    pub time: Timestamp,
    /// The fact, or what is told and not kept.
    pub what: PublishedEvent,
}

/// A fact of the journal, or live news that no journal keeps.
#[derive(Clone, Debug)]
pub enum PublishedEvent {
    /// A fact with its number in the session; on the disk before anybody hears of it.
    Fact {
        /// Its number, contiguous in the session.
        seq: u64,
        /// The fact as the journal has it.
        event: Arc<SessionEvent>,
    },
    /// Something that is told and not kept.
    Live(LiveEvent),
}

/// What is told and not kept; the bytes are on the tape.
#[derive(Clone, Debug)]
pub enum LiveEvent {
    /// An agent printed something.
    Output {
        /// The attempt whose process it is.
        job: AttemptId,
        /// Which of its streams it was printed to.
        stream: PaneStream,
        /// Where in its output this begins.
        offset: u64,
        /// How many bytes of the tape this is.
        length: usize,
        /// The same as clean text.
        clean: Arc<str>,
    },
    /// What an agent is doing changed.
    State {
        /// The attempt whose process it is.
        job: AttemptId,
        /// What it is doing, with the evidence.
        verdict: Box<AgentVerdict>,
    },
    /// The session's folder was deleted, and restored from memory.
    Restored,
    /// Facts cannot be written down; the run waits until they can.
    Storage {
        /// What the disk said to the last write.
        problem: String,
    },
    /// A grimoire that a fact should have started was not.
    Trigger {
        /// The grimoire and why it was not started, as text for people.
        problem: String,
    },
}

/// Follows a session: what happened since a fact, then what happens. No fact is left out or comes
/// twice, however slow the reader is.
#[derive(Debug)]
pub struct EventSubscription {
    follower: LogFollower<SessionLog>,
}

/// How many facts are read from a journal at a time.
const FACTS_PER_READ: usize = 256;

/// The journal of a session, as a log to follow.
#[derive(Debug)]
struct SessionLog {
    session: SessionId,
    reader: JournalReader,
    /// What the session's actor has published. Facts are in the journal a moment earlier, and a
    /// subscriber that heard of them then would not find them in the snapshot.
    published: Option<watch::Receiver<Arc<SessionSnapshot>>>,
}

impl SessionLog {
    /// The last fact that may be told; none if all may.
    fn limit(&self) -> Option<u64> {
        let published = self.published.as_ref()?;
        // An actor that is gone publishes nothing more.
        let is_live = published.has_changed().is_ok();
        is_live.then(|| published.borrow().last_seq())
    }
}

impl ReplayLog for SessionLog {
    type Item = FeedEvent;
    type Error = ReadError;

    fn read(&mut self, next: u64) -> Result<ReplayPiece<FeedEvent>, ReadError> {
        let mut piece = ReplayPiece { items: Vec::new(), next, has_more: false };
        let limit = self.limit();
        for record in self.reader.read_from::<SessionEvent>(next)? {
            let record = record?;
            if limit.is_some_and(|limit| record.seq > limit) {
                break;
            }
            if piece.items.len() == FACTS_PER_READ {
                piece.has_more = true;
                break;
            }
            piece.next = record.seq + 1;
            piece.items.push(FeedEvent {
                pos: None,
                session: self.session.clone(),
                time: record.time,
                what: PublishedEvent::Fact { seq: record.seq, event: Arc::new(record.fact) },
            });
        }
        Ok(piece)
    }

    fn number(envelope: &FeedEvent) -> Option<u64> {
        match envelope.what {
            PublishedEvent::Fact { seq, .. } => Some(seq),
            PublishedEvent::Live(_) => None,
        }
    }

    fn item(envelope: FeedEvent) -> FeedEvent {
        envelope
    }
}

impl EventSubscription {
    pub(crate) fn new(
        session: SessionId,
        reader: JournalReader,
        after: u64,
        receiver: broadcast::Receiver<FeedEvent>,
        published: Option<watch::Receiver<Arc<SessionSnapshot>>>,
    ) -> Self {
        let next = after.saturating_add(1);
        let log = SessionLog { session, reader, published };
        Self { follower: LogFollower::new(log, receiver, next, true) }
    }

    /// How many things the reader was too slow for, since this was last asked. The facts among
    /// them are told all the same.
    pub fn take_missed(&mut self) -> u64 {
        self.follower.take_missed()
    }

    /// The next thing; nothing once the session is closed and everything was told.
    pub async fn next(&mut self) -> Result<Option<FeedEvent>, ReadError> {
        self.follower.next().await
    }
}
