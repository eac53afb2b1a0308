//! How many clients may follow something at once, and who has which keyboard.

use std::sync::Arc;

use coven_api::{ApiProblem, ProblemCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::keyboard::Keyboards;

/// How many clients may follow something at once. Each takes a connection and some memory.
const MAX_FOLLOWERS: usize = 1024;

/// What all followers share.
#[derive(Clone, Debug)]
pub(super) struct StreamLimits {
    places: Arc<Semaphore>,
    pub(super) keyboards: Keyboards,
}

impl StreamLimits {
    pub(super) fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_FOLLOWERS)), keyboards: Keyboards::default() }
    }

    /// A place among the followers, which is given back when it is dropped.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, ApiProblem> {
        self.places.clone().try_acquire_owned().map_err(|_| {
            ApiProblem::new(
                ProblemCode::TooMany,
                format!("{MAX_FOLLOWERS} follow something already"),
            )
            .with_hint("close a page or a client that is not needed")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_may_follow_and_a_place_that_is_left_is_free_again() {
        let streams = StreamLimits::new();
        let mut places: Vec<_> = (0..MAX_FOLLOWERS).map(|_| streams.place().unwrap()).collect();
        assert_eq!(streams.place().unwrap_err().code, ProblemCode::TooMany);
        places.pop();
        assert!(streams.place().is_ok());
    }
}
