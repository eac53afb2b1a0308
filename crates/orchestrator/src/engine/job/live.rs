//! What a job publishes by itself, past the actor of its session.

use coven_model::{AttemptId, SessionId};
use tokio::sync::{broadcast, watch};

use crate::event::{FeedEvent, LiveEvent, PublishedEvent};
use crate::feed::Feed;
use crate::state::{Clock, StorageProblem, StorageProblems};

/// Publishes what a job does live. It never passes the session's actor, so a flood of output delays
/// no decision.
#[derive(Clone, Debug)]
pub(crate) struct LivePublisher {
    pub(crate) session: SessionId,
    pub(crate) feed: Feed,
    /// Does not keep the session's broadcast open.
    pub(crate) events: broadcast::WeakSender<FeedEvent>,
    pub(crate) clock: Clock,
    /// Why nothing can be recorded at the moment, for everyone who looks at the session.
    pub(crate) storage_problem: watch::Sender<StorageProblems>,
}

impl LivePublisher {
    pub(super) fn publish(&self, live: LiveEvent) {
        let published = PublishedEvent::Live(live);
        let envelope = self.feed.tell(&self.session, self.clock.now(), published);
        if let Some(events) = self.events.upgrade() {
            // A session without subscribers is fine.
            drop(events.send(envelope));
        }
    }

    /// A job cannot begin, or its outcome cannot be recorded: publishes that the first time, and
    /// shows it.
    pub(super) fn storage_fails(&self, job: &AttemptId, told: &mut bool, problem: StorageProblem) {
        let problem = problem.into_text();
        self.storage_problem.send_modify(|problems| problems.set_job(job, Some(problem.clone())));
        if !std::mem::replace(told, true) {
            self.publish(LiveEvent::Storage { problem });
        }
    }

    /// What kept the job from the disk is over.
    pub(super) fn storage_recovers(&self, job: &AttemptId) {
        self.storage_problem.send_modify(|problems| problems.set_job(job, None));
    }
}
