//! The daemon itself.

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use coven_api::system::{
    BaseDirStatus, HealthResponse, OpenBaseDir, ShutdownRequest, StatusResponse, VersionResponse,
};
use coven_api::{API_VERSION, openapi};

use crate::answer::{Answer, Done, Json, JsonBody, MayRead};
use crate::peer::Caller;
use crate::state::Daemon;

pub(super) async fn health(State(daemon): State<Daemon>) -> Json<HealthResponse> {
    let status = if daemon.service.stopping().is_cancelled() { "stopping" } else { "ok" };
    Json(HealthResponse { status: status.to_owned() })
}

pub(super) async fn version() -> Json<VersionResponse> {
    Json(VersionResponse {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: API_VERSION,
        events: coven_api::event::ENVELOPE_VERSION,
        pid: std::process::id(),
    })
}

pub(super) async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi::text()).into_response()
}

pub(super) async fn shutdown(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    MayRead(shutdown): MayRead<ShutdownRequest>,
) -> Done {
    tracing::info!(by = caller.name(), stop_agents = shutdown.stop_agents, "told to stop");
    daemon.service.stop(shutdown.stop_agents);
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn status(State(daemon): State<Daemon>) -> Json<StatusResponse> {
    let address = daemon.address().map(|address| address.to_string());
    let lost_port = daemon.lost_port();
    Json(StatusResponse { address, lost_port, ..daemon.service.status().await })
}

/// `POST /base-dirs`: lets a folder be known, with its sessions, from now on.
pub(super) async fn open_base_dir(
    State(daemon): State<Daemon>,
    JsonBody(open): JsonBody<OpenBaseDir>,
) -> Answer<BaseDirStatus> {
    Ok(Json(daemon.service.open_base_dir(&open).await?))
}

pub(super) async fn metrics(State(daemon): State<Daemon>) -> Response {
    let text = daemon.service.metrics_text().await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
