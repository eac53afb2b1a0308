//! Looking at a task: its screen, its output, what it did, why we think so.

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use coven_api::task::{
    AttemptQuery, LogQuery, LogText, OutputQuery, TaskScreen, VerdictExplanation,
};
use coven_api::workflow::SessionOutputs;
use coven_service::TaskOutput;
use futures_util::stream;

use crate::answer::{Answer, HttpFailure, Json, Path, Query};
use crate::state::Daemon;

pub(super) async fn screen(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<AttemptQuery>,
) -> Answer<TaskScreen> {
    Ok(Json(daemon.service.screen(&id, &task, query).await?))
}

pub(super) async fn output(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<OutputQuery>,
) -> Result<Response, HttpFailure> {
    Ok(match daemon.service.output(&id, &task, query).await? {
        TaskOutput::Text(output) => Json(output).into_response(),
        TaskOutput::Raw { bytes, next } => {
            let headers = [
                (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
                (header::HeaderName::from_static("x-next-offset"), next.to_string()),
            ];
            (headers, bytes).into_response()
        }
    })
}

pub(super) async fn log(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<LogQuery>,
) -> Answer<LogText> {
    Ok(Json(daemon.service.log(&id, &task, query).await?))
}

pub(super) async fn outputs(
    State(daemon): State<Daemon>,
    Path(id): Path<String>,
) -> Answer<SessionOutputs> {
    Ok(Json(daemon.service.outputs(&id).await?))
}

pub(super) async fn recording(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<AttemptQuery>,
) -> Result<Response, HttpFailure> {
    let recording = daemon.service.recording(&id, &task, query).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/x-asciicast".to_owned()),
        (header::CONTENT_DISPOSITION, format!("inline; filename=\"{}\"", recording.file_name)),
    ];
    let chunks = stream::unfold(recording, |mut recording| async move {
        Some((recording.next().await?, recording))
    });
    Ok((headers, Body::from_stream(chunks)).into_response())
}

pub(super) async fn explain(
    State(daemon): State<Daemon>,
    Path((id, task)): Path<(String, String)>,
) -> Answer<VerdictExplanation> {
    Ok(Json(daemon.service.explain(&id, &task).await?))
}
