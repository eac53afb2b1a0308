//! How a permission level is granted to a program.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What grants a permission level: arguments, or arguments and environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PermissionGrant {
    /// Arguments that are added to the command.
    Args(Vec<String>),
    /// Arguments that are added, and variables that are set.
    Full(FullGrant),
}

impl PermissionGrant {
    pub fn args(&self) -> &[String] {
        match self {
            Self::Args(args) => args,
            Self::Full(full) => &full.args,
        }
    }

    /// The variables to set.
    pub fn env(&self) -> impl Iterator<Item = (&String, &String)> {
        match self {
            Self::Args(_) => None,
            Self::Full(full) => Some(full.env.iter()),
        }
        .into_iter()
        .flatten()
    }
}

/// Arguments and variables that grant a permission level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FullGrant {
    /// Arguments that are added to the command.
    pub args: Vec<String>,
    /// Variables that are set, by name.
    pub env: BTreeMap<String, String>,
    /// What this level really means for this program, where it is not what the name says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
