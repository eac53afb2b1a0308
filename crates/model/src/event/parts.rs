//! What facts consist of.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AttemptId, AutoAnswer, HandlerName, InterventionChoice, InterventionId, JobOutcome, JobSpec,
    RepositoryRecord, SessionId, TaskId, TaskStatus, Timestamp,
};

/// What a session is made with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreated {
    /// The id of the new session.
    pub session: SessionId,
    /// The readable name of the session, such as `brisk-otter`.
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
    /// How every question of the run is answered, if it was started with automatic answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoAnswer>,
    /// The event that started it, if its grimoire's trigger did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SessionCause>,
    /// The repository in whose trees it works, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<Box<RepositoryRecord>>,
    /// Why it has no trees although its plan would have them where there can be some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_trees: Option<String>,
    /// When the fact was recorded, by the daemon's clock.
    pub at: Timestamp,
}

/// The event that made the trigger of a grimoire start a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCause {
    /// The type of the event, such as `workflow.completed`.
    pub event: String,
    /// The session whose event it was; nothing for one that was posted from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The name of that session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A job that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStarted {
    /// The job. Its id says which task and attempt.
    pub spec: JobSpec,
    /// What the task is in its step.
    pub role: TaskRole,
    /// The last attempt that is made without asking a person.
    pub limit: u32,
    /// What is typed later, one each time the agent is idle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Where the folder of the attempt lies.
    #[serde(default, skip_serializing_if = "AttemptPlace::is_session")]
    pub place: AttemptPlace,
    /// When the fact was recorded, by the daemon's clock.
    pub at: Timestamp,
}

/// Where the folder of an attempt lies.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptPlace {
    /// In the folder of its session, in the project. Facts that do not say a place are from a time
    /// when all lay there. What lies there is read and never gone on with: agents can write it.
    #[default]
    Session,
    /// In the folder of jobs, in the state folder.
    Jobs,
}

impl AttemptPlace {
    /// Whether it lies in the folder of its session.
    pub fn is_session(&self) -> bool {
        *self == Self::Session
    }
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskEnded {
    /// The task and attempt that ended.
    #[serde(flatten)]
    pub job: AttemptId,
    /// How, and whether it counts as done, everything considered.
    pub outcome: JobOutcome,
    /// Where the task stands: `PENDING` means that it is tried again.
    pub status: TaskStatus,
    /// The output as a value where JSON was asked for. Otherwise the output's text is the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// When the fact was recorded, by the daemon's clock.
    pub at: Timestamp,
}

/// What a task is in its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskRole {
    /// The only task of its step.
    Main,
    /// One of a stage: its place in the stage, from 0.
    Stage(u32),
    /// One of a fan-out: its index, from 0.
    Item(u32),
    /// The agent that works, in this round, from 1.
    Round(u32),
    /// The agent that judges, in this round, from 1.
    Arbiter(u32),
    /// The command that says whether the loop is done: after this round, from 1, or with 0 before the
    /// first.
    Check(u32),
    /// A step inside a loop.
    Inner {
        /// The round, from 1.
        round: u32,
        /// Its place among those inside, from 0.
        place: u32,
    },
}

impl TaskRole {
    /// Whether it says of a round of a loop what became of it, and is no work itself.
    pub fn is_judge(self) -> bool {
        matches!(self, Self::Arbiter(_) | Self::Check(_))
    }
}

/// Where the output of a step is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepOutput {
    /// It is the value of this task.
    Task(TaskId),
    /// It is the array of the results of all items, in the order of the items.
    Results,
    /// The output itself, where no task has it.
    Value(Value),
}

/// As what a run ends that is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoppingEnd {
    /// Failed, because a step failed.
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
pub struct InterventionDecision {
    /// The choice that was made.
    pub choice: InterventionChoice,
    /// The text that goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The entry of the menu that is chosen, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// There is a text, which is a secret and stands nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// How a standard handler would answer, where one decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<HandlerName>,
    /// Who or what decided.
    pub by: String,
    /// The reason that was given, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The rule that the session has from here on, where the decision makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<SessionRule>>,
}

/// A command that a person approved for the rest of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRule {
    /// Its name in decisions, made from the adapter and the command.
    pub name: String,
    /// The type of agent that may run the command.
    pub adapter: String,
    /// The command, whole and as it was asked. Nothing in it is a pattern.
    pub command: String,
}

impl InterventionDecision {
    /// A decision with neither text nor reason.
    pub fn new(choice: InterventionChoice, by: impl Into<String>) -> Self {
        Self {
            choice,
            text: None,
            entry: None,
            secret: false,
            handler: None,
            by: by.into(),
            why: String::new(),
            rule: None,
        }
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
pub enum DeliveredInput {
    /// The input of this number.
    Queued(u32),
    /// The answer to this intervention.
    Answer(InterventionId),
    /// A text that a person typed into the terminal directly, outside any queue.
    Typed {
        /// The text as it was typed.
        text: String,
        /// The person or program that typed it.
        by: String,
    },
}

/// What confines a job, and what does not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobConfinement {
    /// What enforces it, with its version.
    pub by: String,
    /// What the job can do all the same, for people.
    pub open: Vec<String>,
    /// What is compared before and after, for people; nothing if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<String>,
}

impl fmt::Display for JobConfinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "confined by {}; open to it: {}", self.by, self.open.join(", "))?;
        match &self.compared {
            Some(compared) => write!(f, "; compared: {compared}"),
            None => Ok(()),
        }
    }
}

/// What a timer is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobTimer {
    /// The attempt: the one whose time is up, or the one that is to begin.
    #[serde(flatten)]
    pub job: AttemptId,
    /// What happens to the attempt when the timer is due.
    pub purpose: TimerPurpose,
}

/// What happens when a timer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimerPurpose {
    /// The attempt is stopped.
    Timeout,
    /// The attempt is made.
    Retry,
}
