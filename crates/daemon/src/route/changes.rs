//! What changed in the trees of tasks, and the reviews of it.

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use coven_api::changes::{
    AgentComments, AgentCommentsQuery, ChangesQuery, FileChanges, FileChangesQuery, ReviewAnswer,
    SendReview, TreeChanges,
};
use coven_api::device::DeviceRole;

use crate::answer::{Answer, HttpFailure, Json, JsonBody, Path, Query};
use crate::peer::Caller;
use crate::state::Daemon;

pub(super) async fn list(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<ChangesQuery>,
) -> Answer<TreeChanges> {
    Ok(Json(daemon.service.changes(&id, &task, &query).await?))
}

pub(super) async fn file(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<FileChangesQuery>,
) -> Answer<FileChanges> {
    Ok(Json(daemon.service.file_changes(&id, &task, &query).await?))
}

pub(super) async fn patch(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<ChangesQuery>,
) -> Result<Response, HttpFailure> {
    let patch = daemon.service.patch(&id, &task, &query).await?;
    let headers = [(header::CONTENT_TYPE, "text/x-diff")];
    Ok((headers, patch).into_response())
}

pub(super) async fn comments(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<AgentCommentsQuery>,
) -> Answer<AgentComments> {
    Ok(Json(daemon.service.agent_comments(&id, &task, &query).await?))
}

pub(super) async fn review(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path((id, task)): Path<(String, String)>,
    JsonBody(review): JsonBody<SendReview>,
) -> Answer<ReviewAnswer> {
    // Whoever may only answer talks to agents that are there, and starts none.
    let may_start = caller.may(DeviceRole::Full).is_ok();
    Ok(Json(daemon.service.review(&id, &task, review, &caller.name(), may_start).await?))
}
