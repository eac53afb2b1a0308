//! What every WebSocket has: which conversation it is, how large a message may be, how long it may
//! be silent.

use std::time::Duration;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::HeaderMap;
use coven_api::{ApiProblem, ProblemCode};
use coven_service::text::printable;

/// How often a client is asked whether it is still there.
pub(super) const PING_INTERVAL: Duration = Duration::from_secs(15);

/// How long a client may neither say nor take anything.
pub(super) const CLIENT_TIMEOUT: Duration = Duration::from_mins(1);

/// How long the last words to a client may take; a daemon that stops waits for them.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest message that is taken. A client sends a longer paste in pieces.
pub(super) const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// A WebSocket that is to speak this subprotocol. A client that asks for another, or for none, may
/// mean another version; and a token that stands among the subprotocols is never sent back.
pub(super) fn subprotocol_upgrade(
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    subprotocol: &'static str,
) -> Result<WebSocketUpgrade, ApiProblem> {
    let hint = format!("open a WebSocket with the subprotocol `{subprotocol}`");
    let upgrade = upgrade.map_err(|rejection| {
        ApiProblem::new(ProblemCode::UpgradeRequired, rejection.body_text()).with_hint(&hint)
    })?;
    let upgrade = upgrade.protocols([subprotocol]);
    if upgrade.selected_protocol().is_none() {
        let detail = format!("the subprotocol `{subprotocol}` is not among those asked for");
        return Err(ApiProblem::new(ProblemCode::BadRequest, detail).with_hint(hint));
    }
    Ok(upgrade.max_message_size(MAX_MESSAGE_BYTES).max_frame_size(MAX_MESSAGE_BYTES))
}

/// What other viewers are told about a new one: the program, as it calls itself.
pub(super) fn name(headers: &HeaderMap) -> String {
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok());
    let agent = agent.unwrap_or_default();
    // Every browser calls itself by this name first.
    if agent.starts_with("Mozilla/") {
        return "the page".to_owned();
    }
    let name: String = printable(agent).chars().take(40).collect();
    if name.trim().is_empty() { "a viewer".to_owned() } else { name }
}
