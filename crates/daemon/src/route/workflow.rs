//! Sessions: started, listed, looked at, ended.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use coven_api::workflow::{ListQuery, StartWorkflow, Wish, Workflow, WorkflowPage};
use coven_api::{Code, Problem};

use crate::answer::{Answer, Done, Failure, Json, MayRead, Path, Query, Read};
use crate::peer::Caller;
use crate::state::Daemon;

pub(super) async fn start(
    State(daemon): State<Daemon>,
    headers: HeaderMap,
    Read(start): Read<StartWorkflow>,
) -> Result<Response, Failure> {
    let key =
        match headers.get("idempotency-key") {
            Some(key) => Some(key.to_str().map_err(|_| {
                Problem::new(Code::BadRequest, "the idempotency key is no plain text")
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

pub(super) async fn show(State(daemon): State<Daemon>, Path(id): Path<String>) -> Answer<Workflow> {
    Ok(Json(daemon.service.show(&id).await?))
}

pub(super) async fn cancel(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    MayRead(wish): MayRead<Wish>,
) -> Answer<Workflow> {
    Ok(Json(daemon.service.cancel(&id, wish, &caller.name()).await?))
}

pub(super) async fn resume(
    State(daemon): State<Daemon>,
    Path(id): Path<String>,
    MayRead(wish): MayRead<Wish>,
) -> Answer<Workflow> {
    Ok(Json(daemon.service.resume(&id, wish).await?))
}

pub(super) async fn retry(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    MayRead(wish): MayRead<Wish>,
) -> Answer<Workflow> {
    Ok(Json(daemon.service.retry(&id, wish, &caller.name()).await?))
}

pub(super) async fn purge(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    MayRead(_): MayRead<Wish>,
) -> Done {
    daemon.service.purge(&id, &caller.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}
