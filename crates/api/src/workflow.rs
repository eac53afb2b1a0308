//! Workflows, which are sessions: started, listed, looked at.

use std::collections::BTreeMap;

use coven_model::event::SessionCause;
use coven_model::{
    AgentMode, AgentVerdict, AutoAnswer, Intervention, InterventionId, OrchestratorState,
    PermissionLevel, PlanView, SessionId, SessionView, TaskId, TaskStatus, Timestamp,
    WorkflowStatus,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What `POST /workflows` takes. Exactly one of `grimoire`, `definition` and `agent` says what
/// runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = crate::openapi::one_of(&[
    ("grimoire", "string"), ("definition", "object"), ("agent", "object"),
])))]
pub struct StartWorkflow {
    /// The name of a grimoire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grimoire: Option<String>,
    /// A definition of either form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<WorkflowDefinition>,
    /// One agent, as a session of one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<OneAgent>,
    /// The inputs by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub input: Map<String, Value>,
    /// What the run is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The folder it runs in and whose `.coven/sessions` keeps it: an absolute path. Without it, the
    /// daemon's workspace (`$XDG_DATA_HOME/coven/workspace`), not the caller's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
    /// The environment its jobs get: that of the caller. Without it they get the daemon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Answer every question of every agent by this, without asking a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoAnswer>,
    /// The adapter for steps that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_adapter: Option<String>,
    /// Where its agents work, as far as the definition does not say it: in the folder itself, in a
    /// tree of the run, or each task in a tree of its own. What `config.yaml` says unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<RunIsolation>,
    /// Only make the session; `resume` lets it run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
}

/// Where the agents of a run work, as far as its definition does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunIsolation {
    /// In trees of their own where several that write run beside each other, in a git repository.
    Auto,
    /// In the base directory.
    Shared,
    /// In a tree of the run.
    Run,
    /// Each task in a tree of its own.
    Task,
}

/// A definition that is sent with the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkflowDefinition {
    /// What it is called in messages, such as the name of its file.
    #[serde(default = "definition_name")]
    pub name: String,
    /// Its text: a grimoire in YAML, or a stage workflow in JSON.
    pub text: String,
}

fn definition_name() -> String {
    "definition".to_owned()
}

/// A session of a single agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneAgent {
    /// The type of the agent's adapter, such as `claude`.
    pub adapter: String,
    /// What it is told first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// On a terminal, or without one; on a terminal unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<AgentMode>,
    /// The model that the agent uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it may do without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionLevel>,
    /// Arguments of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<String>,
    /// Whether its adapter's automatic answers are used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_approve: bool,
}

/// A session that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartedSession {
    /// The id by which requests name it.
    pub id: SessionId,
    /// The readable name of the session, such as `brisk-otter`.
    pub name: String,
    /// The folder it runs in.
    pub base_dir: String,
    /// Whether an earlier request with the same idempotency key had made it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// What else has to be said, such as that the folder's `.coven` had been deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why it could not begin yet: its disk is full. It begins as soon as there is room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for_disk: Option<String>,
}

/// What `GET /workflows` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListQuery {
    /// Only with these statuses, separated by commas; `foreign` means the foreign sessions, which
    /// have none of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(
        pattern = r"^(pending|running|blocked|completed|failed|cancelled|foreign)(,(pending|running|blocked|completed|failed|cancelled|foreign))*$"
    ))]
    pub status: Option<String>,
    /// Only of this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
    /// At most so many; 100 unless said, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// Only what comes after this: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<SessionId>")]
    pub after: Option<String>,
    /// Only with this in their name, goal or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
}

/// A page of sessions, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowPage {
    /// The sessions of this page.
    pub workflows: Vec<WorkflowItem>,
    /// How many there are that match, on all pages.
    pub total: u64,
    /// What the next page comes `after`; nothing on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowItem {
    /// The id by which requests name it.
    pub id: SessionId,
    /// The readable name of the session, such as `brisk-otter`.
    pub name: String,
    /// The name of the workflow that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grimoire: Option<String>,
    /// The event that started it, and the session whose event it was; nothing for what a person or
    /// a program started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SessionCause>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The status of the run or the task.
    pub status: WorkflowStatus,
    /// The same in the words of interfaces.
    pub state: OrchestratorState,
    /// The folder it runs in.
    pub base_dir: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How many questions wait for a person.
    pub waiting: u32,
    /// How many of its jobs run now.
    pub running: u32,
    /// How many of its jobs wait for a slot, because as many jobs run as may at once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queued: u32,
    /// Whether agents of it were left alive on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
    /// Whether it was not made by this user in this folder. It can be read; it is never resumed,
    /// changed or removed, and nothing in it counts as running or waiting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// Why it cannot be opened, such as a damaged journal. Its status is what was known last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// An agent that tries to reach its model again, and why: `build: retrying 7 of 10: 500`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrying: Option<String>,
    /// Why nothing of it can be recorded at the moment, such as a full disk. It goes on as soon as
    /// its disk takes it, and what was asked of it meanwhile happens then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for_disk: Option<String>,
    /// What is done for its jobs before or after their processes, such as a comparison of many
    /// files, with the task it is done for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// The folder in which agents of it and others that may write run at the same time, so that
    /// they can undo each other's work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<SharedFolder>,
}

impl WorkflowItem {
    /// By what requests name this session and no other. A copy of a folder has sessions with the ids
    /// of the original, so a foreign one is named together with its folder.
    pub fn address(&self) -> String {
        if self.foreign { format!("{}@{}", self.id, self.base_dir) } else { self.id.to_string() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Several agents that may write to one folder at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedFolder {
    /// The folder.
    pub folder: String,
    /// The agents, of all sessions.
    pub agents: Vec<FolderAgent>,
}

/// An agent that may write to a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderAgent {
    /// The session it belongs to.
    pub workflow: SessionId,
    /// The readable name of the session.
    pub workflow_name: String,
    /// Its task.
    pub task: TaskId,
    /// The type of its adapter.
    pub adapter: String,
}

/// Everything about a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowDetails {
    /// The same as in lists of sessions.
    #[serde(flatten)]
    pub item: WorkflowItem,
    /// Whether the daemon is running it now. What is not live can be resumed or looked at.
    pub live: bool,
    /// The number of its newest fact; events after it have not been taken in here.
    pub last_seq: u64,
    /// The readable view: definition, step, statuses, history, variables, errors.
    pub session: SessionView,
    /// The plan as a picture.
    pub plan: PlanView,
    /// Its tasks, in the order of the plan.
    pub tasks: Vec<TaskItem>,
    /// What waits for a decision.
    pub interventions: Vec<Intervention>,
    /// How its questions are answered without a person, if it was started so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoAnswer>,
    /// Those of them that a run with `auto` leaves to a person: questions that no rule knows, that
    /// are not shown whole, or that took no answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_by_auto: Vec<InterventionId>,
}

impl WorkflowDetails {
    /// What waits for a person: everything that waits, but what `auto` is about to answer.
    pub fn left_to_person(&self) -> impl DoubleEndedIterator<Item = &Intervention> {
        let is_automatic = self.auto.is_some() && self.live;
        let is_left =
            move |asked: &&Intervention| !is_automatic || self.left_by_auto.contains(&asked.id);
        self.interventions.iter().filter(is_left)
    }
}

/// What the steps of a session gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOutputs {
    /// The id of the session.
    pub id: SessionId,
    /// The readable name of the session, such as `brisk-otter`.
    pub name: String,
    /// Where the run stands.
    pub status: WorkflowStatus,
    /// Its steps, in the order of the plan.
    pub steps: Vec<StepResult>,
}

/// What one step gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// The name of the step.
    pub step: String,
    /// `pending`, `running`, `blocked`, `completed`, `failed` or `skipped`.
    pub status: String,
    /// The variable that later steps know the output by, where the step names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The whole output; null where there is none. Of a command at most 16 MiB, see `omitted`.
    pub output: Value,
    /// How many bytes of what its command or agent printed are missing in `output` and `stdout`.
    /// `GET …/tasks/{task}/output` has everything that is not `lost`.
    #[serde(default, skip_serializing_if = "crate::task::is_zero")]
    pub omitted: u64,
    /// How many of those are nowhere, because the disk had no room for them.
    #[serde(default, skip_serializing_if = "crate::task::is_zero")]
    pub lost: u64,
    /// What its command printed to its standard output, if it ran one and `output` is not that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// What its command printed to its standard error, if it ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// What went wrong, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A task of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskItem {
    /// The id by which requests name it.
    pub id: TaskId,
    /// What people call it.
    pub name: String,
    /// The step it belongs to.
    pub step: String,
    /// The status of the run or the task.
    pub status: TaskStatus,
    /// The number of the newest attempt; 0 if there was none.
    pub attempt: u32,
    /// Its agent, or `shell`.
    pub adapter: String,
    /// On a terminal, or without one.
    pub mode: AgentMode,
    /// Whether its process is followed now.
    pub live: bool,
    /// Whether its process is not started yet, because as many jobs run as may at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// What is done for it before or after its process, such as a comparison of many files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// What its agent is doing, and why we think so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<AgentVerdict>,
    /// Since when it is doing that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// It was given something to do, and the end of its turn was not seen yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turn_open: bool,
    /// When the attempt was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When the newest attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The tree that it works in: the id of a task, or `@run`; nothing if it works in the folder of
    /// the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// What it does or why it failed, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// How many bytes of what the newest attempt printed are lost, because the disk was full.
    #[serde(default, skip_serializing_if = "crate::task::is_zero")]
    pub lost: u64,
}

/// What `DELETE /workflows/{id}`, `…/resume`, `…/retry` and `…/purge` may be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionRequest {
    /// The reason, which is recorded with the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The environment that jobs get from now on: that of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
}
