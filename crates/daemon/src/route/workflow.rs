//! Sessions: started, listed, looked at, ended.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use coven_api::workflow::{ListQuery, StartWorkflow, Wish, Workflow, WorkflowPage};
use coven_api::{Code, Problem};
use coven_orchestrator::RequestError;
use coven_workflow::state::Refused;

use crate::answer::{Answer, Done, Failure, Json, MayRead, Path, Query, Read};
use crate::house::{House, Sessions, environment};
use crate::peer::Caller;
use crate::problems;

/// `POST /workflows`.
pub(super) async fn start(
    State(house): State<House>,
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
    let started = house.start(start, key.map(str::to_owned)).await?;
    tracing::info!(workflow = %started.id, base = %started.base_dir, "a run was started");
    Ok((StatusCode::CREATED, Json(started)).into_response())
}

/// `GET /workflows`.
pub(crate) async fn list(
    State(house): State<House>,
    Query(query): Query<ListQuery>,
) -> Answer<WorkflowPage> {
    Ok(Json(house.list(&query).await?))
}

/// `GET /workflows/{id}`.
pub(crate) async fn show(State(house): State<House>, Path(id): Path<String>) -> Answer<Workflow> {
    Ok(Json(house.workflow(&id).await?))
}

/// `DELETE /workflows/{id}`. Once more is as good as once.
pub(crate) async fn cancel(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    MayRead(wish): MayRead<Wish>,
) -> Answer<Workflow> {
    let (orchestrator, id) = house.find_own(&id).await?;
    let why = wish.why.unwrap_or_default();
    match orchestrator.cancel(&id, &caller.name(), &why).await {
        Ok(()) | Err(RequestError::Refused(Refused::Stopping | Refused::Over(_))) => {}
        Err(error) => return Err(problems::request(&error).into()),
    }
    Ok(Json(house.shown(&Sessions::Open(orchestrator), &id).await?))
}

/// `POST /workflows/{id}/resume`.
pub(crate) async fn resume(
    State(house): State<House>,
    Path(id): Path<String>,
    MayRead(wish): MayRead<Wish>,
) -> Answer<Workflow> {
    let (orchestrator, id) = house.find_to_run(&id).await?;
    let env = wish.env.map(|env| environment(Some(env))).transpose()?;
    orchestrator.resume(&id, env).await.map_err(|error| problems::request(&error))?;
    Ok(Json(house.shown(&Sessions::Open(orchestrator), &id).await?))
}

/// `POST /workflows/{id}/retry`.
pub(super) async fn retry(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    MayRead(wish): MayRead<Wish>,
) -> Answer<Workflow> {
    let (orchestrator, id) = house.find_to_run(&id).await?;
    let env = environment(wish.env)?;
    let entry = house.shown(&Sessions::Open(orchestrator.clone()), &id).await?;
    if entry.item.status.is_final() {
        // What is over goes on in the environment of whoever tries again.
        let resumed = orchestrator.resume(&id, Some(env)).await;
        resumed.map_err(|error| problems::request(&error))?;
    }
    let why = wish.why.unwrap_or_default();
    let retried = orchestrator.retry(&id, &caller.name(), &why).await;
    retried.map_err(|error| problems::request(&error))?;
    Ok(Json(house.shown(&Sessions::Open(orchestrator), &id).await?))
}

/// `POST /workflows/{id}/purge`.
pub(crate) async fn purge(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    MayRead(_): MayRead<Wish>,
) -> Done {
    let (orchestrator, id) = house.find_own(&id).await?;
    let purged = orchestrator.purge(&id, &caller.name()).await;
    purged.map_err(|error| problems::request(&error))?;
    Ok(StatusCode::NO_CONTENT)
}
