//! What an agent is meant to do, as far as it is written without anybody deciding.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fold::{ChannelFold, StepProgress};

/// What an adapter file says about a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ChannelOptions {
    /// The id of the ACP option that approves. Without it the first option that allows once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approve: Option<String>,
    /// The id of the ACP option that denies. Without it the first option that rejects once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<String>,
}

/// The handshake and the prompts of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelPlan {
    /// The folder to work in. ACP needs it; Claude takes it from its process.
    pub cwd: Option<String>,
    /// The conversation to go on with. Claude takes it from its arguments.
    pub resume: Option<String>,
    /// The mode to be in before the first prompt, by the agent's own name for it. For Codex it is
    /// the sandbox and the approval policy, `workspace-write/on-request`.
    pub mode: Option<String>,
    /// The model. Only Codex takes it over its channel.
    pub model: Option<String>,
    /// Every prompt of the process so far, in order.
    pub prompts: Vec<String>,
    /// The version of Coven, which is told to the agent.
    pub client_version: String,
}

/// Whether the mode stands between the agent and its first prompt.
pub(super) enum ModeStep<'a> {
    Settled,
    Due(&'a str),
    /// The agent has not answered yet.
    Asked,
}

impl ChannelPlan {
    pub(super) fn mode_due(&self, fold: &ChannelFold) -> ModeStep<'_> {
        let wanted = self.mode.as_deref();
        let wanted = wanted.filter(|_| !fold.has_prompt());
        let wanted = wanted.filter(|wanted| fold.mode_name.as_deref() != Some(*wanted));
        match (wanted, fold.mode) {
            (Some(_), StepProgress::Said) => ModeStep::Asked,
            (Some(mode), StepProgress::Unsaid) => ModeStep::Due(mode),
            (Some(_), StepProgress::Done) | (None, _) => ModeStep::Settled,
        }
    }

    pub(super) fn prompt_due(&self, fold: &ChannelFold) -> Option<&str> {
        fold.ready_for_prompt().ok()?;
        fold.next_prompt(&self.prompts).filter(|_| !fold.failed)
    }
}
