//! Server-sent events: of one session, counted by `seq`, and of all, counted by `pos`.
//!
//! Without a cursor a follower first gets a `snapshot` and then what happens; with one, what
//! happened since. Nothing is pushed: a connection asks for the next piece when it has sent the
//! one before, so a client that does not read holds nobody up but itself. What it misses of what is
//! live is gone, of facts nothing: they are read from the journals.
//!
//! Besides what happened there are `snapshot`, `gap`, `lagged`, `end` (nothing more will come, do
//! not connect again) and `stopping` (the daemon goes away, connect again later).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use coven_api::event::{EventGap, EventQuery, SessionSnapshot};
use coven_api::workflow::Workflow;
use coven_api::{Code, Problem};
use coven_model::SessionId;
use coven_model::event::Event;
use coven_orchestrator::{Envelope, FeedItem, FeedSubscription, Published, Subscription};
use futures_util::{FutureExt, stream};
use serde::Serialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::Streams;
use super::envelope::{frame, json as written, kind};
use crate::answer::{Failure, Path, Query};
use crate::house::{Found, House};
use crate::problems;

/// How long a connection may be silent. Whoever hears nothing for longer knows that it is broken.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What a connection begins with: a page that loses it comes back after a second.
const HELLO: &str = ": hello\nretry: 1000\n\n";

/// What is sent when there is nothing to say.
const BEAT: &str = ": beat\n\n";

/// How much is put into one write.
const CHUNK: usize = 16 * 1024;

/// `GET /workflows/{id}/events`.
pub(super) async fn session(
    State(house): State<House>,
    Extension(streams): Extension<Streams>,
    Path(id): Path<String>,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let after = cursor(&headers, query)?;
    let place = streams.place()?;
    let Found { sessions, id, .. } = house.find(&id).await?;
    let workflow = house.workflow(id.as_str()).await?;
    let known = after.filter(|after| *after <= workflow.last_seq);
    let begin = known.unwrap_or(workflow.last_seq);
    // First the ear, then the picture: what happens in between is in both, and told once.
    let events = sessions.subscribe(&id, begin).await.map_err(|error| problems::request(&error))?;
    let source = Source::Session { events, id };
    let mut follower = Follower::new(house, source, begin, query, place);
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

/// `GET /events`.
pub(super) async fn everything(
    State(house): State<House>,
    Extension(streams): Extension<Streams>,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let after = cursor(&headers, query)?;
    let place = streams.place()?;
    // Facts are read from journals, and after a restart what nobody was told is told first.
    house.orchestrators().await;
    let begin = after.unwrap_or_else(|| house.feed().last());
    let source = Source::Everything(house.feed().subscribe(Some(begin)));
    let mut follower = Follower::new(house, source, begin, query, place);
    if after.is_none() {
        follower.snapshot().await?;
    }
    Ok(follower.answer())
}

/// The cursor that is asked for; what a browser sends by itself when it connects again counts more
/// than what stood in the address from the beginning.
fn cursor(headers: &HeaderMap, query: EventQuery) -> Result<Option<u64>, Problem> {
    let Some(header) = headers.get("last-event-id").filter(|header| !header.is_empty()) else {
        return Ok(query.after);
    };
    let number = header.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        Problem::new(Code::BadRequest, "`Last-Event-ID` is not a number")
            .with_hint("send the `id` of the last event, or leave the header out")
    })
}

/// Where a follower's events come from.
enum Source {
    Session { events: Subscription, id: SessionId },
    Everything(FeedSubscription),
}

/// What a source tells.
enum Told {
    Event(Envelope),
    Gap {
        oldest: u64,
    },
    /// Nothing more will come, because of this.
    Over(String),
}

impl Source {
    /// What comes next. Nothing is lost if the caller stops waiting.
    async fn next(&mut self) -> Told {
        match self {
            Self::Session { events, .. } => match events.next().await {
                Ok(Some(envelope)) => Told::Event(envelope),
                Ok(None) => Told::Over("the session is not running".to_owned()),
                Err(error) => Told::Over(error.to_string()),
            },
            Self::Everything(events) => match events.next().await {
                Some(FeedItem::Event(envelope)) => Told::Event(envelope),
                Some(FeedItem::Gap { oldest }) => Told::Gap { oldest },
                None => Told::Over("the daemon is stopping".to_owned()),
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
    fn number(&self, envelope: &Envelope) -> Option<u64> {
        match (&envelope.what, self) {
            (Published::Fact { seq, .. }, Self::Session { .. }) => Some(*seq),
            (Published::Fact { .. }, Self::Everything(_)) => envelope.pos,
            (Published::Live(_), _) => None,
        }
    }
}

/// One client that follows.
struct Follower {
    house: House,
    source: Source,
    /// Facts up to here were told, each or in a snapshot.
    told: u64,
    /// Whether what is live is told.
    live: bool,
    ready: VecDeque<String>,
    ended: bool,
    stopping: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    fn new(
        house: House,
        source: Source,
        told: u64,
        query: EventQuery,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let stopping = house.stopping();
        let ready = VecDeque::from([HELLO.to_owned()]);
        let live = query.live.unwrap_or(true);
        Self { house, source, told, live, ready, ended: false, stopping, _place: place }
    }

    /// The stream as an answer.
    fn answer(self) -> Response {
        let pieces = stream::unfold(self, |mut follower| async move {
            let piece = follower.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(piece)), follower))
        });
        let mut response = Response::new(Body::from_stream(pieces));
        let headers = response.headers_mut();
        let event_stream = HeaderValue::from_static("text/event-stream");
        headers.insert(header::CONTENT_TYPE, event_stream);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// The next piece of the stream: as much as there is to tell now.
    async fn next(&mut self) -> Option<String> {
        let mut piece = String::new();
        loop {
            while let Some(frame) = self.ready.pop_front() {
                piece.push_str(&frame);
                if piece.len() >= CHUNK {
                    return Some(piece);
                }
            }
            if self.ended || self.stopping.is_cancelled() {
                self.goodbye(&mut piece);
                return Some(piece).filter(|piece| !piece.is_empty());
            }
            let told = if piece.is_empty() {
                tokio::select! {
                    () = self.stopping.cancelled() => continue,
                    told = self.source.next() => told,
                    () = tokio::time::sleep(HEARTBEAT) => return Some(BEAT.to_owned()),
                }
            } else {
                match self.source.next().now_or_never() {
                    Some(told) => told,
                    None => return Some(piece),
                }
            };
            self.take(told).await;
        }
    }

    fn goodbye(&mut self, piece: &mut String) {
        if !self.ended {
            self.ended = true;
            piece.push_str(&frame("stopping", None, "{}"));
        }
    }

    async fn take(&mut self, told: Told) {
        let missed = self.source.missed();
        if missed > 0 {
            self.say("lagged", None, &json!({ "missed": missed }));
        }
        match told {
            Told::Event(envelope) => self.event(&envelope).await,
            Told::Gap { oldest } => {
                self.gap(self.told, oldest);
                if let Err(failure) = self.snapshot().await {
                    self.over(&failure.0.detail);
                }
            }
            // A daemon that stops closes everything; that is not the end of the session.
            Told::Over(_) if self.stopping.is_cancelled() => {}
            Told::Over(reason) => self.over(&reason),
        }
    }

    async fn event(&mut self, envelope: &Envelope) {
        let number = self.source.number(envelope);
        match number {
            Some(number) if number <= self.told => return,
            Some(number) => self.told = number,
            None if !self.live => return,
            None => {}
        }
        self.ready.push_back(frame(kind(envelope), number, &written(envelope)));
        if let (Source::Session { id, .. }, Published::Fact { event, .. }) =
            (&self.source, &envelope.what)
            && may_be_last(event)
        {
            match self.house.workflow(id.as_str()).await {
                Ok(workflow) => self.see_whether_over(&workflow),
                Err(problem) => self.over(&problem.detail),
            }
        }
    }

    /// A session that is over, with no agent left alive, has nothing more to tell. It may be tried
    /// again later; whoever waits for that follows everything.
    fn see_whether_over(&mut self, workflow: &Workflow) {
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
    async fn snapshot(&mut self) -> Result<(), Failure> {
        match &self.source {
            Source::Session { id, .. } => {
                let workflow = self.house.workflow(id.as_str()).await?;
                self.told = workflow.last_seq;
                let snapshot = SessionSnapshot { seq: workflow.last_seq, workflow };
                self.say("snapshot", Some(snapshot.seq), &snapshot);
                self.see_whether_over(&snapshot.workflow);
            }
            Source::Everything(_) => {
                let snapshot = self.house.snapshot().await;
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

/// Whether a session may have nothing more to tell after this.
fn may_be_last(event: &Event) -> bool {
    matches!(
        event,
        Event::WorkflowCompleted { .. }
            | Event::WorkflowFailed { .. }
            | Event::WorkflowCancelled { .. }
            | Event::TaskReleased { .. }
            | Event::SessionDeleted { .. }
    )
}
