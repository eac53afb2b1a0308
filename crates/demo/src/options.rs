//! How one agent is started. The command line turns its arguments into this.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::helper::HelperProcess;

/// The model that answers if no other is named.
pub const DEFAULT_MODEL: &str = "demo-1";

/// How long the agent seems to wait for its model, if nothing else is said. Long enough to be
/// seen working, short enough not to bore.
pub const DEFAULT_DELAY: Duration = Duration::from_millis(300);

/// How one agent is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to do: text, directives, or both.
    pub prompt: Option<OsString>,
    /// Run one turn without a terminal's dialogs, even on a terminal.
    pub headless: bool,
    /// Speak the Agent Client Protocol on input and output. The client names the session and the
    /// prompts, so `prompt`, `resume` and `session_id` are not used.
    pub acp: bool,
    /// What a headless run prints.
    pub output_format: OutputFormat,
    /// What may be done without asking.
    pub permissions: PermissionMode,
    /// The session to go on with.
    pub resume: Option<String>,
    /// The id of the new session.
    pub session_id: Option<String>,
    /// The name the agent gives for its model.
    pub model: String,
    /// Directives that come before the prompt's.
    pub first: Option<String>,
    /// A file of directives that replace the prompt's.
    pub script: Option<PathBuf>,
    /// Use the alternate screen.
    pub alternate: bool,
    /// How long the agent seems to wait for its model, before each answer; only on a terminal.
    pub delay: Duration,
    /// Be a helper of another agent instead of an agent.
    pub helper: Option<HelperProcess>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prompt: None,
            headless: false,
            acp: false,
            output_format: OutputFormat::Text,
            permissions: PermissionMode::Ask,
            resume: None,
            session_id: None,
            model: DEFAULT_MODEL.to_owned(),
            first: None,
            script: None,
            alternate: false,
            delay: DEFAULT_DELAY,
            helper: None,
        }
    }
}

/// What a headless run prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    Text,
    /// One JSON object per line for everything that happens.
    StreamJson,
}

/// What may be done without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionMode {
    /// Nothing that changes anything, not even after asking.
    ReadOnly,
    /// Nothing; a person is asked. A headless run has no person to ask, which means no.
    Ask,
    /// Writing files; commands are asked for.
    Edits,
    All,
}

/// A word that is not among those it could be.
#[derive(Debug, thiserror::Error)]
#[error("{found:?} is none of {}", expected.join(", "))]
pub struct UnknownWord {
    found: String,
    expected: &'static [&'static str],
}

impl OutputFormat {
    /// All formats by name, in the order they are shown.
    pub const NAMES: &'static [&'static str] = &["text", "stream-json"];
}

impl FromStr for OutputFormat {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "text" => Ok(Self::Text),
            "stream-json" => Ok(Self::StreamJson),
            _ => Err(UnknownWord { found: text.to_owned(), expected: Self::NAMES }),
        }
    }
}

impl PermissionMode {
    /// All levels by name, in the order they are shown.
    pub const NAMES: &'static [&'static str] = &["read-only", "ask", "edits", "all"];

    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::All => "all",
        }
    }
}

impl FromStr for PermissionMode {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        [Self::ReadOnly, Self::Ask, Self::Edits, Self::All]
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| UnknownWord { found: text.to_owned(), expected: Self::NAMES })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_shown_can_be_given() {
        for name in PermissionMode::NAMES {
            assert_eq!(name.parse::<PermissionMode>().unwrap().name(), *name);
        }
        for name in OutputFormat::NAMES {
            name.parse::<OutputFormat>().unwrap();
        }
        let error = "yolo".parse::<PermissionMode>().unwrap_err();
        assert_eq!(error.to_string(), "\"yolo\" is none of read-only, ask, edits, all");
    }
}
