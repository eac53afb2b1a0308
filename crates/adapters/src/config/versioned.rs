//! How other versions of a program are started: what differs from the newest one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use coven_model::{AutoPolicy, PermissionLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, EnvConfig, ModeConfig, PermissionGrant, PromptPosition, ResumeConfig};
use crate::version::ProgramVersion;

/// What is different about starting some versions of the program. The rest of the file is about the
/// newest version, which is also meant where the installed version is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VersionedLaunch {
    /// The first version it is about; every earlier one too if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The first version it is no longer about; every later one too if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Why these versions differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Variables that are set or taken away besides.
    #[serde(skip_serializing_if = "is_default")]
    pub env: EnvConfig,
    /// What differs in a mode.
    #[serde(skip_serializing_if = "is_default")]
    pub modes: VersionedModes,
    /// Permission levels that are granted in another way; `null` for one that these versions
    /// cannot grant.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub permissions: BTreeMap<PermissionLevel, Option<PermissionGrant>>,
    /// Arguments that choose a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Vec<String>>,
    /// How to continue an earlier conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeConfig>,
    /// How to answer the program without a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_policy: Option<AutoPolicy>,
}

/// What differs in the modes of some versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VersionedModes {
    /// What differs on a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive: Option<VersionedMode>,
    /// What differs without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headless: Option<VersionedMode>,
}

/// What differs in one mode of some versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VersionedMode {
    /// Arguments that always come first, in place of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_args: Option<Vec<String>>,
    /// Where the prompt goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_position: Option<PromptPosition>,
    /// The option that takes the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_flag: Option<String>,
    /// Permission levels of this mode that are granted in another way; `null` for one that these
    /// versions cannot grant.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub permissions: BTreeMap<PermissionLevel, Option<PermissionGrant>>,
    /// Arguments that continue an earlier conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Vec<String>>,
    /// How the output is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl VersionedLaunch {
    /// Whether it is about a version; nothing stands for one that is not known.
    fn is_about(&self, version: Option<&ProgramVersion>) -> bool {
        let bound = |text: &Option<String>| text.as_deref().map(str::parse::<ProgramVersion>);
        let (since, until) = (bound(&self.since), bound(&self.until));
        match version {
            // The newest one is later than any bound.
            None => until.is_none(),
            Some(version) => {
                since.is_none_or(|since| since.is_ok_and(|since| *version >= since))
                    && until.is_none_or(|until| until.is_ok_and(|until| *version < until))
            }
        }
    }

    fn apply(&self, config: &mut Config) {
        config.env.set.extend(self.env.set.clone());
        config.env.unset.extend(self.env.unset.iter().cloned());
        let modes = [
            (&self.modes.interactive, &mut config.modes.interactive),
            (&self.modes.headless, &mut config.modes.headless),
        ];
        for (differs, mode) in modes {
            if let (Some(differs), Some(mode)) = (differs, mode) {
                differs.apply(mode);
            }
        }
        grant(&mut config.permissions, &self.permissions);
        if let Some(model) = &self.model {
            config.model.clone_from(model);
        }
        if self.resume.is_some() {
            config.resume.clone_from(&self.resume);
        }
        if self.auto_policy.is_some() {
            config.auto_policy.clone_from(&self.auto_policy);
        }
    }
}

impl VersionedMode {
    fn apply(&self, mode: &mut ModeConfig) {
        if let Some(args) = &self.base_args {
            mode.base_args.clone_from(args);
        }
        if let Some(position) = self.prompt_position {
            mode.prompt_position = position;
        }
        if self.prompt_flag.is_some() {
            mode.prompt_flag.clone_from(&self.prompt_flag);
        }
        grant(&mut mode.permissions, &self.permissions);
        if self.resume.is_some() {
            mode.resume.clone_from(&self.resume);
        }
        if self.transcript.is_some() {
            mode.transcript.clone_from(&self.transcript);
        }
    }
}

fn grant(
    levels: &mut BTreeMap<PermissionLevel, PermissionGrant>,
    differ: &BTreeMap<PermissionLevel, Option<PermissionGrant>>,
) {
    for (level, grant) in differ {
        match grant {
            Some(grant) => levels.insert(*level, grant.clone()),
            None => levels.remove(level),
        };
    }
}

impl Config {
    /// The configuration for one version of the program; for the newest where it is not known.
    pub fn for_version(&self, version: Option<&ProgramVersion>) -> Cow<'_, Self> {
        let mut differ = self.versions.iter().filter(|entry| entry.is_about(version)).peekable();
        if differ.peek().is_none() {
            return Cow::Borrowed(self);
        }
        let mut config = self.clone();
        for entry in differ {
            entry.apply(&mut config);
        }
        Cow::Owned(config)
    }
}
