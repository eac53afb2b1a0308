//! Events: posted from outside, and followed as they happen.

use coven_api::event::{PostEvent, TriggeredSessions};
use coven_model::{SessionId, SessionView};
use coven_orchestrator::{EventSubscription, FeedSubscription, PostedEvent};

use crate::blocking::blocking;
use crate::error::ServiceError;
use crate::folder;
use crate::service::Service;
use crate::sessions::Sessions;

/// The longest type of an event from outside.
const MAX_EVENT_TYPE_BYTES: usize = 200;

/// A session whose events can be followed.
#[derive(Clone, Debug)]
pub struct SessionEvents {
    sessions: Sessions,
    id: SessionId,
    address: String,
}

impl SessionEvents {
    /// By what the service finds this session again, and no copy of it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its facts after `after`, then what happens.
    pub async fn subscribe(&self, after: u64) -> Result<EventSubscription, ServiceError> {
        Ok(self.sessions.subscribe(&self.id, after).await?)
    }
}

impl Service {
    /// Tells the grimoires of a folder of an event, which may start runs.
    pub async fn post_event(&self, event: PostEvent) -> Result<TriggeredSessions, ServiceError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:/".contains(&byte);
        if !(1..=MAX_EVENT_TYPE_BYTES).contains(&event.kind.len())
            || !event.kind.bytes().all(allowed)
        {
            let detail = "the type of an event has letters, digits, and `. - _ : /`, 200 at most";
            return Err(ServiceError::BadRequest(detail.to_owned()));
        }
        let (context, base_dir) = (self.context().clone(), event.base_dir);
        let path = blocking(move || folder::to_run_in(&context, base_dir.as_deref())).await?;
        let orchestrator = self.orchestrator(&path).await?;
        self.trust_of(path).await?;
        let posted = PostedEvent {
            id: event.id,
            kind: event.kind,
            data: event.data,
            env: std::env::vars_os().collect(),
        };
        let posted = orchestrator.post_event(posted).await?;
        for problem in &posted.problems {
            tracing::warn!("an event did not start a grimoire: {problem}");
        }
        Ok(TriggeredSessions { started: posted.started })
    }

    /// A session, to follow its events.
    pub async fn session_events(&self, id: &str) -> Result<SessionEvents, ServiceError> {
        let found = self.find(id).await?;
        let address = found.address();
        Ok(SessionEvents { sessions: found.sessions, id: found.id, address })
    }

    /// The events of all sessions after a position, or from now on.
    pub fn all_events(&self, after: Option<u64>) -> FeedSubscription {
        self.context().feed.subscribe(after)
    }

    /// The position of the newest event of all sessions, once the base directories that are being
    /// opened have told what happened before.
    pub async fn last_position(&self) -> u64 {
        self.orchestrators().await;
        self.context().feed.last()
    }

    /// A session as its own file tells it; none if there is no such session.
    pub async fn session_view(&self, id: &SessionId) -> Option<SessionView> {
        let found = self.find(id.as_str()).await.ok()?;
        found.sessions.snapshot(&found.id).await.ok()?.view().cloned()
    }
}
