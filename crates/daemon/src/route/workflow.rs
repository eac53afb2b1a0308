//! Sessions: started, listed, looked at, ended.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use coven_api::workflow::{ActionRequest, ListQuery, StartWorkflow, WorkflowDetails, WorkflowPage};
use coven_api::{ApiProblem, ProblemCode};

use crate::answer::{Answer, Done, HttpFailure, Json, JsonBody, MayRead, Path, Query};
use crate::peer::Caller;
use crate::state::Daemon;

pub(super) async fn start(
    State(daemon): State<Daemon>,
    headers: HeaderMap,
    JsonBody(start): JsonBody<StartWorkflow>,
) -> Result<Response, HttpFailure> {
    let key = match headers.get("idempotency-key") {
        Some(key) => Some(key.to_str().map_err(|_| {
            ApiProblem::new(ProblemCode::BadRequest, "the idempotency key is no plain text")
        })?),
        None => None,
    };
    let started = daemon.service.start(start, key.map(str::to_owned)).await?;
    Ok((StatusCode::CREATED, Json(started)).into_response())
}

pub(super) async fn list(
    State(daemon): State<Daemon>,
    Query(query): Query<ListQuery>,
) -> Answer<WorkflowPage> {
    Ok(Json(daemon.service.list(&query).await?))
}

pub(super) async fn show(
    State(daemon): State<Daemon>,
    Path(id): Path<String>,
) -> Answer<WorkflowDetails> {
    Ok(Json(daemon.service.show(&id).await?))
}

pub(super) async fn cancel(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    MayRead(wish): MayRead<ActionRequest>,
) -> Answer<WorkflowDetails> {
    Ok(Json(daemon.service.cancel(&id, wish, &caller.name()).await?))
}

pub(super) async fn resume(
    State(daemon): State<Daemon>,
    Path(id): Path<String>,
    MayRead(wish): MayRead<ActionRequest>,
) -> Answer<WorkflowDetails> {
    Ok(Json(daemon.service.resume(&id, wish).await?))
}

pub(super) async fn retry(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    MayRead(wish): MayRead<ActionRequest>,
) -> Answer<WorkflowDetails> {
    Ok(Json(daemon.service.retry(&id, wish, &caller.name()).await?))
}

pub(super) async fn purge(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    MayRead(_): MayRead<ActionRequest>,
) -> Done {
    daemon.service.purge(&id, &caller.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}
