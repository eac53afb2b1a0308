//! What time it is.

use std::time::{SystemTime, UNIX_EPOCH};

use coven_model::Timestamp;

/// What time it is.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
