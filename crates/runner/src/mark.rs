//! The wall clock that the notes on an agent's tape are written by.

use std::time::{SystemTime, UNIX_EPOCH};

use coven_model::Timestamp;

/// The time of day, for records.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
