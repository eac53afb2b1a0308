//! Results that may fail without harm, logged instead of dropped.

use std::fmt::Debug;

/// Takes the result of something whose failure changes nothing that matters, and logs it.
pub(crate) fn best_effort<T, E: Debug>(what: &str, result: Result<T, E>) {
    if let Err(error) = result {
        tracing::debug!(?error, "could not {what}");
    }
}
