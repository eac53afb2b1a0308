//! Server-sent events: of one session, counted by `seq`, and of all, counted by `pos`.
//!
//! Without a cursor a follower first gets a `snapshot` and then what happens; with one, what
//! happened since. Nothing is pushed: a connection asks for the next piece when it has sent the
//! one before, so a client that does not read holds up only itself. What it misses of what is
//! live is gone, of facts nothing: they are read from the journals.
//!
//! Besides what happened there are `snapshot`, `gap`, `lagged`, `end` (nothing more will come, do
//! not connect again) and `stopping` (the daemon goes away, connect again later).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use coven_api::event::{EventGap, EventQuery, SessionSnapshot};
use coven_api::workflow::WorkflowDetails;
use coven_api::{ApiProblem, ProblemCode};
use coven_model::event::SessionEvent;
use coven_service::{
    EventSubscription, FeedEvent, FeedItem, FeedSubscription, PublishedEvent, Service, event_kind,
    write_event_json,
};
use futures_util::{Stream, stream};
use serde::Serialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::followers::StreamLimits;
use crate::answer::{HttpFailure, Path, Query};
use crate::state::Daemon;

/// How long a connection may be silent. A client that receives nothing for longer knows that the
/// connection is broken.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// How soon a page that loses its connection comes back.
const RETRY_DELAY: Duration = Duration::from_secs(1);

pub(super) async fn session(
    State(daemon): State<Daemon>,
    Extension(streams): Extension<StreamLimits>,
    Path(id): Path<String>,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpFailure> {
    let after = cursor(&headers, query.after)?;
    let place = streams.place()?;
    let service = daemon.service;
    let session = service.session_events(&id).await?;
    let address = session.address().to_owned();
    let workflow = service.show(&address).await?;
    let known = after.filter(|after| *after <= workflow.last_seq);
    let begin = known.unwrap_or(workflow.last_seq);
    // Subscribe before taking the snapshot, so that no fact falls between the two; what is in both is
    // dropped by its number.
    let events = session.subscribe(begin).await?;
    let source = FollowedEvents::Session { events, address };
    let mut follower = EventFollower::new(service, source, begin, query, place);
    if let (Some(after), None) = (after, known) {
        follower.gap(after, 1);
    }
    if known.is_none() {
        follower.snapshot().await?;
    } else {
        follower.see_whether_over(&workflow);
    }
    Ok(follower.answer())
}

pub(super) async fn everything(
    State(daemon): State<Daemon>,
    Extension(streams): Extension<StreamLimits>,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpFailure> {
    let after = cursor(&headers, query.after)?;
    let place = streams.place()?;
    let service = daemon.service;
    // Facts are read from journals, and after a restart those that were not sent yet come first.
    let last = service.last_position().await;
    let begin = after.unwrap_or(last);
    let source = FollowedEvents::Everything(service.all_events(Some(begin)));
    let mut follower = EventFollower::new(service, source, begin, query, place);
    if after.is_none() {
        follower.snapshot().await?;
    }
    Ok(follower.answer())
}

/// The cursor that is asked for; what a browser sends by itself when it connects again counts more
/// than what stood in the address from the beginning.
pub(super) fn cursor(headers: &HeaderMap, after: Option<u64>) -> Result<Option<u64>, ApiProblem> {
    let Some(header) = headers.get("last-event-id").filter(|header| !header.is_empty()) else {
        return Ok(after);
    };
    let number = header.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        ApiProblem::new(ProblemCode::BadRequest, "`Last-Event-ID` is not a number")
            .with_hint("send the `id` of the last event, or leave the header out")
    })
}

/// Where a follower's events come from.
enum FollowedEvents {
    Session { events: EventSubscription, address: String },
    Everything(FeedSubscription),
}

/// What a source tells.
enum SourceItem {
    Event(FeedEvent),
    Gap {
        oldest: u64,
    },
    /// Nothing more will come, because of this.
    Over(String),
}

impl FollowedEvents {
    /// What comes next. Nothing is lost if the caller stops waiting.
    async fn next(&mut self) -> SourceItem {
        match self {
            Self::Session { events, .. } => match events.next().await {
                Ok(Some(envelope)) => SourceItem::Event(envelope),
                Ok(None) => SourceItem::Over("the session is not running".to_owned()),
                Err(error) => SourceItem::Over(error.to_string()),
            },
            Self::Everything(events) => match events.next().await {
                Some(FeedItem::Event(envelope)) => SourceItem::Event(envelope),
                Some(FeedItem::Gap { oldest }) => SourceItem::Gap { oldest },
                None => SourceItem::Over("the daemon is stopping".to_owned()),
            },
        }
    }

    /// How many things it was too slow for since this was asked last.
    fn missed(&mut self) -> u64 {
        match self {
            Self::Session { events, .. } => events.take_missed(),
            Self::Everything(events) => events.take_missed(),
        }
    }

    /// The number by which this source counts facts.
    fn number(&self, envelope: &FeedEvent) -> Option<u64> {
        match (&envelope.what, self) {
            (PublishedEvent::Fact { seq, .. }, Self::Session { .. }) => Some(*seq),
            (PublishedEvent::Fact { .. }, Self::Everything(_)) => envelope.pos,
            (PublishedEvent::Live(_), _) => None,
        }
    }
}

/// One client that follows.
struct EventFollower {
    service: Service,
    source: FollowedEvents,
    /// Facts up to here were told, each or in a snapshot.
    told: u64,
    /// Whether what is live is told.
    live: bool,
    ready: VecDeque<Frame>,
    ended: bool,
    stopping: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl EventFollower {
    fn new(
        service: Service,
        source: FollowedEvents,
        told: u64,
        query: EventQuery,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let stopping = service.stopping();
        let ready = VecDeque::from([hello()]);
        let live = query.live.unwrap_or(true);
        Self { service, source, told, live, ready, ended: false, stopping, _place: place }
    }

    /// The stream as an answer.
    fn answer(self) -> Response {
        let frames = stream::unfold(self, |mut follower| async move {
            let frame = follower.next().await?;
            Some((Ok::<_, Infallible>(frame), follower))
        });
        event_stream(frames)
    }

    /// The next frame of the stream.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            tokio::select! {
                biased;
                () = self.stopping.cancelled() => {
                    self.ended = true;
                    return Some(frame("stopping", None, "{}"));
                }
                told = self.source.next() => self.take(told).await,
            }
        }
    }

    async fn take(&mut self, told: SourceItem) {
        let missed = self.source.missed();
        if missed > 0 {
            self.say("lagged", None, &json!({ "missed": missed }));
        }
        match told {
            SourceItem::Event(envelope) => self.event(&envelope).await,
            SourceItem::Gap { oldest } => {
                self.gap(self.told, oldest);
                if let Err(failure) = self.snapshot().await {
                    self.over(&failure.0.detail);
                }
            }
            // A daemon that stops closes everything; that is not the end of the session.
            SourceItem::Over(_) if self.stopping.is_cancelled() => {}
            SourceItem::Over(reason) => self.over(&reason),
        }
    }

    async fn event(&mut self, envelope: &FeedEvent) {
        let number = self.source.number(envelope);
        match number {
            Some(number) if number <= self.told => return,
            Some(number) => self.told = number,
            None if !self.live => return,
            None => {}
        }
        self.ready.push_back(frame(event_kind(envelope), number, &write_event_json(envelope)));
        if let (FollowedEvents::Session { address, .. }, PublishedEvent::Fact { event, .. }) =
            (&self.source, &envelope.what)
            && may_be_last(event)
        {
            match self.service.show(address).await {
                Ok(workflow) => self.see_whether_over(&workflow),
                Err(error) => self.over(&error.to_string()),
            }
        }
    }

    /// A session that is over, with no agent left alive, has nothing more to tell. It may be tried
    /// again later; a client that waits for that follows the stream of all sessions.
    fn see_whether_over(&mut self, workflow: &WorkflowDetails) {
        let item = &workflow.item;
        if item.status.is_final() && !item.kept && self.told >= workflow.last_seq {
            self.over(&format!("the session is {}", item.status));
        }
    }

    fn over(&mut self, reason: &str) {
        if !self.ended {
            self.ended = true;
            self.say("end", None, &json!({ "reason": reason }));
        }
    }

    fn gap(&mut self, after: u64, oldest: u64) {
        self.say("gap", None, &EventGap { after, oldest });
    }

    /// How things stand. What it contains is not told again.
    async fn snapshot(&mut self) -> Result<(), HttpFailure> {
        match &self.source {
            FollowedEvents::Session { address, .. } => {
                let workflow = self.service.show(address).await?;
                self.told = workflow.last_seq;
                let snapshot = SessionSnapshot { seq: workflow.last_seq, workflow };
                self.say("snapshot", Some(snapshot.seq), &snapshot);
                self.see_whether_over(&snapshot.workflow);
            }
            FollowedEvents::Everything(_) => {
                let snapshot = self.service.snapshot().await;
                self.told = snapshot.pos;
                self.say("snapshot", Some(snapshot.pos), &snapshot);
            }
        }
        Ok(())
    }

    fn say(&mut self, kind: &str, id: Option<u64>, data: &impl Serialize) {
        let data = serde_json::to_string(data).unwrap_or_default();
        self.ready.push_back(frame(kind, id, &data));
    }
}

/// The first frame of every stream.
pub(super) fn hello() -> Frame {
    Frame::default().comment("hello").retry(RETRY_DELAY)
}

/// Frames as an answer that goes on, with a sign of life now and then.
pub(super) fn event_stream(
    frames: impl Stream<Item = Result<Frame, Infallible>> + Send + 'static,
) -> Response {
    let keep_alive = KeepAlive::new().interval(HEARTBEAT_INTERVAL).text("beat");
    let mut response = Sse::new(frames).keep_alive(keep_alive).into_response();
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    response
}

/// Whether a session may have nothing more to tell after this.
fn may_be_last(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::WorkflowCompleted { .. }
            | SessionEvent::WorkflowFailed { .. }
            | SessionEvent::WorkflowCancelled { .. }
            | SessionEvent::TaskReleased { .. }
            | SessionEvent::SessionDeleted { .. }
    )
}

/// One event of the stream. `data` is JSON on one line.
pub(super) fn frame(kind: &str, id: Option<u64>, data: &str) -> Frame {
    // The type of a fact of a later version is whatever its journal says, and a line break in it
    // would begin another field.
    let frame = Frame::default().event(kind.replace(['\r', '\n'], " "));
    let frame = match id {
        Some(id) => frame.id(id.to_string()),
        None => frame,
    };
    frame.data(data)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn sent(frame: Frame) -> String {
        let frames = stream::iter([Ok::<_, Infallible>(frame)]);
        let body = Sse::new(frames).into_response().into_body();
        String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn an_event_has_its_name_its_cursor_and_one_line_of_data() {
        assert_eq!(sent(frame("gap", None, "{}")).await, "event: gap\ndata: {}\n\n");
        let ended = sent(frame("task.ended", Some(7), "{}")).await;
        assert_eq!(ended, "event: task.ended\nid: 7\ndata: {}\n\n");
    }

    #[tokio::test]
    async fn the_type_of_an_unknown_fact_cannot_begin_another_field() {
        let sent = sent(frame("task.sung\nid: 99\r\n", Some(7), "{}")).await;
        assert_eq!(sent, "event: task.sung id: 99  \nid: 7\ndata: {}\n\n");
    }
}
