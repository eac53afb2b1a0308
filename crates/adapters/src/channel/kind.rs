//! Which protocol an agent speaks, by the name an adapter file gives it.

use std::fmt;
use std::str::FromStr;

use coven_notation::near;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A protocol: the value of `channel.kind` in an adapter file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelKind {
    /// Claude Code's `stream-json` in both directions.
    ClaudeStdio,
    /// What `codex app-server` speaks.
    CodexAppServer,
    /// The Agent Client Protocol, version 1.
    Acp,
}

/// A name that no channel has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown channel `{name}`{}; known are `claude-stdio`, `codex-app-server`, `acp`",
    suggestion(near)
)]
pub struct UnknownChannel {
    /// What was asked for.
    pub name: String,
    /// What may have been meant, best first.
    pub near: Vec<&'static str>,
}

impl ChannelKind {
    /// Every channel there is.
    pub const ALL: [Self; 3] = [Self::ClaudeStdio, Self::CodexAppServer, Self::Acp];

    /// Its name in an adapter file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeStdio => "claude-stdio",
            Self::CodexAppServer => "codex-app-server",
            Self::Acp => "acp",
        }
    }
}

impl fmt::Display for ChannelKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for ChannelKind {
    type Err = UnknownChannel;

    fn from_str(name: &str) -> Result<Self, UnknownChannel> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or_else(|| {
            let near = near(name, Self::ALL.map(Self::as_str).iter().copied());
            UnknownChannel { name: name.to_owned(), near }
        })
    }
}

fn suggestion(near: &[&str]) -> String {
    near.first().map(|best| format!(", did you mean `{best}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_text_and_as_json() {
        for kind in ChannelKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
        let error = "claude-stdoi".parse::<ChannelKind>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown channel `claude-stdoi`, did you mean `claude-stdio`?; known are \
             `claude-stdio`, `codex-app-server`, `acp`"
        );
    }
}
