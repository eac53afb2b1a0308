//! The daemon itself.

use std::time::Instant;

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use coven_api::system::{
    BaseDirStatus, HealthResponse, OpenBaseDir, ShutdownRequest, SignIn, SignInCode, SignedIn,
    StatusResponse, VersionResponse,
};
use coven_api::{API_VERSION, ApiProblem, ProblemCode, openapi};

use crate::answer::{Answer, Done, HttpFailure, Json, JsonBody, MayRead};
use crate::peer::{Caller, PeerTransport};
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

/// `POST /sign-in/codes`: only over the socket, whose peer is known.
pub(super) async fn code(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, HttpFailure> {
    if !matches!(caller.via, PeerTransport::Socket { .. }) {
        return Err(ApiProblem::new(
            ProblemCode::Forbidden,
            "codes are given only over the socket",
        )
        .into());
    }
    let Some(address) = daemon.address() else {
        let detail = "the daemon does not listen on loopback, so there is no page";
        return Err(ApiProblem::new(ProblemCode::NotNow, detail).into());
    };
    let code = daemon.sign_in().code(Instant::now())?.reveal().to_owned();
    let url = format!("http://127.0.0.1:{}/#code={code}", address.port());
    Ok((StatusCode::CREATED, Json(SignInCode { code, url })).into_response())
}

pub(super) async fn sign_in(
    State(daemon): State<Daemon>,
    JsonBody(sign_in): JsonBody<SignIn>,
) -> Answer<SignedIn> {
    daemon.sign_in().exchange(&sign_in.code, Instant::now())?;
    Ok(Json(SignedIn { token: daemon.token().reveal().to_owned() }))
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
    Json(StatusResponse { address, ..daemon.service.status().await })
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
