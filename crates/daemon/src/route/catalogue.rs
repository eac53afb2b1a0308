//! What can be run: grimoires and adapters.

use axum::extract::State;
use coven_api::catalogue::{
    AdapterList, BaseDirQuery, CheckRequest, CheckResponse, GrimoireList, GrimoireText,
};

use crate::answer::{Answer, Json, JsonBody, Path, Query};
use crate::state::Daemon;

pub(super) async fn grimoires(
    State(daemon): State<Daemon>,
    Query(query): Query<BaseDirQuery>,
) -> Answer<GrimoireList> {
    Ok(Json(daemon.service.grimoires(query.base_dir).await?))
}

pub(super) async fn grimoire(
    State(daemon): State<Daemon>,
    Path(name): Path<String>,
    Query(query): Query<BaseDirQuery>,
) -> Answer<GrimoireText> {
    Ok(Json(daemon.service.grimoire(name, query.base_dir).await?))
}

pub(super) async fn check(
    State(daemon): State<Daemon>,
    JsonBody(check): JsonBody<CheckRequest>,
) -> Answer<CheckResponse> {
    Ok(Json(daemon.service.check(check).await?))
}

pub(super) async fn adapters(
    State(daemon): State<Daemon>,
    Query(query): Query<BaseDirQuery>,
) -> Answer<AdapterList> {
    Ok(Json(daemon.service.adapters(query.base_dir).await?))
}
