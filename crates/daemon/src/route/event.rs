//! Events from outside.

use axum::extract::State;
use coven_api::event::{PostEvent, TriggeredSessions};

use crate::answer::{Answer, Json, Read};
use crate::state::Daemon;

pub(super) async fn post(
    State(daemon): State<Daemon>,
    Read(event): Read<PostEvent>,
) -> Answer<TriggeredSessions> {
    Ok(Json(daemon.service.post_event(event).await?))
}
