//! What is noted on the tape when an agent does something else, so that the next process that
//! follows the agent knows since when, and which question it was.

use std::time::{SystemTime, UNIX_EPOCH};

use coven_model::{AgentState, AgentVerdict, AwaitingKind, ContentDigest, Timestamp};
use serde::{Deserialize, Serialize};

/// One note. Older ones know less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateMark {
    /// What the agent was doing.
    pub(crate) state: AgentState,
    /// What it waited for.
    pub(crate) kind: Option<AwaitingKind>,
    /// By which rule that was seen.
    rule: String,
    /// How many questions it had asked.
    pub(crate) asked: Option<u64>,
    /// Its question, if it asked one.
    pub(crate) digest: Option<ContentDigest>,
    /// Since when it did that.
    pub(crate) since: Option<Timestamp>,
    /// When the agent was started.
    pub(crate) started: Option<Timestamp>,
}

impl StateMark {
    /// The note for a verdict.
    pub(crate) fn of(
        verdict: &AgentVerdict,
        asked: u64,
        since: Timestamp,
        started: Timestamp,
    ) -> Self {
        Self {
            state: verdict.state,
            kind: verdict.kind,
            rule: verdict.evidence.rule.clone(),
            asked: Some(asked),
            digest: verdict.digest.clone(),
            since: Some(since),
            started: Some(started),
        }
    }

    /// Reads a note; nothing if it is of another kind.
    pub(crate) fn read(note: &str) -> Option<Self> {
        serde_json::from_str(note).ok()
    }

    /// As it is noted.
    pub(crate) fn text(&self) -> String {
        // It has nothing that could not be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether the agent still does what it did then, as far as one can tell.
    pub(crate) fn is_of(&self, verdict: &AgentVerdict) -> bool {
        (self.state, self.kind, &self.digest) == (verdict.state, verdict.kind, &verdict.digest)
    }
}

/// The time of day, for records.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
