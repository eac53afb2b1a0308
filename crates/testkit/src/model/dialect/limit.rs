//! How each vendor says that a usage limit is reached: the status, the headers that a CLI reads the
//! time from, and the body.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::ApiDialect;
use crate::model::http::HttpResponder;

pub(super) const STATUS: u16 = 429;

/// How long the limit lasts: longer than any CLI waits by itself.
const RESET_SECONDS: u64 = 7200;

pub(super) fn answer(dialect: ApiDialect, responder: &mut HttpResponder) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let reset = (now + RESET_SECONDS).to_string();
    let retry_after = ("retry-after", RESET_SECONDS.to_string());
    match dialect {
        ApiDialect::Messages => {
            let message = "This request would exceed your account's rate limit.";
            let body = json!({
                "type": "error", "error": {"type": "rate_limit_error", "message": message},
            });
            let rejected = || "rejected".to_owned();
            let headers = [
                retry_after,
                ("x-should-retry", "false".to_owned()),
                ("anthropic-ratelimit-unified-status", rejected()),
                ("anthropic-ratelimit-unified-reset", reset.clone()),
                ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
                ("anthropic-ratelimit-unified-5h-status", rejected()),
                ("anthropic-ratelimit-unified-5h-reset", reset),
                ("anthropic-ratelimit-unified-5h-utilization", "1.0".to_owned()),
            ];
            responder.json_with(STATUS, &headers, &body)
        }
        ApiDialect::Gemini => {
            let message = format!(
                "You exceeded your current quota, please check your plan and billing details. \
                 Please retry in {RESET_SECONDS}s."
            );
            let violation = json!({
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            });
            let details = json!([
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]},
                {
                    "@type": "type.googleapis.com/google.rpc.RetryInfo",
                    "retryDelay": format!("{RESET_SECONDS}s"),
                },
            ]);
            let error = json!({
                "code": STATUS, "message": message, "status": "RESOURCE_EXHAUSTED",
                "details": details,
            });
            responder.json_with(STATUS, &[], &json!({ "error": error }))
        }
        ApiDialect::Responses | ApiDialect::Chat => {
            let error = json!({
                "type": "usage_limit_reached", "message": "The usage limit has been reached",
                "plan_type": "plus", "resets_at": now + RESET_SECONDS,
                "resets_in_seconds": RESET_SECONDS,
            });
            let headers = [
                retry_after,
                ("x-codex-primary-used-percent", "100".to_owned()),
                ("x-codex-primary-window-minutes", "300".to_owned()),
                ("x-codex-primary-reset-at", reset),
            ];
            responder.json_with(STATUS, &headers, &json!({ "error": error }))
        }
    }
}
