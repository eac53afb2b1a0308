//! Everything that goes on for longer than one answer: events as they happen (`sse`), terminals
//! (`attach`), and the conversation of interfaces (`ipc`).
//!
//! None of them can slow an agent. Each follower reads at its own pace; one that is too slow is
//! told so, and goes on from the journal or from a new picture of the screen.

mod attach;
mod envelope;
mod ipc;
mod keyboard;
mod outbox;
mod socket;
mod sse;
mod viewer;

use std::sync::Arc;

use axum::Router;
use axum::extract::Extension;
use axum::routing::get;
use coven_api::{Code, Problem};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::keyboard::Keyboards;
use crate::house::House;

/// How many may follow something at once. Each takes a connection and some memory.
const FOLLOWERS: usize = 1024;

/// What all followers share.
#[derive(Clone, Debug)]
struct Streams {
    places: Arc<Semaphore>,
    keyboards: Keyboards,
}

impl Streams {
    fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(FOLLOWERS)), keyboards: Keyboards::default() }
    }

    /// A place among the followers, which is given back when it is dropped.
    fn place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.places.clone().try_acquire_owned().map_err(|_| {
            Problem::new(Code::TooMany, format!("{FOLLOWERS} follow something already"))
                .with_hint("close a page or a client that is not needed")
        })
    }
}

/// The routes of what goes on. They share one count of followers and one keyboard for each
/// terminal, so they are made once for all listeners.
pub(crate) fn routes() -> Router<House> {
    Router::new()
        .route("/workflows/{id}/events", get(sse::session))
        .route("/events", get(sse::everything))
        .route("/workflows/{id}/tasks/{task}/attach", get(attach::attach))
        .route("/ipc", get(ipc::ipc))
        .layer(Extension(Streams::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_may_follow_and_a_place_that_is_left_is_free_again() {
        let streams = Streams::new();
        let mut places: Vec<_> = (0..FOLLOWERS).map(|_| streams.place().unwrap()).collect();
        assert_eq!(streams.place().unwrap_err().code, Code::TooMany);
        places.pop();
        assert!(streams.place().is_ok());
    }
}
