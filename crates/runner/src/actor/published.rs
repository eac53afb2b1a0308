//! What an actor publishes about its agent: events, and the newest state for those that come later.

use std::sync::Arc;

use coven_adapters::transcript::TranscriptItem;
use coven_model::{AgentVerdict, JobOutcome, Timestamp};
use tokio::sync::watch;

use crate::event::RunnerEvent;
use crate::mark;
use crate::subscription::EventPublisher;

/// What the handles of an actor see.
#[derive(Debug)]
pub(super) struct PublishedState {
    pub(super) events: EventPublisher,
    pub(super) verdict: watch::Sender<AgentVerdict>,
    /// Since when the agent does what the verdict says.
    pub(super) since: watch::Sender<Timestamp>,
    pub(super) outcome: watch::Sender<Option<JobOutcome>>,
    /// Whether it was told that nobody knows what the agent does.
    pub(super) unexplained: watch::Sender<bool>,
}

impl PublishedState {
    pub(super) fn new(verdict: AgentVerdict) -> Self {
        Self {
            events: EventPublisher::new(),
            verdict: watch::Sender::new(verdict),
            since: watch::Sender::new(mark::now()),
            outcome: watch::Sender::new(None),
            unexplained: watch::Sender::new(false),
        }
    }

    pub(super) fn tell(&self, event: RunnerEvent) {
        self.events.tell(event);
    }

    /// Publishes what the agent is doing, and since when if that is known.
    pub(super) fn set_verdict(&self, verdict: AgentVerdict, since: Option<Timestamp>) {
        if let Some(since) = since {
            self.since.send_replace(since);
        }
        self.unexplained.send_replace(false);
        self.verdict.send_replace(verdict.clone());
        self.tell(RunnerEvent::State(verdict));
    }

    /// Publishes entries of structured output. Gives the id of the conversation, if they tell it.
    pub(super) fn tell_entries(&self, entries: Vec<TranscriptItem>) -> Option<String> {
        let mut session = None;
        for entry in entries {
            match &entry {
                TranscriptItem::Session { id, .. } => session = Some(id.clone()),
                TranscriptItem::Usage { usage, .. } => self.tell(RunnerEvent::Usage(*usage)),
                _ => {}
            }
            self.tell(RunnerEvent::Entry(Arc::new(entry)));
        }
        session
    }

    /// Publishes how the task ended. Only the first outcome counts.
    pub(super) fn complete(&self, outcome: &JobOutcome) {
        let is_first = self.outcome.send_if_modified(|published| {
            let is_first = published.is_none();
            published.get_or_insert_with(|| outcome.clone());
            is_first
        });
        if is_first {
            self.tell(RunnerEvent::Done(Box::new(outcome.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use coven_model::ProcessEnding;

    use super::*;
    use crate::actor::reader::AgentReader;
    use crate::event::RunnerUpdate;

    #[tokio::test]
    async fn the_end_of_a_task_is_told_once() {
        let published = PublishedState::new(AgentReader::headless_verdict());
        let mut events = published.events.subscribe();
        let first = JobOutcome::new(true, ProcessEnding::Alive, "done");
        published.complete(&first);
        published.complete(&JobOutcome::new(false, ProcessEnding::Stopped, "stopped"));
        assert_eq!(*published.outcome.borrow(), Some(first.clone()));
        drop(published);
        let told = events.next().await;
        assert!(
            matches!(told, Some(RunnerUpdate::Event(RunnerEvent::Done(outcome))) if *outcome == first)
        );
        assert!(events.next().await.is_none());
    }
}
