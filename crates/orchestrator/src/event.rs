//! What sessions tell: facts, each durable before it is told, and what happens live.

use std::sync::Arc;

use coven_model::event::Event;
use coven_model::{AttemptId, SessionId, Timestamp, Verdict};
use coven_runtime::domain::Stream;
use coven_store::Reader;
use coven_store::journal::ReadError;
use tokio::sync::broadcast;

/// Something that happened in a session.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Where a fact stands in the [feed](crate::Feed); always grows. What is not kept has none,
    /// and neither has a fact that is read again from the journal of one session.
    pub pos: Option<u64>,
    /// The session.
    pub session: SessionId,
    /// When it happened.
    pub time: Timestamp,
    /// What happened.
    pub what: Published,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Published {
    /// A fact with its number in the session; on the disk before anybody hears of it.
    Fact {
        /// Its number, contiguous in the session.
        seq: u64,
        /// The fact.
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
        /// The job.
        job: AttemptId,
        /// The stream.
        stream: Stream,
        /// Where in its output this begins.
        offset: u64,
        /// How many bytes.
        length: usize,
        /// The same as clean text.
        clean: Arc<str>,
    },
    /// What an agent is doing changed.
    State {
        /// The job.
        job: AttemptId,
        /// What it is doing, with the evidence.
        verdict: Box<Verdict>,
    },
    /// The session's folder was deleted, and restored from memory.
    Restored,
    /// Facts cannot be written down; the run waits until they can.
    Storage {
        /// Why.
        problem: String,
    },
    /// A grimoire that a fact should have started was not.
    Trigger {
        /// Which, and why.
        problem: String,
    },
}

/// Follows a session: what happened since a fact, then what happens. No fact is left out or comes
/// twice, however slow the reader is.
#[derive(Debug)]
pub struct Subscription {
    session: SessionId,
    reader: Reader,
    next: u64,
    backlog: std::collections::VecDeque<Envelope>,
    receiver: broadcast::Receiver<Envelope>,
    closed: bool,
    missed: u64,
}

impl Subscription {
    pub(crate) fn new(
        session: SessionId,
        reader: Reader,
        after: u64,
        receiver: broadcast::Receiver<Envelope>,
    ) -> Self {
        let backlog = std::collections::VecDeque::new();
        let mut subscription = Self {
            session,
            reader,
            next: after.saturating_add(1),
            backlog,
            receiver,
            closed: false,
            missed: 0,
        };
        // What is in the journal already. A reader that fails says so at the first wait.
        let _ = subscription.catch_up();
        subscription
    }

    fn catch_up(&mut self) -> Result<(), ReadError> {
        for record in self.reader.read_all::<Event>(self.next)? {
            self.next = record.seq + 1;
            self.backlog.push_back(Envelope {
                pos: None,
                session: self.session.clone(),
                time: record.time,
                what: Published::Fact { seq: record.seq, event: Arc::new(record.fact) },
            });
        }
        Ok(())
    }

    /// How many things the reader was too slow for, since this was last asked. The facts among
    /// them are told all the same.
    pub fn take_missed(&mut self) -> u64 {
        std::mem::take(&mut self.missed)
    }

    /// The next thing; nothing once the session is closed and everything was told.
    pub async fn next(&mut self) -> Result<Option<Envelope>, ReadError> {
        loop {
            if let Some(envelope) = self.backlog.pop_front() {
                return Ok(Some(envelope));
            }
            if self.closed {
                return Ok(None);
            }
            match self.receiver.recv().await {
                Ok(envelope) => match &envelope.what {
                    Published::Fact { seq, .. } if *seq < self.next => {}
                    Published::Fact { seq, .. } if *seq == self.next => {
                        self.next += 1;
                        return Ok(Some(envelope));
                    }
                    Published::Fact { .. } => self.catch_up()?,
                    Published::Live(_) => return Ok(Some(envelope)),
                },
                // Too slow: the facts are in the journal.
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    self.missed += missed;
                    self.catch_up()?;
                }
                Err(broadcast::error::RecvError::Closed) => {
                    self.closed = true;
                    self.catch_up()?;
                }
            }
        }
    }
}
