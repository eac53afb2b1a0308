//! Results that may fail without harm, logged instead of dropped.

use std::fmt::Display;

/// Takes the result of something whose failure changes nothing that matters, and logs a failure.
/// `what` completes the sentence "could not …".
pub fn best_effort<T, E: Display>(what: &str, result: Result<T, E>) {
    if let Err(error) = result {
        tracing::debug!("could not {what}: {error}");
    }
}
