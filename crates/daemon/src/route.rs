//! What is asked and answered, a file for each part of the API. The list of routes is
//! `coven_api::route::ROUTES`; a test holds this router against it.

mod catalogue;
mod changes;
pub(crate) mod device;
mod event;
mod import;
mod intervention;
mod look;
mod page;
mod policy;
mod report;
mod system;
mod task;
mod tree;
mod trust;
mod workflow;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::{delete, get, post};
use coven_api::{ApiProblem, ProblemCode, openapi};
use coven_service::text::printable;

use crate::answer::respond;
use crate::state::Daemon;

/// Everything that is answered at once.
pub(crate) fn routes() -> Router<Daemon> {
    Router::new()
        .route("/workflows", get(workflow::list).post(workflow::start))
        .route("/workflows/{id}", get(workflow::show).delete(workflow::cancel))
        .route("/workflows/{id}/outputs", get(look::outputs))
        .route("/workflows/{id}/resume", post(workflow::resume))
        .route("/workflows/{id}/retry", post(workflow::retry))
        .route("/workflows/{id}/purge", post(workflow::purge))
        .route("/workflows/{id}/tasks/{task}/screen", get(look::screen))
        .route("/workflows/{id}/tasks/{task}/output", get(look::output))
        .route("/workflows/{id}/tasks/{task}/log", get(look::log))
        .route("/workflows/{id}/tasks/{task}/recording", get(look::recording))
        .route("/workflows/{id}/tasks/{task}/explain", get(look::explain))
        .route("/workflows/{id}/tasks/{task}/input", post(task::input))
        .route("/workflows/{id}/tasks/{task}/resize", post(task::resize))
        .route("/workflows/{id}/tasks/{task}/interrupt", post(task::interrupt))
        .route("/workflows/{id}/tasks/{task}/complete", post(task::complete))
        .route("/workflows/{id}/tasks/{task}/stop", post(task::stop))
        .route("/workflows/{id}/tasks/{task}/changes", get(changes::list))
        .route("/workflows/{id}/tasks/{task}/changes/file", get(changes::file))
        .route("/workflows/{id}/tasks/{task}/changes/patch", get(changes::patch))
        .route("/workflows/{id}/tasks/{task}/comments", get(changes::comments))
        .route("/workflows/{id}/tasks/{task}/review", post(changes::review))
        .route("/workflows/{id}/trees", get(tree::of_workflow))
        .route("/workflows/{id}/merge", post(tree::merge))
        .route("/trees", get(tree::list))
        .route("/trees/prune", post(tree::prune))
        .route("/trees/restore", post(tree::restore))
        .route("/hook/{session}/{task}/{attempt}", post(report::take))
        .route("/interventions", get(intervention::list))
        .route("/interventions/{session}/{number}", post(intervention::decide))
        .route("/grimoires", get(catalogue::grimoires))
        .route("/grimoires/check", post(catalogue::check))
        .route("/grimoires/{name}", get(catalogue::grimoire))
        .route("/adapters", get(catalogue::adapters))
        .route("/events", post(event::post))
        .route("/policy", get(policy::show).post(policy::accept))
        .route("/trust", get(trust::show).post(trust::set))
        .route("/import", get(import::list).post(import::take))
        .route("/sign-in/codes", post(device::code))
        .route("/sign-in/challenge", post(device::challenge))
        .route("/sign-in", post(device::sign_in))
        .route("/devices", get(device::list).post(device::add))
        .route("/devices/{name}", delete(device::remove))
        .route("/status", get(system::status))
        .route("/base-dirs", post(system::open_base_dir))
        .route("/shutdown", post(system::shutdown))
        .route("/health", get(system::health))
        .route("/version", get(system::version))
        .route("/metrics", get(system::metrics))
        .route("/openapi.json", get(system::document))
}

/// How many bytes of an unknown path are shown again.
const MAX_SHOWN_PATH: usize = 200;

/// What no route is for: a file of the page, or nothing.
pub(crate) async fn page_or_not_found(request: Request) -> Response {
    let path = request.uri().path();
    if let Some(file) = page::file(request.method(), path) {
        return file;
    }
    let shown = printable(&path[..path.floor_char_boundary(MAX_SHOWN_PATH)]);
    let detail = format!("there is nothing at `{shown}`");
    respond(
        &ApiProblem::new(ProblemCode::NotFound, detail)
            .with_hint("`GET /openapi.json` lists everything"),
    )
}

/// What a route cannot be asked to do.
pub(crate) async fn method_not_allowed(request: Request) -> Response {
    let matched = request.extensions().get::<axum::extract::MatchedPath>();
    let allowed = matched.map(|path| openapi::allowed(path.as_str())).unwrap_or_default();
    let names: Vec<&str> = allowed.into_iter().map(coven_api::route::HttpMethod::as_str).collect();
    let names = names.join(", ");
    let method = printable(request.method().as_str());
    let detail = format!("{method} is not possible here");
    let mut response = respond(
        &ApiProblem::new(ProblemCode::MethodNotAllowed, detail)
            .with_hint(format!("there is {names}")),
    );
    if let Ok(value) = HeaderValue::from_str(&names) {
        response.headers_mut().insert(header::ALLOW, value);
    }
    response
}
