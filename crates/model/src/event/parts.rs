//! What facts consist of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AttemptId, AutoAnswer, Choice, HandlerName, InterventionId, JobSpec, Outcome, SessionId,
    TaskId, TaskStatus, Timestamp,
};

/// What a session is made with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreated {
    /// Its id.
    pub session: SessionId,
    /// Its readable name.
    pub name: String,
    /// The plan, as the workflow crate writes it.
    pub plan: Value,
    /// The inputs by name, defaults included.
    pub input: Value,
    /// What the run is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The folder it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
    /// How every question of the run is answered, if whoever started it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoAnswer>,
    /// When.
    pub at: Timestamp,
}

/// A job that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStarted {
    /// The job. Its id says which task and attempt.
    pub spec: JobSpec,
    /// What the task is in its step.
    pub role: Role,
    /// The last attempt that is made without asking anybody.
    pub limit: u32,
    /// What is typed later, one each time the agent is idle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// When.
    pub at: Timestamp,
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskEnded {
    /// The attempt.
    #[serde(flatten)]
    pub job: AttemptId,
    /// How, and whether it counts as done, everything considered.
    pub outcome: Outcome,
    /// Where the task stands: `PENDING` means that it is tried again.
    pub status: TaskStatus,
    /// The output as a value where JSON was asked for. Otherwise the output's text is the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// When.
    pub at: Timestamp,
}

/// What a task is in its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The only one.
    Main,
    /// One of a stage: its place in the stage, from 0.
    Stage(u32),
    /// One of a fan-out: its index, from 0.
    Item(u32),
    /// The agent that works, in this round, from 1.
    Round(u32),
    /// The agent that judges, in this round, from 1.
    Arbiter(u32),
}

/// Where the output of a step is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepOutput {
    /// It is the value of this task.
    Task(TaskId),
    /// It is the array of the results of all items, in the order of the items.
    Results,
    /// It is this.
    Value(Value),
}

/// As what a run ends that is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoppingEnd {
    /// Failed.
    Failed,
    /// Cancelled; this outranks failing.
    Cancelled,
}

/// Why a job is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopCause {
    /// Its task is done.
    Completed,
    /// Its time is up.
    Timeout,
    /// A person does not want it to go on; the task has failed.
    Unwanted,
}

/// What an arbiter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoopVerdict {
    /// There is something to do, so another round.
    Actionable,
    /// The work is done.
    Done,
    /// No verdict can be read.
    Unreadable,
}

impl LoopVerdict {
    /// The name used in prompts and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Actionable => "actionable",
            Self::Done => "done",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What was decided about an intervention, by whom and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// What was decided.
    pub choice: Choice,
    /// The text that goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How a standard handler would answer, where one decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<HandlerName>,
    /// Who or what decided.
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Decision {
    /// A plain decision.
    pub fn new(choice: Choice, by: impl Into<String>) -> Self {
        Self { choice, text: None, handler: None, by: by.into(), why: String::new() }
    }

    /// The same with a text.
    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..self }
    }
}

/// What reached an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivered {
    /// The input of this number.
    Queued(u32),
    /// The answer to this intervention.
    Answer(InterventionId),
    /// A text that somebody typed outside any queue.
    Typed {
        /// The text.
        text: String,
        /// Who typed.
        by: String,
    },
}

/// What a timer is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timer {
    /// The attempt: the one whose time is up, or the one that is to begin.
    #[serde(flatten)]
    pub job: AttemptId,
    /// What happens.
    pub purpose: Purpose,
}

/// What happens when a timer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The attempt is stopped.
    Timeout,
    /// The attempt is made.
    Retry,
}
