//! What an agent is doing, and the evidence for it.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ContentDigest, ModelRetry};

/// What an agent is doing.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum AgentState {
    /// Started, and nothing known yet.
    #[default]
    Starting,
    /// Thinking, writing, running a tool.
    Working,
    /// Ready for the next message.
    Idle,
    /// Asks something and goes on only when answered.
    Awaiting,
    /// Reports that it cannot go on.
    Error,
    /// Its process has ended.
    Exited,
    /// Nothing we know fits what it shows.
    Unknown,
}

impl AgentState {
    /// The name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Awaiting => "awaiting",
            Self::Error => "error",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for AgentState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What kind of answer an agent waits for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum AwaitingKind {
    /// Whether it may do something.
    Approval,
    /// It asks for a text.
    Question,
    /// One of several entries.
    Choice,
    /// A dialog of the program itself: trust, sign-in, updates.
    Dialog,
}

impl AwaitingKind {
    /// The name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Question => "question",
            Self::Choice => "choice",
            Self::Dialog => "dialog",
        }
    }
}

impl fmt::Display for AwaitingKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Where a piece of evidence comes from.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceSource {
    /// The program's own protocol, or what it reported by itself.
    Channel,
    /// The program's own status signal (OSC 7501).
    Signal,
    /// The window title that the program set.
    Title,
    /// A rule that matched the screen.
    Screen,
    /// No rule of the adapter, but something on the screen that means the same in any program: a
    /// menu, a question for yes or no.
    Generic,
    /// Structured output of a headless run.
    Transcript,
    /// Nothing was printed for a while.
    Quiet,
    /// The process started or ended.
    Process,
}

/// Why we think so.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictEvidence {
    /// Where it was seen.
    pub source: EvidenceSource,
    /// The rule that decided, by the name it has in the adapter file.
    pub rule: String,
    /// The part of the screen that was looked at, as written in the rule; or `title`, `signal`, `hook`.
    pub region: String,
    /// The text that matched, with a little around it.
    pub text: String,
    /// When it was first seen, in milliseconds since the agent's start.
    pub since: u64,
    /// What other sources say instead. A process that the agent started can write to its terminal
    /// too, so that no source alone is believed that the work is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<EvidenceConflict>,
}

/// With what the names begin that stand in the place of a rule where none of an adapter's decided,
/// but what means the same in any program.
const GENERIC_PREFIX: &str = "generic:";

/// Whether a rule by this name is none of an adapter, but one of those for any program.
pub fn is_generic_rule(rule: &str) -> bool {
    rule.starts_with(GENERIC_PREFIX)
}

/// With what the names begin that stand in the place of a rule where the program reported by itself
/// what it does.
pub const REPORT_PREFIX: &str = "hook:";

/// Whether a rule by this name is an event that the program reported by itself.
pub fn is_report_rule(rule: &str) -> bool {
    rule.starts_with(REPORT_PREFIX)
}

/// A source that says something else than the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceConflict {
    /// Where it was seen.
    pub source: EvidenceSource,
    /// What it says the agent is doing.
    pub state: AgentState,
    /// The text that says so.
    pub text: String,
}

impl VerdictEvidence {
    /// How old the evidence is at `now`, a time since the agent's start.
    pub fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_millis(self.since))
    }
}

/// What an agent is doing, and why we think so.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentVerdict {
    /// What it is doing.
    pub state: AgentState,
    /// What it waits for, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<AwaitingKind>,
    /// What the verdict was read from.
    pub evidence: VerdictEvidence,
    /// Binds an answer to this question, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<ContentDigest>,
    /// The attempt to reach its model that it is at, while it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Box<ModelRetry>>,
}
