//! How an agent is to be run: in which mode and with which permission.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a program gets a terminal and a conversation, or one prompt and no questions.
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
#[serde(rename_all = "kebab-case")]
pub enum AgentMode {
    /// On a pseudo-terminal, as a person would use it.
    #[default]
    Interactive,
    /// One prompt, structured output, no terminal.
    Headless,
}

impl AgentMode {
    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Headless => "headless",
        }
    }
}

impl fmt::Display for AgentMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What an agent may do without asking, from least to most.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionLevel {
    /// Look, and change nothing.
    ReadOnly,
    /// Ask before every change and command.
    Ask,
    /// Edit files, ask before commands.
    Edits,
    /// Everything is allowed without asking.
    All,
}

impl PermissionLevel {
    /// All levels, from least to most.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Ask, Self::Edits, Self::All];

    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::All => "all",
        }
    }
}

impl fmt::Display for PermissionLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What the program of an adapter can be asked for, as far as definitions are held against it before
/// anything runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdapterAbilities {
    /// The program that is started.
    pub command: String,
    /// The modes it has, with the permission levels that can be granted in each.
    pub modes: BTreeMap<AgentMode, Vec<PermissionLevel>>,
    /// Whether what an agent on a terminal answered is told apart from the rest of its screen.
    pub reads_answers: bool,
    /// Whether it has a protocol of its own, in which it can be spoken to without a terminal.
    pub has_channel: bool,
    /// The modes in which it can go on with a conversation, without speaking that protocol.
    pub resumes: BTreeSet<AgentMode>,
    /// Why no run in a mode can work with the adapter's files.
    pub faults: BTreeMap<AgentMode, AdapterFault>,
}

/// What is wrong with the files of an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterFault {
    /// The code of the problem.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}
