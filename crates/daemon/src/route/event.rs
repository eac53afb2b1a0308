//! Events from outside.

use axum::extract::State;
use coven_api::event::{PostEvent, TriggeredSessions};

use crate::answer::{Answer, Json, JsonBody};
use crate::state::Daemon;

pub(super) async fn post(
    State(daemon): State<Daemon>,
    JsonBody(event): JsonBody<PostEvent>,
) -> Answer<TriggeredSessions> {
    Ok(Json(daemon.service.post_event(event).await?))
}
