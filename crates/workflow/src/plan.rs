//! The plan of a run: what both forms of definition, grimoires and stage workflows, become once
//! they are checked. Plain data; nothing in it has to be looked up again.
//!
//! A plan is written whole into a session's journal, so a run keeps the plan it began with,
//! whatever happens to the file it came from. Fields may be added with a default; none may change
//! its meaning.

mod graph;
mod isolation;

use std::collections::BTreeMap;
use std::time::Duration;

use coven_model::event::TaskRole;
use coven_model::time::millis;
use coven_model::{
    AgentMode, ConfineMode, ExitCodes, PermissionLevel, SandboxMode, TaskId, TerminalSize,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::graph::order;
pub use self::graph::{StepGraph, StepGraphError};
pub use self::isolation::{Isolation, LandMode, OnConflict};
use crate::condition::Condition;
use crate::expect::ExpectedOutput;
use crate::shell::ShellCommand;
use crate::template::TextTemplate;

/// How many items of a fan-out run at a time unless the step says otherwise.
pub(crate) const DEFAULT_CONCURRENCY: u32 = 4;
/// How many rounds a loop has at most unless the step says otherwise.
pub(crate) const DEFAULT_ITERATIONS: u32 = 5;
/// What an item is called unless the step says otherwise.
pub(crate) const DEFAULT_ITEM: &str = "item";

/// What is to be done, step by step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowPlan {
    /// The grimoire's name, or the stage workflow's id.
    pub name: String,
    /// Which form it was written in.
    pub form: PlanForm,
    /// What it is for, where the definition says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The same for people who choose between grimoires.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What starts it by itself.
    #[serde(default, skip_serializing_if = "PlanTrigger::is_manual")]
    pub trigger: PlanTrigger,
    /// What it wants to be given, in the order of the definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<PlanInput>,
    /// Where the steps work that do not say it.
    #[serde(default, skip_serializing_if = "Isolation::is_shared")]
    pub isolation: Isolation,
    /// Whether the run has a tree of its own whatever its steps say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub run_tree: bool,
    /// The steps. They run one after another, unless some say what they need.
    pub steps: Vec<PlanStep>,
    /// The definition as it was written, for people.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub definition: Value,
}

/// Which form a plan was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanForm {
    /// Named steps, in YAML.
    Grimoire,
    /// Stages of parallel tasks, in JSON.
    Stages,
}

/// What starts a plan by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "on")]
pub enum PlanTrigger {
    #[default]
    Manual,
    Event {
        event: String,
        /// What must be true of it.
        #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
        condition: Option<Condition>,
    },
}

impl PlanTrigger {
    fn is_manual(&self) -> bool {
        *self == Self::Manual
    }
}

/// Something a plan wants to be given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanInput {
    pub name: String,
    /// What it is, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it must be.
    #[serde(default, rename = "type")]
    pub kind: InputType,
    /// Whether a run without it is refused.
    #[serde(default)]
    pub required: bool,
    /// What it is if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputType {
    #[default]
    String,
    Number,
    Boolean,
    Array,
    Object,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    /// Its name, unique in the plan; the stage's id in a stage workflow.
    pub name: String,
    /// The steps that must be over before it starts, by name. Without it that is the step before;
    /// in a plan of which no step has it, all run one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<String>>,
    /// It is skipped unless this holds when its turn comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// How long each attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "millis::maybe")]
    pub timeout: Option<Duration>,
    /// How often a failed attempt is repeated without asking a person.
    #[serde(default, skip_serializing_if = "RetryPolicy::is_default")]
    pub retry: RetryPolicy,
    /// The folder its jobs work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<TextTemplate>,
    /// What is added to the environment of its jobs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, TextTemplate>,
    /// The domain in which the processes of its jobs are started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The variable its result is kept in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// What happens when it fails.
    pub on_failure: OnFailure,
    /// What happens when a job of it is lost. Unless said, a person is asked, except where
    /// `on_failure` is to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_lost: Option<OnLost>,
    /// Whether a person must agree before it starts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_approval: bool,
    /// How long people have to agree before it counts as denied.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "millis::maybe")]
    pub approval_timeout: Option<Duration>,
    /// It must be confined, and nothing does that where it was compiled. So it asks first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfined: bool,
    /// Where its tasks work, if the step says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// What becomes of the trees of its tasks, if the step says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub land: Option<LandMode>,
    /// What happens when one cannot be landed, if the step says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<OnConflict>,
    /// The message of the commit with what an agent left uncommitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<TextTemplate>,
    pub action: StepAction,
    /// Where its fields stand in the definition, by name: `name`, `when`, `prompt`, `command`,
    /// `for_each`, `cwd`, `env.NAME`, `arbiter.prompt`, `message`, `tasks.ID.prompt`. For errors
    /// that show only when the step starts. May be empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<String, SourceLocation>,
}

/// Where something stands in a file; both count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceLocation {
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// How often a failed attempt is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryPolicy {
    /// How many attempts there are altogether, the first one included; at least 1.
    pub attempts: u32,
    /// How long to wait before each but the first.
    #[serde(default, with = "millis")]
    pub delay: Duration,
}

impl RetryPolicy {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 1, delay: Duration::ZERO }
    }
}

/// What happens when a step fails for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// A person is asked.
    Block,
    Fail,
    /// The next step starts; the step's output is null.
    Continue,
}

/// What happens when a job is lost: its process is gone, as after a power cut, and nothing recorded
/// how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLost {
    /// A person is asked: what it did may be done in part.
    Ask,
    /// It is started again, at most [`MAX_LOST_RETRIES`] times.
    Retry,
    /// It counts as failed, and `on_failure` says what follows.
    Fail,
}

/// How often a lost job is started again without asking. More mean that the job itself takes its
/// machine down.
pub const MAX_LOST_RETRIES: u32 = 3;

#[expect(clippy::large_enum_variant, reason = "a plan is made once and then shared")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", tag = "type")]
pub enum StepAction {
    Agent {
        agent: AgentSpec,
    },
    /// An agent in rounds, each judged by an arbiter, a command, or both.
    AgentLoop {
        /// The agent that works.
        agent: AgentSpec,
        /// The agent that judges. Its permissions and sandbox are made read-only at the start,
        /// whatever stands here. There is one, or `until`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arbiter: Option<AgentSpec>,
        /// The command that ends the loop by exit code 0. An arbiter is asked only where it passed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<LoopCheck>,
        /// How many rounds there are at most; at least 1.
        max_iterations: u32,
        /// What happens when the last round did not end it.
        on_max_iterations: OnLimit,
        /// What a further round knows of the round before.
        #[serde(default, skip_serializing_if = "LoopContext::is_fresh")]
        context: LoopContext,
    },
    /// One agent for each element of an array.
    ParallelAgents {
        agent: AgentSpec,
        /// What gives the array.
        for_each: TextTemplate,
        /// What the element is called in the agent's texts.
        #[serde(rename = "as")]
        item: String,
        /// How many run at a time; at least 1.
        max_concurrent: u32,
    },
    /// Steps that run one after another, in rounds, until a command or a condition says that they
    /// are done.
    Loop {
        /// What a round does: agents and scripts, at least one. Of a failure of one of them, `on_failure`
        /// says whether the round goes on without it.
        steps: Vec<PlanStep>,
        until: LoopEnd,
        /// How many rounds there are at most; at least 1.
        max_iterations: u32,
        /// What happens when the last round did not end it.
        on_max_iterations: OnLimit,
    },
    /// The same command for each element of an array.
    ForEach {
        /// What is done with an element: a script, or a gate with a command.
        step: Box<PlanStep>,
        /// What gives the array.
        for_each: TextTemplate,
        /// What the element is called in the texts of the step.
        #[serde(rename = "as")]
        item: String,
        /// How many run at a time; at least 1.
        max_concurrent: u32,
    },
    Script {
        script: ShellScript,
        /// What it must print.
        #[serde(default, skip_serializing_if = "ExpectedOutput::is_text")]
        expect: ExpectedOutput,
    },
    /// A check that has to pass.
    Gate {
        /// The command that checks; without one a person is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<ShellScript>,
        /// What is said to the person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<TextTemplate>,
        /// Whether the person may go on without deciding.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        skippable: bool,
    },
    /// Tasks side by side: one stage of a stage workflow.
    Stage {
        tasks: Vec<StageTask>,
    },
}

/// The task of a stage that has a role.
pub(crate) fn stage_task(tasks: &[StageTask], role: TaskRole) -> Option<&StageTask> {
    let TaskRole::Stage(place) = role else { return None };
    tasks.get(place as usize)
}

impl StepAction {
    /// The name of the step's type.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Agent { .. } => "agent",
            Self::AgentLoop { .. } => "agent-loop",
            Self::Loop { .. } => "loop",
            Self::ForEach { step, .. } => step.action.kind(),
            Self::ParallelAgents { .. } => "parallel-agents",
            Self::Script { .. } => "script",
            Self::Gate { .. } => "gate",
            Self::Stage { .. } => "stage",
        }
    }

    /// What happens when such a step fails and the definition does not say.
    pub(crate) fn default_on_failure(&self) -> OnFailure {
        match self {
            Self::ParallelAgents { .. }
            | Self::ForEach { .. }
            | Self::Gate { .. }
            | Self::Stage { .. } => OnFailure::Block,
            Self::Agent { .. }
            | Self::AgentLoop { .. }
            | Self::Loop { .. }
            | Self::Script { .. } => OnFailure::Fail,
        }
    }

    /// What it runs over, what an element is called, and how many run at a time; if it runs over
    /// something.
    pub fn fan_out(&self) -> Option<(&TextTemplate, &str, u32)> {
        match self {
            Self::ParallelAgents { for_each, item, max_concurrent, .. }
            | Self::ForEach { for_each, item, max_concurrent, .. } => {
                Some((for_each, item, *max_concurrent))
            }
            _ => None,
        }
    }

    /// How many rounds there are at most, and what happens when the last one did not end it.
    pub(crate) fn rounds(&self) -> Option<(u32, OnLimit)> {
        match self {
            Self::AgentLoop { max_iterations, on_max_iterations, .. }
            | Self::Loop { max_iterations, on_max_iterations, .. } => {
                Some((*max_iterations, *on_max_iterations))
            }
            _ => None,
        }
    }
}

impl PlanStep {
    /// The steps inside it.
    pub fn inner(&self) -> &[Self] {
        match &self.action {
            StepAction::Loop { steps, .. } => steps,
            StepAction::ForEach { step, .. } => std::slice::from_ref(step),
            _ => &[],
        }
    }

    /// The step that says what a task does, and the task's role in that: where there are steps inside, one
    /// of those.
    pub(crate) fn of_task(&self, role: TaskRole) -> (&Self, TaskRole) {
        let inner = match role {
            TaskRole::Inner { place, .. } => self.inner().get(place as usize),
            TaskRole::Item(_) => self.inner().first(),
            _ => None,
        };
        inner.map_or((self, role), |inner| (inner, TaskRole::Main))
    }
}

/// What the agent of a further round knows of the round before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoopContext {
    /// What it is told.
    #[default]
    Fresh,
    /// All of it: it continues the conversation.
    Continue,
}

impl LoopContext {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
    fn is_fresh(&self) -> bool {
        *self == Self::Fresh
    }
}

/// What happens when a loop has had its last round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLimit {
    /// A person is asked.
    #[default]
    Block,
    /// The last round's output is the result.
    Proceed,
    Fail,
}

/// How an agent is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    pub adapter: String,
    /// What people call it; the task's id if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// With a terminal, or with one prompt and no questions.
    pub mode: AgentMode,
    /// The model, if one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<TextTemplate>,
    /// What it may do without asking; nothing means the adapter's default for the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionLevel>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<TextTemplate>,
    /// Whether the adapter's policy may answer for a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_approve: bool,
    /// How far it is confined.
    #[serde(default)]
    pub sandbox: SandboxMode,
    /// What it is kept from without a sandbox, if the step says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<ConfineMode>,
    /// What it is told at launch. Only an interactive agent can do without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<TextTemplate>,
    /// What it must answer.
    #[serde(default, skip_serializing_if = "ExpectedOutput::is_text")]
    pub expect: ExpectedOutput,
    /// What it is told later, one each time it is idle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_inputs: Vec<TextTemplate>,
    /// Whether it stays when its task is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_alive: bool,
    /// Whether it is spoken to in its own protocol without a terminal, where it has one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub channel: bool,
    /// Which exit codes count as success.
    #[serde(default)]
    pub ok_exit_codes: ExitCodes,
    /// The size of its terminal; the usual one if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<TerminalSize>,
}

impl AgentSpec {
    /// An agent of this type with nothing else said.
    pub fn new(adapter: impl Into<String>, mode: AgentMode, prompt: Option<TextTemplate>) -> Self {
        Self {
            adapter: adapter.into(),
            name: None,
            mode,
            model: None,
            permissions: None,
            extra_args: Vec::new(),
            auto_approve: false,
            sandbox: SandboxMode::Off,
            confine: None,
            prompt,
            expect: ExpectedOutput::Text,
            pending_inputs: Vec::new(),
            keep_alive: false,
            channel: false,
            ok_exit_codes: ExitCodes::default(),
            size: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellScript {
    pub command: ShellCommand,
    /// The shell and its arguments, before the command; nothing means the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Vec<String>>,
    /// Which exit codes count as success.
    #[serde(default)]
    pub ok_exit_codes: ExitCodes,
    /// How far it is confined.
    #[serde(default)]
    pub sandbox: SandboxMode,
    /// What it is kept from without a sandbox, if the step says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<ConfineMode>,
}

/// What ends a loop of several steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopEnd {
    /// A command, by exit code 0.
    Command(LoopCheck),
    /// This holds after a round.
    Condition(Condition),
}

impl StepAction {
    /// The command that says after each round whether the loop is done, if one does.
    pub fn check(&self) -> Option<&LoopCheck> {
        match self {
            Self::AgentLoop { until, .. } => until.as_ref(),
            Self::Loop { until: LoopEnd::Command(check), .. } => Some(check),
            _ => None,
        }
    }
}

/// The command that says after each round whether a loop is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopCheck {
    pub script: ShellScript,
    /// How long it may take, if that is not what the step says. Out of time is not passed.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "millis::maybe")]
    pub timeout: Option<Duration>,
    /// Whether it is run before the first round as well. If it passes then, there is no round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageTask {
    /// Its id as given, unique in the workflow.
    pub id: TaskId,
    pub agent: AgentSpec,
    /// The folder it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<TextTemplate>,
    /// What is added to its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, TextTemplate>,
    /// Where it works, if the task says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// The domain in which its process is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "millis::maybe")]
    pub timeout: Option<Duration>,
    /// What happens when its job is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_lost: Option<OnLost>,
}
