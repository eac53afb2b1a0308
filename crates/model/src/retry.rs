//! An attempt to reach the model again, after one that failed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Another attempt of an agent to reach its model, as far as the agent tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRetry {
    /// Which attempt, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// How many there will be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// How long the agent waits before it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// The HTTP status of the attempt that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u64>,
    /// What the agent says about the attempt that failed. One line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl fmt::Display for ModelRetry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("retrying")?;
        match (self.attempt, self.max) {
            (Some(attempt), Some(max)) => write!(formatter, " {attempt} of {max}")?,
            (Some(attempt), None) => write!(formatter, ", attempt {attempt}")?,
            (None, _) => {}
        }
        match (self.status, &self.reason) {
            (Some(status), Some(reason)) => write!(formatter, ": {status} {reason}"),
            (Some(status), None) => write!(formatter, ": {status}"),
            (None, Some(reason)) => write!(formatter, ": {reason}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_told() {
        let full = ModelRetry {
            attempt: Some(7),
            max: Some(10),
            delay_ms: Some(500),
            status: Some(500),
            reason: Some("server_error".to_owned()),
        };
        assert_eq!(full.to_string(), "retrying 7 of 10: 500 server_error");
        let short = ModelRetry { reason: None, ..full.clone() };
        assert_eq!(short.to_string(), "retrying 7 of 10: 500");
        let open = ModelRetry { max: None, status: None, ..full };
        assert_eq!(open.to_string(), "retrying, attempt 7: server_error");
        assert_eq!(ModelRetry::default().to_string(), "retrying");
    }
}
