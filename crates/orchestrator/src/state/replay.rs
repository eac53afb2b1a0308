//! Following something that is broadcast and kept: what the broadcast brings is passed on as it
//! comes, and a follower that is behind reads the log instead, in bounded pieces, until it is not.
//!
//! Subscriptions to one session and to the feed of all sessions are this with another log each.

use std::collections::VecDeque;
use std::fmt::Debug;

use coven_folder::disk_wait::Permit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use crate::event::FeedEvent;

/// What is kept of what was broadcast.
pub(crate) trait ReplayLog: Debug + Send + 'static {
    type Item: Debug + Send + 'static;
    type Error: Debug + Send + 'static;

    /// Reads from a number on, a bounded piece. May wait on a disk.
    fn read(&mut self, next: u64) -> Result<ReplayPiece<Self::Item>, Self::Error>;

    /// The number of something that was broadcast; none if the log does not keep it.
    fn number(envelope: &FeedEvent) -> Option<u64>;

    /// What a follower is given for something that was broadcast.
    fn item(envelope: FeedEvent) -> Self::Item;
}

/// A piece of a log.
#[derive(Debug)]
pub(crate) struct ReplayPiece<I> {
    pub(crate) items: Vec<I>,
    /// The number behind the last one that was read.
    pub(crate) next: u64,
    /// Whether there may be more in the log now.
    pub(crate) has_more: bool,
}

/// Follows a log and its broadcast. Nothing that the log keeps is left out or comes twice, however
/// slow the follower is; of the rest a slow follower misses some.
#[derive(Debug)]
pub(crate) struct LogFollower<L: ReplayLog> {
    source: ReplaySource<L>,
    receiver: Receiver<FeedEvent>,
    next: u64,
    /// What was read and not handed out.
    backlog: VecDeque<L::Item>,
    /// The log may have what the receiver does not bring.
    is_behind: bool,
    is_closed: bool,
    missed: u64,
}

/// The log, or the thread that reads it.
#[derive(Debug)]
enum ReplaySource<L: ReplayLog> {
    Ready(L),
    /// Kept here, so that a caller that gives up waiting loses nothing.
    Reading(JoinHandle<ReadPiece<L>>),
    /// The thread that read it panicked or was shut down with the runtime.
    Lost,
}

/// A log that was lent to a thread, with what the thread read.
type ReadPiece<L> = (L, Result<ReplayPiece<<L as ReplayLog>::Item>, <L as ReplayLog>::Error>);

impl<L: ReplayLog> LogFollower<L> {
    /// Follows from a number on. With `is_behind` the log is read before anything else.
    pub(crate) fn new(log: L, receiver: Receiver<FeedEvent>, next: u64, is_behind: bool) -> Self {
        Self {
            source: ReplaySource::Ready(log),
            receiver,
            next,
            backlog: VecDeque::new(),
            is_behind,
            is_closed: false,
            missed: 0,
        }
    }

    /// Hands this out before anything else.
    pub(crate) fn put_first(&mut self, item: L::Item) {
        self.backlog.push_front(item);
    }

    /// How many things the follower was too slow for, since this was last asked. What the log
    /// keeps of them is handed out all the same.
    pub(crate) fn take_missed(&mut self) -> u64 {
        std::mem::take(&mut self.missed)
    }

    /// The next thing; nothing once the broadcast is over and everything was handed out. A call
    /// that is given up loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<L::Item>, L::Error> {
        loop {
            if let Some(item) = self.backlog.pop_front() {
                return Ok(Some(item));
            }
            if self.is_behind {
                if !self.read_piece().await? {
                    return Ok(None);
                }
                continue;
            }
            if self.is_closed {
                return Ok(None);
            }
            match self.receiver.recv().await {
                Ok(envelope) => match L::number(&envelope) {
                    Some(number) if number < self.next => {}
                    Some(number) if number == self.next => {
                        self.next += 1;
                        return Ok(Some(L::item(envelope)));
                    }
                    Some(_) => self.is_behind = true,
                    None => return Ok(Some(L::item(envelope))),
                },
                Err(RecvError::Lagged(missed)) => {
                    self.missed += missed;
                    self.is_behind = true;
                }
                Err(RecvError::Closed) => {
                    self.is_closed = true;
                    self.is_behind = true;
                }
            }
        }
    }

    /// Reads one piece of the log on a thread that may wait on a disk. Says whether the log is
    /// still there.
    async fn read_piece(&mut self) -> Result<bool, L::Error> {
        if let ReplaySource::Ready(_) = &self.source
            && let ReplaySource::Ready(mut log) =
                std::mem::replace(&mut self.source, ReplaySource::Lost)
        {
            let next = self.next;
            self.source = ReplaySource::Reading(tokio::task::spawn_blocking(move || {
                let _permit = Permit::take();
                let piece = log.read(next);
                (log, piece)
            }));
        }
        let ReplaySource::Reading(reading) = &mut self.source else { return Ok(false) };
        let Ok((log, piece)) = reading.await else {
            self.source = ReplaySource::Lost;
            return Ok(false);
        };
        self.source = ReplaySource::Ready(log);
        let piece = piece?;
        self.next = piece.next;
        self.is_behind = piece.has_more;
        self.backlog.extend(piece.items);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, mpsc};

    use coven_model::event::SessionEvent;
    use coven_model::{SessionId, Timestamp};
    use futures_util::FutureExt;
    use tokio::sync::broadcast;

    use super::*;
    use crate::event::PublishedEvent;

    /// A log of so many numbers, read ten at a time when the test lets it.
    #[derive(Debug)]
    struct NumberLog {
        last: u64,
        may_read: mpsc::Receiver<()>,
    }

    impl ReplayLog for NumberLog {
        type Item = u64;
        type Error = Infallible;

        fn read(&mut self, next: u64) -> Result<ReplayPiece<u64>, Infallible> {
            self.may_read.recv().unwrap();
            let end = self.last.min(next + 9);
            let has_more = end < self.last;
            Ok(ReplayPiece { items: (next..=end).collect(), next: end + 1, has_more })
        }

        fn number(envelope: &FeedEvent) -> Option<u64> {
            match envelope.what {
                PublishedEvent::Fact { seq, .. } => Some(seq),
                PublishedEvent::Live(_) => None,
            }
        }

        fn item(envelope: FeedEvent) -> u64 {
            Self::number(&envelope).unwrap()
        }
    }

    fn fact(seq: u64) -> FeedEvent {
        let session = SessionId::new("0198b5a0-0000-7000-8000-000000000001").unwrap();
        let event = Arc::new(SessionEvent::WorkflowStarted { at: Timestamp::default() });
        let what = PublishedEvent::Fact { seq, event };
        FeedEvent { pos: None, session, time: Timestamp::default(), what }
    }

    #[tokio::test]
    async fn a_log_is_read_in_pieces_and_what_is_broadcast_meanwhile_comes_once() {
        let (allow, may_read) = mpsc::sync_channel(1);
        let sender = broadcast::Sender::new(16);
        let log = NumberLog { last: 25, may_read };
        let mut follower = LogFollower::new(log, sender.subscribe(), 1, true);
        // A wait that is given up in the middle of a read loses nothing of it.
        assert!(follower.next().now_or_never().is_none());
        for seq in 24..=27 {
            sender.send(fact(seq)).unwrap();
        }
        drop(sender);
        let mut seen = Vec::new();
        for piece in 0..3 {
            allow.send(()).unwrap();
            for _ in 0..if piece < 2 { 10 } else { 5 } {
                seen.push(follower.next().await.unwrap().unwrap());
            }
        }
        for _ in 0..2 {
            seen.push(follower.next().await.unwrap().unwrap());
        }
        assert_eq!(seen, (1..=27).collect::<Vec<u64>>(), "each once and in order");
        // The end is where the log ends, which is looked at once more.
        allow.send(()).unwrap();
        assert!(follower.next().await.unwrap().is_none());
    }
}
