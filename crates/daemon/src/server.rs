//! The router: every route, and what happens around each request.

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use coven_api::{ApiProblem, ProblemCode};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use tracing::Instrument;
use uuid::Uuid;

use crate::answer::{LoggedProblem, respond};
use crate::auth::authenticate;
use crate::secret::has_token;
use crate::state::Daemon;
use crate::{route, stream};

/// Names a request, in and out.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest name that a client may give a request.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// Every route with everything around it.
pub(crate) fn router(daemon: Daemon) -> Router {
    Router::new()
        .merge(route::routes())
        .merge(stream::routes())
        .fallback(route::page_or_not_found)
        .method_not_allowed_fallback(route::method_not_allowed)
        .layer(middleware::from_fn_with_state(daemon.clone(), authenticate))
        .layer(middleware::from_fn_with_state(daemon.clone(), around))
        .with_state(daemon)
}

/// How many bytes of a path are logged.
const MAX_LOGGED_PATH: usize = 200;

/// Names the request, answers for what panics, writes the log, counts.
async fn around(State(daemon): State<Daemon>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id(&request);
    let (method, path) = (request.method().clone(), logged_path(request.uri().path()));
    let head = method == axum::http::Method::HEAD;
    let span = tracing::info_span!("request", id = %id);
    let ran = AssertUnwindSafe(next.run(request)).catch_unwind().instrument(span.clone()).await;
    let mut response = ran.unwrap_or_else(|_| {
        respond(&ApiProblem::new(ProblemCode::Internal, "the request could not be carried through"))
    });
    let told = response.extensions_mut().remove::<LoggedProblem>();
    if let Some(LoggedProblem(mut problem)) = told.clone() {
        problem.request_id = Some(id.clone());
        if !head {
            *response.body_mut() = Body::from(serde_json::to_vec(&problem).unwrap_or_default());
        }
    }
    guard(&mut response);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let status = response.status().as_u16();
    daemon.service.metrics().request(method.as_str(), status, begun.elapsed());
    span.in_scope(|| match told {
        Some(LoggedProblem(problem)) if status >= 500 => {
            tracing::error!("{method} {path} {status} {}: {}", problem.code, problem.detail);
        }
        Some(LoggedProblem(problem)) => {
            tracing::info!("{method} {path} {status} {}: {}", problem.code, problem.detail);
        }
        // Agents report several times a turn.
        None if path.starts_with("/hook/") => tracing::debug!("{method} {path} {status}"),
        None if method == axum::http::Method::GET => tracing::debug!("{method} {path} {status}"),
        None => tracing::info!("{method} {path} {status}"),
    });
    response
}

/// A path as the log has it: not long, and without a token that a client may have put there.
fn logged_path(path: &str) -> String {
    if has_token(path) {
        return "(a path with a token)".to_owned();
    }
    let end = path.floor_char_boundary(MAX_LOGGED_PATH);
    if end < path.len() { format!("{}…", &path[..end]) } else { path.to_owned() }
}

/// The client's own name for the request if it has a decent one.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(&REQUEST_ID).and_then(|id| id.to_str().ok());
    let decent = |id: &&str| {
        (1..=MAX_REQUEST_ID_BYTES).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    given.filter(decent).map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

/// Headers that every answer has: nothing is guessed, kept or shown `page_or_not_found`.
fn guard(response: &mut Response) {
    let headers = response.headers_mut();
    let always = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
