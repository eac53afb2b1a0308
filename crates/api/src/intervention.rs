//! What waits for a person.

use coven_model::{
    ContentDigest, Intervention, InterventionChoice, InterventionDecision, SessionId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `GET /interventions` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InterventionQuery {
    /// Those that wait (the usual), or those that were decided (of one session).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<InterventionState>,
    /// Only of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
}

/// Whether an intervention waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InterventionState {
    /// It waits for a decision.
    #[default]
    Open,
    /// It was decided, or does not wait any more.
    Decided,
}

/// The answer of `GET /interventions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InterventionList {
    /// The longest waiting first.
    pub interventions: Vec<InterventionItem>,
}

/// One intervention, with what is needed to show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InterventionItem {
    /// The intervention as the journal has it.
    #[serde(flatten)]
    pub intervention: Intervention,
    /// The session's readable name.
    pub workflow_name: String,
    /// What the session is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The folder the session runs in.
    pub base_dir: String,
    /// The agent that asks, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// The rule that `approve-always` makes here, as it stands in a policy of version 2. A decision
    /// repeats it as `rule`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
    /// Why `approve-always` is not possible here, and so not among the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_always: Option<String>,
    /// What was decided, where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<InterventionDecision>,
}

/// What `POST /interventions/{id}` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecideRequest {
    /// What is decided: one of the intervention's options.
    pub decision: InterventionChoice,
    /// The text that goes with it: an answer, a message, a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The entry of the menu that is chosen, by its id. Goes with `answer` as the decision; the text
    /// of an entry that takes one stands in `answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The digest of what the decider saw. Needed where the intervention has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ContentDigest>,
    /// Why, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The rule that the decider saw: `always` of the intervention. Needed for `approve-always`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Whether that rule is also written into the user's policy. Needs the role `full`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub save: bool,
}

impl DecideRequest {
    /// A decision without a text.
    pub fn new(decision: InterventionChoice, digest: Option<ContentDigest>) -> Self {
        Self { decision, answer: None, entry: None, digest, why: None, rule: None, save: false }
    }
}

/// A decision that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecideResponse {
    /// The session that waited.
    pub workflow_id: SessionId,
    /// The choice that counts.
    pub decision: InterventionChoice,
    /// The policy that the rule was written into, where that was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<SavedRule>,
    /// Whether the answer has reached the agent. One that has not is still on its way.
    pub delivered: bool,
}

/// A rule that was written into the user's policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedRule {
    /// The file.
    pub path: String,
    /// The name of the rule.
    pub name: String,
    /// The rule before it that decides about the same command, so that the new one does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_before_by: Option<String>,
}
