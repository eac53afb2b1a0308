//! What is noted on the tape of an agent when it does something else.

use serde::{Deserialize, Serialize};

use crate::{AgentState, AgentVerdict, AwaitingKind, ContentDigest, Timestamp};

/// One note on a tape: what the agent was doing from there on. The next process that follows the
/// agent knows by it since when, and which question it was; `coven audit` reads all of them. Older
/// notes know less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateMark {
    /// What the agent was doing.
    pub state: AgentState,
    /// What it waited for.
    pub kind: Option<AwaitingKind>,
    /// By which rule that was seen.
    pub rule: String,
    /// How many questions it had asked.
    pub asked: Option<u64>,
    /// Its question, if it asked one.
    pub digest: Option<ContentDigest>,
    /// Since when it did that.
    pub since: Option<Timestamp>,
    /// When the agent was started.
    pub started: Option<Timestamp>,
    /// How long it may take to start, in milliseconds, where its adapter says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_bound: Option<u64>,
}

impl StateMark {
    /// The note for a verdict.
    pub fn of(verdict: &AgentVerdict, asked: u64, since: Timestamp, started: Timestamp) -> Self {
        Self {
            state: verdict.state,
            kind: verdict.kind,
            rule: verdict.evidence.rule.clone(),
            asked: Some(asked),
            digest: verdict.digest.clone(),
            since: Some(since),
            started: Some(started),
            start_bound: None,
        }
    }

    /// Reads a note; nothing if it is of another kind.
    pub fn read(note: &str) -> Option<Self> {
        serde_json::from_str(note).ok()
    }

    /// As it is noted.
    pub fn text(&self) -> String {
        // It has nothing that could not be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether the agent still does what it did then, as far as one can tell.
    pub fn is_of(&self, verdict: &AgentVerdict) -> bool {
        (self.state, self.kind, &self.digest) == (verdict.state, verdict.kind, &verdict.digest)
    }

    /// Whether two notes say that the agent does the same.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.state, self.kind, &self.digest) == (other.state, other.kind, &other.digest)
    }
}
