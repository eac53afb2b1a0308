//! Foreign sessions of a folder, and making them the user's own.

use axum::extract::State;
use coven_api::catalogue::BaseDirQuery;
use coven_api::system::{ForeignSessions, ImportSession, ImportedSession};

use crate::answer::{Answer, Json, JsonBody, Query};
use crate::state::Daemon;

pub(super) async fn list(
    State(daemon): State<Daemon>,
    Query(query): Query<BaseDirQuery>,
) -> Answer<ForeignSessions> {
    Ok(Json(daemon.service.foreign_sessions(query.base_dir).await?))
}

pub(super) async fn take(
    State(daemon): State<Daemon>,
    JsonBody(import): JsonBody<ImportSession>,
) -> Answer<ImportedSession> {
    Ok(Json(daemon.service.import(import).await?))
}
