//! Events from outside.

use axum::extract::State;
use coven_api::event::{PostEvent, Triggered};

use crate::answer::{Answer, Json, Read};
use crate::state::Daemon;

/// `POST /events`.
pub(super) async fn post(
    State(daemon): State<Daemon>,
    Read(event): Read<PostEvent>,
) -> Answer<Triggered> {
    Ok(Json(daemon.service.post_event(event).await?))
}
