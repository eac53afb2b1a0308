//! Which shape an agent's headless output has, by the name an adapter file gives it.

use std::fmt;
use std::str::FromStr;

use coven_notation::near;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shape of headless output: the value of `transcript` in an adapter file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TranscriptFormat {
    /// Claude Code's `stream-json`, and its `json`, which is the last line of it.
    ClaudeStreamJson,
    /// What `codex exec --json` prints.
    CodexJson,
    /// Gemini's `stream-json`, and its `json`, which is one document.
    GeminiStreamJson,
    /// What `opencode run --format json` prints.
    OpencodeJson,
    /// Qwen's `stream-json`: shaped like Claude's, counted like `OpenAI`'s.
    QwenStreamJson,
    /// What `copilot --output-format json` prints.
    CopilotJson,
    /// Any text. It has no result of its own, so the exit code alone decides.
    Text,
}

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown transcript format `{name}`{}; known are {}", suggestion(near), names())]
pub struct UnknownFormat {
    /// What was asked for.
    pub name: String,
    /// What may have been meant, best first.
    pub near: Vec<&'static str>,
}

impl TranscriptFormat {
    /// Every format there is.
    pub const ALL: [Self; 7] = [
        Self::ClaudeStreamJson,
        Self::CodexJson,
        Self::GeminiStreamJson,
        Self::OpencodeJson,
        Self::QwenStreamJson,
        Self::CopilotJson,
        Self::Text,
    ];

    /// Its name in an adapter file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeStreamJson => "claude-stream-json",
            Self::CodexJson => "codex-json",
            Self::GeminiStreamJson => "gemini-stream-json",
            Self::OpencodeJson => "opencode-json",
            Self::QwenStreamJson => "qwen-stream-json",
            Self::CopilotJson => "copilot-json",
            Self::Text => "text",
        }
    }

    /// Whether a run in this format says itself how it ended. Where it does, a run that does not
    /// say so has not succeeded, whatever its exit code.
    pub const fn has_result(self) -> bool {
        !matches!(self, Self::Text)
    }
}

impl fmt::Display for TranscriptFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for TranscriptFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.as_str() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str);
            let near = near(name, known.iter().copied());
            UnknownFormat { name: name.to_owned(), near }
        })
    }
}

fn suggestion(near: &[&str]) -> String {
    near.first().map(|best| format!(", did you mean `{best}`?")).unwrap_or_default()
}

fn names() -> String {
    TranscriptFormat::ALL.map(|format| format!("`{format}`")).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_text_and_as_json() {
        for format in TranscriptFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
            let json = serde_json::to_string(&format).unwrap();
            assert_eq!(json, format!("\"{format}\""));
            assert_eq!(serde_json::from_str::<TranscriptFormat>(&json).unwrap(), format);
        }
    }

    #[test]
    fn a_slip_is_told_with_what_was_meant_and_with_every_name() {
        let error = "gemini-steam-json".parse::<TranscriptFormat>().unwrap_err();
        assert_eq!(error.near, ["gemini-stream-json"]);
        assert_eq!(
            error.to_string(),
            "unknown transcript format `gemini-steam-json`, did you mean `gemini-stream-json`?; \
             known are `claude-stream-json`, `codex-json`, `gemini-stream-json`, `opencode-json`, \
             `qwen-stream-json`, `copilot-json`, `text`"
        );
        assert_eq!("xml".parse::<TranscriptFormat>().unwrap_err().near, [""; 0]);
    }
}
