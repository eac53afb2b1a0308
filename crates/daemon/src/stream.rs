//! Everything that goes on for longer than one answer: events as they happen (`sse`), what
//! agents say (`transcript`), terminals (`attach`), and the conversation of interfaces (`ipc`).
//!
//! None of them can slow an agent. Each follower reads at its own pace; one that is too slow is
//! told so, and goes on from the journal or from a new picture of the screen.

mod attach;
mod followers;
mod ipc;
mod keyboard;
mod outbox;
mod socket;
mod sse;
mod transcript;
mod viewer;

use axum::Router;
use axum::extract::Extension;
use axum::routing::get;

use self::followers::StreamLimits;
use crate::state::Daemon;

/// The routes of what goes on. They share one count of followers and one keyboard for each
/// terminal, so they are made once for all listeners.
pub(crate) fn routes() -> Router<Daemon> {
    Router::new()
        .route("/workflows/{id}/events", get(sse::session))
        .route("/events", get(sse::everything))
        .route("/workflows/{id}/tasks/{task}/transcript", get(transcript::transcript))
        .route("/workflows/{id}/tasks/{task}/attach", get(attach::attach))
        .route("/ipc", get(ipc::ipc))
        .layer(Extension(StreamLimits::new()))
}
