//! What happens to an agent, told to whoever follows. One that is too slow may miss output, which
//! is on the tape, and nothing else: what it asked and when a turn ended is kept for a while.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;

use crate::event::{Event, Update};

/// How many events a follower may be behind. Each has its place from the start, for every agent.
const EVENTS: usize = 256;

/// How many of those that nobody may miss are kept.
const KEPT: usize = 32;

/// An event with its number among those that nobody may miss; nothing for those that one may.
type Numbered = (Option<u64>, Event);

/// What is kept, the newest last, with its numbers.
type Kept = Arc<Mutex<VecDeque<(u64, Event)>>>;

/// Tells what happens.
#[derive(Debug)]
pub(crate) struct Teller {
    sender: broadcast::Sender<Numbered>,
    kept: Kept,
}

impl Teller {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(EVENTS), kept: Kept::default() }
    }

    /// Tells whoever listens. Nobody need.
    pub(crate) fn tell(&self, event: Event) {
        if matches!(event, Event::Output { .. } | Event::Entry(_) | Event::Usage(_)) {
            let _ = self.sender.send((None, event));
            return;
        }
        // Held until it is sent, so that whoever begins to follow knows exactly what was before.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let number = kept.back().map_or(1, |(last, _)| last + 1);
        kept.push_back((number, event.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        let _ = self.sender.send((Some(number), event));
    }

    pub(crate) fn subscribe(&self) -> Subscription {
        Subscription::new(&self.kept, || self.sender.subscribe())
    }

    /// To follow it from elsewhere, as long as it is there.
    pub(crate) fn follow(&self) -> Following {
        Following { sender: self.sender.downgrade(), kept: self.kept.clone() }
    }
}

/// Where one can begin to follow. It does not keep the teller alive.
#[derive(Clone, Debug)]
pub(crate) struct Following {
    sender: broadcast::WeakSender<Numbered>,
    kept: Kept,
}

impl Following {
    pub(crate) fn subscribe(&self) -> Subscription {
        Subscription::new(&self.kept, || match self.sender.upgrade() {
            Some(sender) => sender.subscribe(),
            // The receiver of a channel nobody can send to: it says at once that all is over.
            None => broadcast::channel(1).1,
        })
    }
}

/// A subscription to an agent's events.
#[derive(Debug)]
pub struct Subscription {
    receiver: broadcast::Receiver<Numbered>,
    kept: Kept,
    /// The last of those that nobody may miss that was told here.
    last: u64,
    missed: VecDeque<Event>,
}

impl Subscription {
    fn new(kept: &Kept, receiver: impl FnOnce() -> broadcast::Receiver<Numbered>) -> Self {
        let known = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known.back().map_or(0, |(number, _)| *number);
        Self { receiver: receiver(), kept: kept.clone(), last, missed: VecDeque::new() }
    }

    /// The next update; nothing once the runner is gone.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if let Some(event) = self.missed.pop_front() {
                return Some(Update::Event(event));
            }
            match self.receiver.recv().await {
                Ok((Some(number), _)) if number <= self.last => {}
                Ok((number, event)) => {
                    self.last = number.unwrap_or(self.last);
                    return Some(Update::Event(event));
                }
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    self.catch_up();
                    return Some(Update::Lagged(missed));
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Takes what was kept. Some of it is still to come; then it is known already.
    fn catch_up(&mut self) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn printed() -> Event {
        Event::Output {
            stream: coven_runtime::domain::Stream::Output,
            offset: 0,
            raw: Arc::from(&b"x"[..]),
            clean: Arc::from("x"),
        }
    }

    fn ended(error: bool) -> Event {
        Event::TurnEnded { error }
    }

    /// The turns whose end a subscriber is told of, up to the end of everything.
    async fn turns(events: &mut Subscription) -> Vec<bool> {
        let mut turns = Vec::new();
        while let Some(update) = events.next().await {
            if let Update::Event(Event::TurnEnded { error }) = update {
                turns.push(error);
            }
        }
        turns
    }

    #[tokio::test]
    async fn a_flood_of_output_makes_nobody_miss_the_end_of_a_turn() {
        let teller = Teller::new();
        let mut slow = teller.subscribe();
        teller.tell(ended(false));
        for _ in 0..10 * EVENTS {
            teller.tell(printed());
        }
        teller.tell(ended(true));
        let mut late = teller.subscribe();
        teller.tell(printed());
        teller.tell(ended(false));
        drop(teller);
        assert_eq!(turns(&mut slow).await, [false, true, false], "each once and in order");
        assert_eq!(turns(&mut late).await, [false], "nothing of before");
    }

    #[tokio::test]
    async fn whoever_comes_when_all_is_over_is_told_so() {
        let teller = Teller::new();
        let following = teller.follow();
        drop(teller);
        assert!(following.subscribe().next().await.is_none());
    }
}
