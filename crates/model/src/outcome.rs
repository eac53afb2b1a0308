//! How one attempt at a job ended.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelRetry, TokenUsage};

/// How a process ended, as the system told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum ProcessEnding {
    /// It exited with this code.
    Exited {
        /// The exit code of the process.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// The number of the signal that ended it.
        signal: i32,
    },
    /// It was stopped because its time was up.
    TimedOut,
    /// It was stopped on purpose.
    Stopped,
    /// It could not be started.
    NotStarted,
    /// It is still there: the task was completed without an exit.
    Alive,
    /// The process is gone and its exit status was not recorded.
    Lost,
}

impl fmt::Display for ProcessEnding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(formatter, "exit code {code}"),
            Self::Signalled { signal } => write!(formatter, "ended by signal {signal}"),
            Self::TimedOut => formatter.write_str("timed out"),
            Self::Stopped => formatter.write_str("stopped"),
            Self::NotStarted => formatter.write_str("could not be started"),
            Self::Alive => formatter.write_str("still running"),
            Self::Lost => formatter.write_str("lost"),
        }
    }
}

/// How one attempt ended, with everything that decided it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobOutcome {
    /// Whether the attempt counts as done. Decided by code, signal, timeout, the parsed result
    /// and denials together.
    pub ok: bool,
    /// How the process ended.
    pub ending: ProcessEnding,
    /// Why it counts as it does, in words.
    pub reason: String,
    /// The final answer of an agent, or the output of a command, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How many bytes of it are missing: it is longer than a value may be, or a full disk took none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// How many of those are nowhere, also on no tape: the disk had no room for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// What a command printed to its standard error, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// What was used up, where told.
    #[serde(default, skip_serializing_if = "TokenUsage::is_unknown")]
    pub usage: TokenUsage,
    /// What the agent was not allowed to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<String>,
    /// The id of the agent's own conversation, to resume it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// What changed in its working folder while it ran although it was not to change anything:
    /// each a path with what changed, and at the end how many more, if there are too many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<String>,
    /// The attempt to reach its model that the agent was at when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<ModelRetry>,
    /// Why the program cannot be spoken to in its own protocol, if that is what ended the attempt:
    /// it refused to begin, or ended before it agreed to. It was told nothing and has done nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_refused: Option<String>,
    /// Whether the agent did not go on with the conversation in which the attempt before died. It
    /// was told nothing and has done nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resume_refused: bool,
}

impl JobOutcome {
    /// What is said of output that is lost; nothing if none is.
    pub fn lost_words(&self) -> Option<String> {
        Some(self.lost).filter(|lost| *lost > 0).map(Self::lost_text)
    }

    /// What is said of so many bytes that are lost.
    pub fn lost_text(bytes: u64) -> String {
        format!("{bytes} bytes of what it printed are lost: the disk was full")
    }

    /// An outcome of which nothing else is known.
    pub fn new(ok: bool, ending: ProcessEnding, reason: impl Into<String>) -> Self {
        Self {
            ok,
            ending,
            reason: reason.into(),
            output: None,
            omitted: 0,
            lost: 0,
            stderr: None,
            usage: TokenUsage::default(),
            denials: Vec::new(),
            agent_session: None,
            touched: Vec::new(),
            retry: None,
            channel_refused: None,
            resume_refused: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
