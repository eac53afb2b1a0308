//! What happens to an agent, as events for its subscribers. One that is too slow may miss output,
//! which is on the tape, and nothing else: what the agent asked and when a turn ended is kept for a
//! while.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::broadcast;

use crate::event::{RunnerEvent, RunnerUpdate};

/// How many events a subscriber may be behind. Each has its place from the start, for every agent.
const EVENT_CAPACITY: usize = 256;

/// How many of the events that no subscriber may miss are kept.
const KEPT_EVENTS: usize = 32;

/// An event with its number among those that no subscriber may miss; output has none.
type Numbered = (Option<u64>, RunnerEvent);

/// The events that no subscriber may miss, the newest last, with their numbers.
type Kept = Arc<Mutex<VecDeque<(u64, RunnerEvent)>>>;

/// Publishes the events of one agent.
#[derive(Debug)]
pub(crate) struct EventPublisher {
    sender: broadcast::Sender<Numbered>,
    kept: Kept,
}

impl EventPublisher {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(EVENT_CAPACITY), kept: Kept::default() }
    }

    /// Publishes an event. There need be no subscriber.
    pub(crate) fn tell(&self, event: RunnerEvent) {
        if matches!(
            event,
            RunnerEvent::Output { .. } | RunnerEvent::Entry(_) | RunnerEvent::Usage(_)
        ) {
            // Without a subscriber there is nothing to do.
            drop(self.sender.send((None, event)));
            return;
        }
        // Locked until it is sent, so that a new subscriber knows exactly which events came before.
        let mut kept = self.kept.lock();
        let number = kept.back().map_or(1, |(last, _)| last + 1);
        kept.push_back((number, event.clone()));
        if kept.len() > KEPT_EVENTS {
            kept.pop_front();
        }
        drop(self.sender.send((Some(number), event)));
    }

    pub(crate) fn subscribe(&self) -> RunnerSubscription {
        RunnerSubscription::new(&self.kept, || self.sender.subscribe())
    }

    /// Where to subscribe, for as long as the publisher exists.
    pub(crate) fn source(&self) -> EventSource {
        EventSource { sender: self.sender.downgrade(), kept: self.kept.clone() }
    }
}

/// Where to subscribe. It does not keep the publisher alive.
#[derive(Clone, Debug)]
pub(crate) struct EventSource {
    sender: broadcast::WeakSender<Numbered>,
    kept: Kept,
}

impl EventSource {
    pub(crate) fn subscribe(&self) -> RunnerSubscription {
        RunnerSubscription::new(&self.kept, || match self.sender.upgrade() {
            Some(sender) => sender.subscribe(),
            // The receiver of a channel without a sender: it says at once that all is over.
            None => broadcast::channel(1).1,
        })
    }
}

/// A subscription to an agent's events.
#[derive(Debug)]
pub struct RunnerSubscription {
    receiver: broadcast::Receiver<Numbered>,
    kept: Kept,
    /// The number of the last event that was given out here.
    last: u64,
    missed: VecDeque<RunnerEvent>,
}

impl RunnerSubscription {
    fn new(kept: &Kept, receiver: impl FnOnce() -> broadcast::Receiver<Numbered>) -> Self {
        let known = kept.lock();
        let last = known.back().map_or(0, |(number, _)| *number);
        Self { receiver: receiver(), kept: kept.clone(), last, missed: VecDeque::new() }
    }

    /// The next update; nothing once the runner is gone.
    pub async fn next(&mut self) -> Option<RunnerUpdate> {
        loop {
            if let Some(event) = self.missed.pop_front() {
                return Some(RunnerUpdate::Event(event));
            }
            match self.receiver.recv().await {
                Ok((Some(number), _)) if number <= self.last => {}
                Ok((number, event)) => {
                    self.last = number.unwrap_or(self.last);
                    return Some(RunnerUpdate::Event(event));
                }
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    self.catch_up();
                    return Some(RunnerUpdate::Lagged(missed));
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Takes what was kept. Some of it is still to come; then it is known already.
    fn catch_up(&mut self) {
        let kept = self.kept.lock();
        let last = self.last;
        for (number, event) in kept.iter().filter(|(number, _)| *number > last) {
            self.last = *number;
            self.missed.push_back(event.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed() -> RunnerEvent {
        RunnerEvent::Output {
            stream: coven_runtime::domain::PaneStream::Output,
            offset: 0,
            raw: Arc::from(&b"x"[..]),
            clean: Arc::from("x"),
        }
    }

    fn ended(error: bool) -> RunnerEvent {
        RunnerEvent::TurnEnded { error }
    }

    /// The turns whose end a subscriber is told of, up to the end of everything.
    async fn turns(events: &mut RunnerSubscription) -> Vec<bool> {
        let mut turns = Vec::new();
        while let Some(update) = events.next().await {
            if let RunnerUpdate::Event(RunnerEvent::TurnEnded { error }) = update {
                turns.push(error);
            }
        }
        turns
    }

    #[tokio::test]
    async fn a_flood_of_output_makes_no_subscriber_miss_the_end_of_a_turn() {
        let publisher = EventPublisher::new();
        let mut slow = publisher.subscribe();
        publisher.tell(ended(false));
        for _ in 0..10 * EVENT_CAPACITY {
            publisher.tell(printed());
        }
        publisher.tell(ended(true));
        let mut late = publisher.subscribe();
        publisher.tell(printed());
        publisher.tell(ended(false));
        drop(publisher);
        assert_eq!(turns(&mut slow).await, [false, true, false], "each once and in order");
        assert_eq!(turns(&mut late).await, [false], "nothing of before");
    }

    #[tokio::test]
    async fn a_subscriber_that_comes_when_all_is_over_is_told_so() {
        let publisher = EventPublisher::new();
        let source = publisher.source();
        drop(publisher);
        assert!(source.subscribe().next().await.is_none());
    }
}
