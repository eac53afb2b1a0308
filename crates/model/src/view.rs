//! What people and pages are shown of a session: the readable view that is kept beside the
//! journal, and the plan with everything's status. Made from the facts; nothing is read back from
//! it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AgentMode, ContentDigest, Intervention, SessionId, TaskId, TaskStatus, Timestamp, TokenUsage,
    WorkflowStatus,
};

/// The version of [`SessionView`].
pub const VIEW_VERSION: u32 = 1;

/// A session, readable: what `session.json` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// The version of this shape.
    pub v: u32,
    /// The id of the session.
    pub session_id: SessionId,
    /// The readable name of the session, such as `brisk-otter`.
    pub name: String,
    /// The name of the plan that runs.
    pub workflow: String,
    /// Where the run stands.
    pub status: WorkflowStatus,
    /// What the run is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The folder it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
    /// Why its agents share that folder although its plan would have them in trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_trees: Option<String>,
    /// The definition as it was written.
    pub workflow_definition: Value,
    /// The step or stage whose turn it is, from 0; as many as there are when all are over.
    pub current_stage_index: u32,
    /// The name of the step whose turn it is; where there are several, of the first that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_step: Option<String>,
    /// The names of all steps whose turn it is, where steps say what they need: they run, wait for a
    /// person, or failed while others go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub current_steps: Vec<String>,
    /// Where each task stands.
    pub task_status: BTreeMap<TaskId, TaskStatus>,
    /// What was said to agents and what they answered, the oldest first; only the newest part.
    pub history: Vec<HistoryEntry>,
    /// The inputs and the outputs of steps by name. A large value is replaced by
    /// `{"$value": DIGEST, "bytes": N, "begins": TEXT}` and kept aside under its digest.
    pub variables: Map<String, Value>,
    /// The steps that failed, the oldest first.
    pub errors: Vec<ErrorEntry>,
    /// What waits for a person.
    pub interventions: Vec<Intervention>,
    /// What was used up.
    #[serde(default, skip_serializing_if = "TokenUsage::is_unknown")]
    pub usage: TokenUsage,
    /// Agents that were left alive on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<TaskId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When the first attempt was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How often the run was retried. A retry request names this number, so that it counts once.
    #[serde(default)]
    pub retries: u32,
}

/// One entry of a session's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// When it happened, by the daemon's clock.
    pub at: Timestamp,
    /// Which kind of entry this is.
    pub what: HistoryKind,
    /// Which task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The text, cut if it is long.
    pub text: String,
}

/// What a history entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HistoryKind {
    /// What an agent was told at launch, or the command of a script.
    Prompt,
    /// A text that was sent to a running agent.
    Input,
    /// A question, to an agent's user or about a step.
    Question,
    /// A decision about a question or a step.
    Decision,
    /// What an agent answered or a command printed.
    Output,
    /// A step or the run went on, failed, or ended.
    Progress,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorEntry {
    /// The name of the step that failed.
    pub step: String,
    /// What went wrong, for people.
    pub error: String,
}

/// A value that is kept aside because it is large, as a view shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LargeValueReference {
    /// The digest of its JSON, under which it is kept.
    #[serde(rename = "$value")]
    pub digest: ContentDigest,
    /// How many bytes it has: those of a text, or those of the JSON of anything else.
    pub bytes: u64,
    /// The beginning of the text, or of the JSON.
    #[serde(default)]
    pub begins: String,
}

impl LargeValueReference {
    /// What stands for a value, if it is kept aside.
    pub fn of(shown: &Value) -> Option<Self> {
        shown.get("$value")?;
        serde_json::from_value(shown.clone()).ok()
    }

    /// The same as it stands in a view.
    pub fn to_value(&self) -> Value {
        serde_json::json!({ "$value": self.digest, "bytes": self.bytes, "begins": self.begins })
    }
}

/// A plan as a picture: a row for each step, a lane for each task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    /// The name of the plan.
    pub name: String,
    /// What the run is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Where the run stands.
    pub status: WorkflowStatus,
    /// The steps in order.
    pub rows: Vec<PlanRow>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One step of a plan and its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanRow {
    /// The name of the step in the definition.
    pub step: String,
    /// Its type, by the name used in definitions.
    #[serde(rename = "type")]
    pub kind: String,
    /// `pending`, `running`, `blocked`, `completed`, `failed` or `skipped`.
    pub status: String,
    /// The steps that must be over before it starts. Missing where the steps run one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<String>>,
    /// What it does, or why it stands as it does, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Its tasks; of very many, those of interest.
    pub lanes: Vec<PlanLane>,
    /// How many of its tasks have each status, those without a lane included.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<TaskStatus, u32>,
    /// When the first attempt was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// One task of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanLane {
    /// Its id; in a plan that has not begun, as far as it is known.
    pub task: String,
    /// What people call it.
    pub name: String,
    /// The status of the task.
    pub status: TaskStatus,
    /// The newest attempt; 0 if there was none.
    pub attempt: u32,
    /// Its agent, or `shell`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub adapter: String,
    /// Whether it runs on a terminal.
    #[serde(default)]
    pub mode: AgentMode,
    /// What it does or why it failed, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// When the newest attempt was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When the newest attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How many bytes of what the newest attempt printed are lost, because the disk was full.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
}
