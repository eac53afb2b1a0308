//! `GET /workflows/{id}/tasks/{task}/transcript`: what an agent without a terminal said and did, a
//! page of it or, for `Accept: text/event-stream`, everything as it happens.
//!
//! A stream has an `entry` event for each entry, with its id as the cursor; `end` (the attempt is
//! over and everything was told) and `stopping` (the daemon goes away, connect again later).

use std::convert::Infallible;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use axum::response::sse::Event as Frame;
use axum::response::{IntoResponse, Response};
use coven_api::task::TranscriptQuery;
use coven_service::TranscriptFollower;
use futures_util::stream;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::followers::StreamLimits;
use super::sse::{cursor, event_stream, frame, hello};
use crate::answer::{HttpFailure, Json, Path, Query};
use crate::state::Daemon;

const EVENT_STREAM: &str = "text/event-stream";

pub(super) async fn transcript(
    State(daemon): State<Daemon>,
    Extension(streams): Extension<StreamLimits>,
    Path((id, task)): Path<(String, String)>,
    Query(mut query): Query<TranscriptQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpFailure> {
    let service = daemon.service;
    if !wants_stream(&headers) {
        return Ok(Json(service.transcript(&id, &task, query).await?).into_response());
    }
    let after = cursor(&headers, query.after)?;
    if after != query.after {
        // A browser that connects again goes on, and does not begin with the last entries anew.
        (query.after, query.tail) = (after, None);
    }
    let place = streams.place()?;
    let follower = service.follow_transcript(&id, &task, query).await?;
    let stream = TranscriptStream {
        follower,
        greeting: Some(hello()),
        ended: false,
        stopping: service.stopping(),
        _place: place,
    };
    Ok(event_stream(stream::unfold(stream, |mut stream| async move {
        let frame = stream.next().await?;
        Some((Ok::<_, Infallible>(frame), stream))
    })))
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| {
        accept
            .split(',')
            .any(|one| one.split(';').next().is_some_and(|one| one.trim() == EVENT_STREAM))
    })
}

struct TranscriptStream {
    follower: TranscriptFollower,
    greeting: Option<Frame>,
    ended: bool,
    stopping: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl TranscriptStream {
    async fn next(&mut self) -> Option<Frame> {
        if let Some(hello) = self.greeting.take() {
            return Some(hello);
        }
        if self.ended {
            return None;
        }
        let next = tokio::select! {
            biased;
            () = self.stopping.cancelled() => {
                self.ended = true;
                return Some(frame("stopping", None, "{}"));
            }
            next = self.follower.next() => next,
        };
        let end = match next {
            Ok(Some(entry)) => {
                let data = serde_json::to_string(&entry).unwrap_or_default();
                return Some(frame("entry", Some(entry.id), &data));
            }
            // A daemon that stops closes everything; that is not the end of the attempt.
            Ok(None) | Err(_) if self.stopping.is_cancelled() => ("stopping", json!({})),
            Ok(None) => ("end", json!({ "reason": "the attempt is over" })),
            Err(error) => ("end", json!({ "reason": error.to_string() })),
        };
        self.ended = true;
        Some(frame(end.0, None, &end.1.to_string()))
    }
}
