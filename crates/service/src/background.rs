//! What the service does by itself while it runs: it gives automatic answers, runs hooks and counts.

use coven_model::event::SessionEvent;
use coven_orchestrator::{FeedItem, PublishedEvent};

use crate::service::Service;
use crate::{auto_answer, holder_watch, hooks, key_watch, tape_quota};

impl Service {
    /// Begins to give automatic answers, to run hooks and to count. To be called once, before
    /// [`Self::recover`], so that nothing comes up before.
    pub fn start_background(&self) {
        self.spawn(answer_automatically(self.clone()));
        self.spawn(hooks::watch(self.clone()));
        self.spawn(holder_watch::watch(self.clone()));
        self.spawn(key_watch::watch(self.clone()));
        self.spawn(tape_quota::watch(self.clone()));
    }
}

/// Answers what comes up in sessions that were started with automatic answers, until the service
/// stops.
async fn answer_automatically(service: Service) {
    let (mut events, stopping) = (service.all_events(None), service.stopping());
    let context = service.context();
    while let Some(Some(item)) = stopping.run_until_cancelled(events.next()).await {
        let envelope = match item {
            FeedItem::Event(envelope) => envelope,
            // What came up meanwhile still waits.
            FeedItem::Gap { .. } => {
                for orchestrator in service.orchestrators().await {
                    auto_answer::answer_waiting(context, &orchestrator).await;
                }
                continue;
            }
        };
        let PublishedEvent::Fact { event, .. } = &envelope.what else { continue };
        let SessionEvent::InterventionRequired { intervention, .. } = &**event else { continue };
        // A base directory that is being opened answers everything that waits once it is open.
        for orchestrator in service.base_dirs().iter().filter_map(|base| base.now()) {
            auto_answer::answer(context, &orchestrator, intervention).await;
        }
    }
}
