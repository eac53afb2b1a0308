//! What one job is, resolved so far that only launching it is left: prompts are texts, variables
//! are filled in. How the adapter's program is called is the runner's business.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{AgentMode, JobId, JobTree, PermissionLevel, TerminalSize, TokenUsage};

/// How far a job is confined.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// The process is not confined.
    #[default]
    Off,
    /// It writes only to its own scratch folder and to what its program cannot do without.
    ReadOnly,
    /// As `ReadOnly`, and it may write below its working folder.
    Workspace,
}

impl SandboxMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
    fn is_off(&self) -> bool {
        *self == Self::Off
    }

    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
        }
    }
}

/// Which exit codes count as success. In files: `any`, or a list of codes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExitCodes {
    /// Whatever the code is.
    Any,
    /// These and no others.
    Only(BTreeSet<i32>),
}

impl ExitCodes {
    /// Whether this code counts as success.
    pub fn accept(&self, code: i32) -> bool {
        match self {
            Self::Any => true,
            Self::Only(codes) => codes.contains(&code),
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for ExitCodes {
    fn default() -> Self {
        Self::Only(BTreeSet::from([0]))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenCodes {
    Word(AnyWord),
    List(BTreeSet<i32>),
}

#[derive(Serialize, Deserialize)]
enum AnyWord {
    #[serde(rename = "any")]
    Any,
}

impl Serialize for ExitCodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Any => AnyWord::Any.serialize(serializer),
            Self::Only(codes) => codes.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ExitCodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match WrittenCodes::deserialize(deserializer)? {
            WrittenCodes::Word(AnyWord::Any) => Self::Any,
            WrittenCodes::List(codes) => Self::Only(codes),
        })
    }
}

/// What a job is kept from where its sandbox is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfineMode {
    /// From nothing. It may use `sudo`.
    Off,
    /// From signalling processes that are not its own, and from their abstract sockets.
    Signals,
    /// From writing files as well: the sandbox `workspace`, where the step names none.
    Files,
}

impl ConfineMode {
    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Signals => "signals",
            Self::Files => "files",
        }
    }
}

/// One job, ready to be launched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobSpec {
    /// Which job. Starting the same job twice starts it once.
    pub job: JobId,
    /// The step it belongs to.
    pub step: String,
    /// What people call it.
    pub name: String,
    /// What the job does: run an agent or a command.
    pub work: JobWork,
    /// The tree it works in, if it does not work in the base directory itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Box<JobTree>>,
    /// The folder it works in; relative ones start at the session's base directory, or at what
    /// stands for it in the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What is added to its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How long it may take, from its start.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::time::millis::maybe")]
    pub timeout: Option<Duration>,
    /// Which exit codes count as success.
    #[serde(default, skip_serializing_if = "ExitCodes::is_default")]
    pub ok_exit_codes: ExitCodes,
    /// How far it is confined.
    #[serde(default, skip_serializing_if = "SandboxMode::is_off")]
    pub sandbox: SandboxMode,
    /// What it is kept from without a sandbox, where its step says it. Otherwise agents that may not
    /// do everything are kept from signalling others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<ConfineMode>,
    /// The person who let its step start, where the step asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// The domain in which its process is started, where its step names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The size of its terminal, where its step says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<TerminalSize>,
}

/// What a job does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum JobWork {
    /// Runs an agent CLI through its adapter.
    Agent(AgentWork),
    /// Runs a command in a shell.
    Shell(ShellWork),
}

impl JobWork {
    /// Whether the job is an agent with a terminal and a conversation.
    pub fn is_interactive(&self) -> bool {
        matches!(self, Self::Agent(agent) if agent.mode == AgentMode::Interactive)
    }
}

/// An agent to run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentWork {
    /// The type of the adapter, such as `claude`.
    pub adapter: String,
    /// With a terminal, or with one prompt and no questions.
    pub mode: AgentMode,
    /// The model, if one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it may do without asking; nothing means the adapter's default for the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionLevel>,
    /// Arguments behind those of the adapter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<String>,
    /// Whether the adapter's policy may answer for a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_approve: bool,
    /// What it is told at launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Whether it stays when its task is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_alive: bool,
    /// Whether it is spoken to in its own protocol without a terminal, where it has one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub channel: bool,
    /// Why it is not spoken to in that protocol all the same: its program refused it in an earlier
    /// attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_channel: Option<String>,
    /// What a further round of a loop has of the round before, if its step wants the conversation
    /// to be continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<RoundContext>,
    /// What a person has to say about what the attempt before did, if this one begins with that. Where
    /// its conversation is gone on with, the agent is told this alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
}

/// The conversation of a round of a loop whose step wants each round to continue that of the round
/// before.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", rename_all_fields = "camelCase", tag = "how")]
pub enum RoundContext {
    /// The round continues this conversation.
    Continue {
        /// The agent's own id of it.
        conversation: String,
        /// What was used up in it before.
        #[serde(default, skip_serializing_if = "TokenUsage::is_unknown")]
        used: TokenUsage,
    },
    /// The round begins afresh all the same.
    Fresh {
        /// Why it cannot continue.
        reason: String,
    },
}

impl std::fmt::Display for RoundContext {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Continue { .. } => {
                formatter.write_str("it continues the conversation of the round before")
            }
            Self::Fresh { reason } => write!(formatter, "it begins afresh: {reason}"),
        }
    }
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellWork {
    /// The text for the shell. Variables are references to its environment.
    pub text: String,
    /// The shell and its arguments, before the text; nothing means the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Vec<String>>,
    /// The values the text refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(String, String)>,
    /// Values that do not fit into an environment. The shell reads them from files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileVariable>,
}

/// A value that a command is handed in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileVariable {
    /// What the text calls it, such as `COVEN_V1`.
    pub variable: String,
    /// What the definition calls it, such as `input.spec`.
    pub name: String,
    /// The value itself.
    pub value: String,
}

/// How bash is to run a command: a failure anywhere is a failure, and so is an unset variable.
const BASH: [&str; 4] = ["bash", "-euo", "pipefail", "-c"];
const SH: [&str; 3] = ["sh", "-eu", "-c"];

impl ShellWork {
    /// The usual shell and its arguments, before the text.
    pub fn usual_shell(has_bash: bool) -> impl Iterator<Item = &'static str> {
        let words: &'static [&'static str] = if has_bash { &BASH } else { &SH };
        words.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_any_or_a_list_and_zero_alone_unless_said() {
        assert_eq!(serde_json::from_str::<ExitCodes>("\"any\"").unwrap(), ExitCodes::Any);
        let some: ExitCodes = serde_json::from_str("[0, 3]").unwrap();
        assert!(some.accept(3) && !some.accept(1));
        assert_eq!(serde_json::to_string(&some).unwrap(), "[0,3]");
        assert!(serde_json::from_str::<ExitCodes>("\"all\"").is_err());
        assert!(ExitCodes::default().accept(0) && !ExitCodes::default().accept(1));
    }
}
