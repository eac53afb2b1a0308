//! A stage workflow as it is written.

use std::collections::BTreeMap;

use coven_model::{AgentMode, PermissionLevel};
use coven_notation::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{OnLostName, domain, exit_codes, expect, id, size};
use crate::plan::{Isolation, OnLost};

/// A stage workflow: stages that run one after another, each with tasks that run side by side.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StageWorkflow {
    /// Where an editor finds the schema of this file; of no meaning for the run.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// What it is called: letters, digits, `-` and `_`.
    #[schemars(schema_with = "id")]
    pub id: String,
    /// What the run is for.
    pub goal: Option<String>,
    /// The stages, in the order in which they run.
    #[schemars(length(min = 1))]
    pub stages: Vec<StageDefinition>,
}

/// Tasks that run side by side. The next stage starts when all of them are complete.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StageDefinition {
    /// What it is called; once in the workflow.
    #[schemars(schema_with = "id")]
    pub id: String,
    /// The tasks of the stage, which run side by side.
    #[schemars(length(min = 1))]
    pub tasks: Vec<TaskDefinition>,
}

/// One agent with something to do: an object with an `id` and an `adapter`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TaskDefinition {
    /// What it is called; once in the workflow.
    #[schemars(schema_with = "id")]
    pub id: String,
    /// The agent's type, such as `gemini`.
    #[schemars(length(min = 1))]
    pub adapter: String,
    /// `interactive` (the default: on a terminal) or `headless` (one prompt, no questions).
    pub execution_mode: Option<AgentMode>,
    /// What the agent is told at launch. A headless task needs one.
    pub prompt: Option<String>,
    /// Further arguments for the agent's program.
    pub extra_args: Option<Vec<String>>,
    /// The folder to work in; relative ones start at the run's base directory.
    pub cwd: Option<String>,
    /// What is added to the environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What people call the agent; the id if nothing is said.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The model that the agent uses, by the name its CLI knows.
    pub model: Option<String>,
    /// What the agent may do without asking: `read-only`, `ask`, `edits` or `all`.
    pub permissions: Option<PermissionLevel>,
    /// Whether the adapter's policy may answer the agent's questions.
    #[serde(default)]
    pub auto_approve: bool,
    /// Whether a headless agent is spoken to in its own protocol, where its adapter has one. One with
    /// `permissions: ask` or `pendingInputs` is without it.
    #[serde(default)]
    pub channel: bool,
    /// What the agent is told later, one text each time it is idle. Then the task is done.
    #[serde(default)]
    pub pending_inputs: Vec<String>,
    /// Whether the agent is left running when its task is done.
    #[serde(default)]
    pub keep_alive: bool,
    /// Which exit codes count as success: a list, or `any`; 0 if nothing is said.
    #[schemars(schema_with = "exit_codes")]
    #[serde(default)]
    pub ok_exit_codes: Value,
    /// What the answer must be: `text` (the default), `any` (also nothing), `json`, a JSON schema, or
    /// `comments` (a review, shown at the lines it is about).
    #[schemars(schema_with = "expect")]
    #[serde(default)]
    pub expect: Value,
    /// The size of its terminal, such as `100x30`: columns and rows.
    #[schemars(schema_with = "size")]
    #[serde(default)]
    pub size: Option<String>,
    /// Where its process is started: `holder`, which keeps it running without the daemon.
    #[schemars(schema_with = "domain")]
    #[serde(default)]
    pub domain: Option<String>,
    /// Where it works: `shared` (in the base directory, the default), `run` (in the run's git
    /// worktree) or `task` (in a worktree of its own, which is landed on the run's).
    pub isolation: Option<Isolation>,
    /// How long it may take, such as `30m`.
    pub timeout: Option<HumanDuration>,
    /// What happens when its process is gone and nothing recorded how it ended, as after a power
    /// cut: `ask` a person (the default), `retry` it, or let it `fail`.
    #[schemars(with = "OnLostName")]
    #[serde(default)]
    pub on_lost: Option<OnLost>,
}
