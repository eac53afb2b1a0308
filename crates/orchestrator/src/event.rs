//! What sessions tell: facts, each durable before it is told, and what happens live.

use std::sync::Arc;

use coven_model::event::Event;
use coven_model::{AttemptId, SessionId, Timestamp, Verdict};
use coven_runtime::domain::Stream;
use coven_store::Reader;
use coven_store::journal::ReadError;
use tokio::sync::{broadcast, watch};

use crate::snapshot::SessionSnapshot;
use crate::state::replay::{Follower, Log, Piece};

/// Something that happened in a session.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Where a fact stands in the [feed](crate::Feed); always grows. What is not kept has none,
    /// and neither has a fact that is read again from the journal of one session.
    pub pos: Option<u64>,
    /// The session in which it happened.
    pub session: SessionId,
    /// When it was recorded, by the clock of the orchestrator.
    pub time: Timestamp,
    /// The fact, or what is told and not kept.
    pub what: Published,
}

/// A fact of the journal, or live news that no journal keeps.
#[derive(Clone, Debug)]
pub enum Published {
    /// A fact with its number in the session; on the disk before anybody hears of it.
    Fact {
        /// Its number, contiguous in the session.
        seq: u64,
        /// The fact as the journal has it.
        event: Arc<Event>,
    },
    /// Something that is told and not kept.
    Live(Live),
}

/// What is told and not kept; the bytes are on the tape.
#[derive(Clone, Debug)]
pub enum Live {
    /// An agent printed something.
    Output {
        /// The attempt whose process it is.
        job: AttemptId,
        /// Which of its streams it was printed to.
        stream: Stream,
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
        verdict: Box<Verdict>,
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
pub struct Subscription {
    follower: Follower<SessionLog>,
}

/// How many facts are read from a journal at a time.
const FACTS_PER_READ: usize = 256;

/// The journal of a session, as a log to follow.
#[derive(Debug)]
struct SessionLog {
    session: SessionId,
    reader: Reader,
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

impl Log for SessionLog {
    type Item = Envelope;
    type Error = ReadError;

    fn read(&mut self, next: u64) -> Result<Piece<Envelope>, ReadError> {
        let mut piece = Piece { items: Vec::new(), next, has_more: false };
        let limit = self.limit();
        for record in self.reader.read_from::<Event>(next)? {
            let record = record?;
            if limit.is_some_and(|limit| record.seq > limit) {
                break;
            }
            if piece.items.len() == FACTS_PER_READ {
                piece.has_more = true;
                break;
            }
            piece.next = record.seq + 1;
            piece.items.push(Envelope {
                pos: None,
                session: self.session.clone(),
                time: record.time,
                what: Published::Fact { seq: record.seq, event: Arc::new(record.fact) },
            });
        }
        Ok(piece)
    }

    fn number(envelope: &Envelope) -> Option<u64> {
        match envelope.what {
            Published::Fact { seq, .. } => Some(seq),
            Published::Live(_) => None,
        }
    }

    fn item(envelope: Envelope) -> Envelope {
        envelope
    }
}

impl Subscription {
    pub(crate) fn new(
        session: SessionId,
        reader: Reader,
        after: u64,
        receiver: broadcast::Receiver<Envelope>,
        published: Option<watch::Receiver<Arc<SessionSnapshot>>>,
    ) -> Self {
        let next = after.saturating_add(1);
        let log = SessionLog { session, reader, published };
        Self { follower: Follower::new(log, receiver, next, true) }
    }

    /// How many things the reader was too slow for, since this was last asked. The facts among
    /// them are told all the same.
    pub fn take_missed(&mut self) -> u64 {
        self.follower.take_missed()
    }

    /// The next thing; nothing once the session is closed and everything was told.
    pub async fn next(&mut self) -> Result<Option<Envelope>, ReadError> {
        self.follower.next().await
    }
}
