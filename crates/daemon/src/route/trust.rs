//! What a folder brings along, and agreeing to it.

use axum::extract::State;
use coven_api::catalogue::BaseDirQuery;
use coven_api::system::{SetTrust, Trust};

use crate::answer::{Answer, Json, Query, Read};
use crate::state::Daemon;

pub(super) async fn show(
    State(daemon): State<Daemon>,
    Query(query): Query<BaseDirQuery>,
) -> Answer<Trust> {
    Ok(Json(daemon.service.trust(query.base_dir).await?))
}

pub(super) async fn set(State(daemon): State<Daemon>, Read(set): Read<SetTrust>) -> Answer<Trust> {
    Ok(Json(daemon.service.set_trust(set).await?))
}
