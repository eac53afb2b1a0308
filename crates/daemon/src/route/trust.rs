//! What a folder brings along, and agreeing to it.

use axum::extract::State;
use coven_api::system::{FolderTrust, SetTrust, TrustQuery};

use crate::answer::{Answer, Json, JsonBody, Query};
use crate::state::Daemon;

pub(super) async fn show(
    State(daemon): State<Daemon>,
    Query(query): Query<TrustQuery>,
) -> Answer<FolderTrust> {
    Ok(Json(daemon.service.trust(query).await?))
}

pub(super) async fn set(
    State(daemon): State<Daemon>,
    JsonBody(set): JsonBody<SetTrust>,
) -> Answer<FolderTrust> {
    Ok(Json(daemon.service.set_trust(set).await?))
}
