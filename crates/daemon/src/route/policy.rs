//! The user's policy, and agreeing to it.

use axum::extract::State;
use coven_api::system::{AcceptPolicy, PolicyStanding};

use crate::answer::{Answer, Json, JsonBody};
use crate::state::Daemon;

pub(super) async fn show(State(daemon): State<Daemon>) -> Answer<PolicyStanding> {
    Ok(Json(daemon.service.policy().await?))
}

pub(super) async fn accept(
    State(daemon): State<Daemon>,
    JsonBody(accept): JsonBody<AcceptPolicy>,
) -> Answer<PolicyStanding> {
    Ok(Json(daemon.service.accept_policy(accept).await?))
}
