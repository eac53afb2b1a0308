//! The daemon itself.

use std::collections::BTreeMap;
use std::time::Instant;

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use coven_api::system::{
    BaseDirStatus, HealthResponse, OpenBaseDir, ShutdownRequest, SignIn, SignInCode, SignedIn,
    SlotCounts, StatusResponse, VersionResponse,
};
use coven_api::{API_VERSION, Code, Problem, openapi};

use crate::answer::{Answer, Done, Failure, Json, MayRead, Read};
use crate::house::House;
use crate::peer::{Caller, Via};

/// `GET /health`.
pub(super) async fn health(State(house): State<House>) -> Json<HealthResponse> {
    let status = if house.stopping().is_cancelled() { "stopping" } else { "ok" };
    Json(HealthResponse { status: status.to_owned() })
}

/// `GET /version`.
pub(super) async fn version() -> Json<VersionResponse> {
    Json(VersionResponse {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: API_VERSION,
        events: coven_api::event::ENVELOPE_VERSION,
        pid: std::process::id(),
    })
}

/// `GET /openapi.json`.
pub(super) async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi::text()).into_response()
}

/// `POST /sign-in/codes`: only over the socket, whose peer is known.
pub(super) async fn code(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Failure> {
    if !matches!(caller.via, Via::Socket { .. }) {
        return Err(Problem::new(Code::Forbidden, "codes are given only over the socket").into());
    }
    let Some(address) = house.address() else {
        let detail = "the daemon does not listen on loopback, so there is no page";
        return Err(Problem::new(Code::NotNow, detail).into());
    };
    let code = house.sign_in().code(Instant::now())?.reveal().to_owned();
    let url = format!("http://127.0.0.1:{}/#code={code}", address.port());
    Ok((StatusCode::CREATED, Json(SignInCode { code, url })).into_response())
}

/// `POST /sign-in`.
pub(super) async fn sign_in(
    State(house): State<House>,
    Read(sign_in): Read<SignIn>,
) -> Answer<SignedIn> {
    house.sign_in().exchange(&sign_in.code, Instant::now())?;
    Ok(Json(SignedIn { token: house.token().reveal().to_owned() }))
}

/// `POST /shutdown`.
pub(super) async fn shutdown(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    MayRead(shutdown): MayRead<ShutdownRequest>,
) -> Done {
    tracing::info!(by = caller.name(), stop_agents = shutdown.stop_agents, "told to stop");
    house.stop(shutdown.stop_agents);
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /status`.
pub(super) async fn status(State(house): State<House>) -> Json<StatusResponse> {
    let (sessions, agents, slots, waiting) =
        (BTreeMap::new(), BTreeMap::new(), SlotCounts::default(), 0);
    let places = &house.options().places;
    let mut status = StatusResponse {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        since: house.since(),
        memory_bytes: memory(),
        socket: places.socket().display().to_string(),
        address: house.address().map(|address| address.to_string()),
        log: places.log().display().to_string(),
        sessions,
        agents,
        slots,
        waiting,
        base_dirs: Vec::new(),
    };
    // What is being opened is not waited for: who asks how it stands wants to know now.
    for base in house.bases() {
        let mut known = BaseDirStatus {
            path: base.path().display().to_string(),
            sessions: 0,
            trusted: base.trusted(),
            problem: base.problem().map(|problem| problem.detail),
        };
        let sessions = base.sessions_now(&house).await;
        if let Some(sessions) = &sessions {
            let entries = sessions.list();
            known.sessions = entries.len() as u64;
            for entry in entries.into_iter().filter(|entry| !entry.foreign) {
                *status.sessions.entry(entry.status.as_str().to_owned()).or_default() += 1;
                if entry.status.is_final() && !entry.kept {
                    continue;
                }
                for (_, verdict) in sessions.verdicts(&entry.id).await {
                    *status.agents.entry(verdict.state.as_str().to_owned()).or_default() += 1;
                }
            }
        }
        if let Some(orchestrator) = base.now() {
            let load = orchestrator.load();
            status.slots.running += load.running as u64;
            status.slots.queued += load.queued as u64;
            status.slots.limit += load.slots as u64;
            status.waiting += orchestrator.interventions().await.len() as u64;
        }
        status.base_dirs.push(known);
    }
    Json(status)
}

/// `POST /base-dirs`: lets a folder be known, with its sessions, from now on.
pub(super) async fn open_base_dir(
    State(house): State<House>,
    Read(open): Read<OpenBaseDir>,
) -> Answer<BaseDirStatus> {
    let base = house.base(&house.owned(std::path::Path::new(&open.base_dir))?)?;
    let orchestrator = base.orchestrator(&house).await?;
    Ok(Json(BaseDirStatus {
        path: base.path().display().to_string(),
        sessions: orchestrator.list().len() as u64,
        trusted: base.trusted(),
        problem: None,
    }))
}

/// `GET /metrics`.
pub(super) async fn metrics(State(house): State<House>) -> Response {
    let Json(status) = status(State(house.clone())).await;
    let numbers = house.numbers();
    for (name, count) in with_all(&status.sessions, &SESSIONS) {
        numbers.set("coven_sessions", &[("status", &name)], number(count));
    }
    for (name, count) in with_all(&status.agents, &AGENTS) {
        numbers.set("coven_agents", &[("state", &name)], number(count));
    }
    let slots = status.slots;
    for (name, count) in
        [("running", slots.running), ("queued", slots.queued), ("limit", slots.limit)]
    {
        numbers.set("coven_jobs", &[("state", name)], number(count));
    }
    numbers.set("coven_interventions_waiting", &[], number(status.waiting));
    numbers.set("coven_holders", &[], number(slots.running));
    numbers.set("coven_memory_bytes", &[], number(status.memory_bytes));
    let shut = status.base_dirs.iter().filter(|base| base.problem.is_some()).count();
    numbers.set("coven_base_dirs", &[("open", "no")], number(shut as u64));
    let open = status.base_dirs.len() - shut;
    numbers.set("coven_base_dirs", &[("open", "yes")], number(open as u64));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], numbers.text()).into_response()
}

const SESSIONS: [&str; 6] = ["pending", "running", "blocked", "completed", "failed", "cancelled"];
const AGENTS: [&str; 7] = ["starting", "working", "idle", "awaiting", "error", "exited", "unknown"];

/// Every name there is, so that a number that went back to nothing is not missing.
fn with_all(counts: &BTreeMap<String, u64>, names: &[&str]) -> Vec<(String, u64)> {
    let count = |name: &&str| ((*name).to_owned(), counts.get(*name).copied().unwrap_or(0));
    names.iter().map(count).collect()
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

/// What the daemon itself takes.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let resident = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    resident.unwrap_or(0) * rustix::param::page_size() as u64
}
