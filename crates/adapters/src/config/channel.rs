//! The agent's own protocol, where it has one.

use std::collections::BTreeMap;

use coven_model::{AgentMode, PermissionLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, EnvConfig, ModeConfig, PermissionGrant, PromptPosition, StdinSource};
use crate::channel::{ChannelKind, ChannelOptions};
use crate::version::ProgramVersion;

/// The program's own protocol over its standard input and output, and how it is started for that.
/// A headless task speaks it when it asks before it acts (`permissions: ask`), has inputs after its
/// prompt, or wants it (`channel: true`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelConfig {
    /// The protocol: `claude-stdio`, `codex-app-server` or `acp`.
    pub kind: ChannelKind,
    /// The first version of the program that speaks it; every version if missing. Older ones are
    /// started as without a channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Arguments that come first, in place of those of the headless mode.
    #[serde(default)]
    pub base_args: Vec<String>,
    /// Arguments by permission level, where the channel has its own. Only these are added.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub permissions: BTreeMap<PermissionLevel, PermissionGrant>,
    /// Arguments that continue an earlier conversation. Without them it is continued by a message,
    /// where the protocol has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Vec<String>>,
    /// The mode that the program is put into by a message, by permission level and by the program's
    /// own name for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mode: BTreeMap<PermissionLevel, String>,
    /// The ids of the options that mean yes and no, where the program offers several.
    #[serde(default, skip_serializing_if = "is_default")]
    pub options: ChannelOptions,
    /// Whether every headless task speaks it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// Changes to the environment of such a process.
    #[serde(default, skip_serializing_if = "is_default")]
    pub env: EnvConfig,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Config {
    /// Whether an agent is spoken to in its own protocol: without a terminal, when it is to ask before
    /// it acts, where its task wants it, or where its adapter always does.
    pub fn speaks(
        &self,
        mode: AgentMode,
        permission: Option<PermissionLevel>,
        is_wanted: bool,
    ) -> bool {
        let asks = permission == Some(PermissionLevel::Ask);
        let speaks = |channel: &ChannelConfig| asks || is_wanted || channel.always;
        mode == AgentMode::Headless && self.channel.as_ref().is_some_and(speaks)
    }
}

impl ChannelConfig {
    /// Whether a level is granted to a program that is spoken to. That it asks is what the protocol
    /// is for.
    pub(crate) fn grants(&self, level: PermissionLevel) -> bool {
        level == PermissionLevel::Ask
            || self.permissions.contains_key(&level)
            || self.mode.contains_key(&level)
    }

    /// Whether a version of the program speaks it; nothing stands for the newest one.
    pub fn is_known_to(&self, version: Option<&ProgramVersion>) -> bool {
        ProgramVersion::is_since(self.since.as_deref(), version)
    }

    /// Why a version of the program is not spoken to: it is older than the first that speaks the
    /// protocol. For people, with what to do.
    pub fn too_old(
        &self,
        name: &str,
        config: &Config,
        version: Option<&ProgramVersion>,
    ) -> Option<String> {
        let version = version.filter(|version| !self.is_known_to(Some(*version)))?;
        let (kind, since) = (self.kind, self.since.as_deref().unwrap_or_default());
        let update = config.install.as_ref().map(|line| format!("; update it: {line}"));
        let update = update.unwrap_or_default();
        Some(format!("{name} {version} does not speak {kind}, {name} {since} does{update}"))
    }

    /// How the program is started for it.
    pub(crate) fn launch_mode(&self) -> ModeConfig {
        ModeConfig {
            base_args: self.base_args.clone(),
            prompt_position: PromptPosition::Channel,
            permissions: self.permissions.clone(),
            resume: self.resume.clone(),
            stdin: StdinSource::Pipe,
            env: self.env.clone(),
            ..ModeConfig::default()
        }
    }
}
