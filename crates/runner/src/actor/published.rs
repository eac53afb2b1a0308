//! What an actor publishes about its agent: events, and the newest state for those that come later.

use std::sync::Arc;

use coven_adapters::transcript::Entry;
use coven_model::{Outcome, Timestamp, Verdict};
use tokio::sync::watch;

use crate::event::Event;
use crate::mark;
use crate::subscription::EventPublisher;

/// What the handles of an actor see.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) events: EventPublisher,
    pub(super) verdict: watch::Sender<Verdict>,
    /// Since when the agent does what the verdict says.
    pub(super) since: watch::Sender<Timestamp>,
    pub(super) outcome: watch::Sender<Option<Outcome>>,
}

impl Published {
    pub(super) fn new(verdict: Verdict) -> Self {
        Self {
            events: EventPublisher::new(),
            verdict: watch::Sender::new(verdict),
            since: watch::Sender::new(mark::now()),
            outcome: watch::Sender::new(None),
        }
    }

    pub(super) fn tell(&self, event: Event) {
        self.events.tell(event);
    }

    /// Publishes what the agent is doing, and since when if that is known.
    pub(super) fn set_verdict(&self, verdict: Verdict, since: Option<Timestamp>) {
        if let Some(since) = since {
            self.since.send_replace(since);
        }
        self.verdict.send_replace(verdict.clone());
        self.tell(Event::State(verdict));
    }

    /// Publishes entries of structured output. Gives the id of the conversation, if they tell it.
    pub(super) fn tell_entries(&self, entries: Vec<Entry>) -> Option<String> {
        let mut session = None;
        for entry in entries {
            match &entry {
                Entry::Session { id, .. } => session = Some(id.clone()),
                Entry::Usage { usage, .. } => self.tell(Event::Usage(*usage)),
                _ => {}
            }
            self.tell(Event::Entry(Arc::new(entry)));
        }
        session
    }

    /// Publishes how the task ended. Only the first outcome counts.
    pub(super) fn complete(&self, outcome: &Outcome) {
        let is_first = self.outcome.send_if_modified(|published| {
            let is_first = published.is_none();
            published.get_or_insert_with(|| outcome.clone());
            is_first
        });
        if is_first {
            self.tell(Event::Done(Box::new(outcome.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use coven_model::Ending;

    use super::*;
    use crate::actor::reader::AgentReader;
    use crate::event::Update;

    #[tokio::test]
    async fn the_end_of_a_task_is_told_once() {
        let published = Published::new(AgentReader::headless_verdict());
        let mut events = published.events.subscribe();
        let first = Outcome::new(true, Ending::Alive, "done");
        published.complete(&first);
        published.complete(&Outcome::new(false, Ending::Stopped, "stopped"));
        assert_eq!(*published.outcome.borrow(), Some(first.clone()));
        drop(published);
        let told = events.next().await;
        assert!(matches!(told, Some(Update::Event(Event::Done(outcome))) if *outcome == first));
        assert!(events.next().await.is_none());
    }
}
