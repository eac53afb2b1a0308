//! Doing something to a task: typing, resizing, interrupting, finishing, stopping.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use coven_api::task::{ScreenSize, TypeRequest, TypeResponse};

use crate::answer::{Answer, Done, Json, JsonBody, Path};
use crate::peer::Caller;
use crate::state::Daemon;

pub(super) async fn input(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path((id, task)): Path<(String, String)>,
    JsonBody(typing): JsonBody<TypeRequest>,
) -> Answer<TypeResponse> {
    Ok(Json(daemon.service.input(&id, &task, typing, &caller.name()).await?))
}

pub(super) async fn resize(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
    JsonBody(size): JsonBody<ScreenSize>,
) -> Done {
    daemon.service.resize(&id, &task, size).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn interrupt(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
) -> Done {
    daemon.service.interrupt(&id, &task).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn complete(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path((id, task)): Path<(String, String)>,
) -> Done {
    daemon.service.complete(&id, &task, &caller.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn stop(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path((id, task)): Path<(String, String)>,
) -> Done {
    daemon.service.stop_task(&id, &task, &caller.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}
