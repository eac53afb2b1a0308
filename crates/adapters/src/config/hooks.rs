//! What an agent on a terminal reports by itself, where it can.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hook::HookKind;
use crate::version::ProgramVersion;

/// What the program reports to the daemon while it runs on a terminal. A report is evidence beside
/// the screen and decides nothing alone. It is asked for where the daemon listens on loopback and
/// no other argument sets what it would be asked for with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HooksConfig {
    /// How it reports: `claude-http`.
    pub kind: HookKind,
    /// The first version of the program that reports so; every version if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl HooksConfig {
    /// Whether a version of the program reports so; nothing stands for the newest one.
    pub fn is_known_to(&self, version: Option<&ProgramVersion>) -> bool {
        ProgramVersion::is_since(self.since.as_deref(), version)
    }
}
