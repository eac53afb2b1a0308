//! A grimoire as it is written.

use std::collections::BTreeMap;

use coven_model::{AgentMode, ConfineMode, PermissionLevel, SandboxMode};
use coven_notation::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    OnLostName, confine, domain, exit_codes, expect, for_each, kebab, sandbox, shell, size, trigger,
};
use crate::plan::{
    InputType, Isolation, LandMode, LoopContext, OnConflict, OnFailure, OnLimit, OnLost,
};

/// A grimoire: a workflow of named steps that run one after another, or as they need each other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grimoire {
    /// What it is called: lowercase letters, digits and dashes, such as `review-loop`.
    #[schemars(schema_with = "kebab")]
    pub name: String,
    /// What it does, in a sentence for people who choose between grimoires.
    #[schemars(length(min = 1))]
    pub description: String,
    /// What starts it: `manual` (the default), or an event.
    #[schemars(schema_with = "trigger")]
    #[serde(default)]
    pub trigger: Value,
    /// What it wants to be given, by name: `${input.NAME}`.
    #[serde(default)]
    pub inputs: BTreeMap<String, InputDefinition>,
    /// What holds for every step that does not say otherwise.
    #[serde(default)]
    pub defaults: StepDefaults,
    /// The steps, in the order in which they run unless they say what they need.
    #[schemars(length(min = 1))]
    pub steps: Vec<StepDefinition>,
}

/// Something a grimoire wants to be given: a map such as `{description: A path, required: true}`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputDefinition {
    /// What it is, for people.
    pub description: String,
    /// What it must be; `string` if nothing is said.
    #[serde(rename = "type")]
    #[schemars(with = "InputTypeName")]
    pub kind: InputType,
    /// Whether a run without it is refused.
    pub required: bool,
    /// What it is if it is not given.
    pub default: Option<Value>,
}

/// The types of inputs.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum InputTypeName {
    String,
    Number,
    Boolean,
    Array,
    Object,
}

/// What holds for every step that does not say otherwise. Keys that a step's type does not have
/// are left out there.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StepDefaults {
    /// The agent's type, such as `claude`; `${input.NAME}` lets the person who starts a run choose.
    pub adapter: Option<String>,
    /// `headless` (the default: one prompt, no questions) or `interactive` (on a terminal).
    pub mode: Option<AgentMode>,
    /// The model that the agent uses, by the name its CLI knows.
    pub model: Option<String>,
    /// What agents may do without asking: `read-only`, `ask`, `edits` or `all`.
    pub permissions: Option<PermissionLevel>,
    /// Further arguments for the agent's program.
    pub extra_args: Option<Vec<String>>,
    /// Whether the adapter's policy may answer an agent's questions.
    pub auto_approve: Option<bool>,
    /// Whether headless agents are spoken to in their own protocol, where their adapter has one. Those
    /// with `permissions: ask` are without it.
    pub channel: Option<bool>,
    /// How far jobs are confined: `off`, `read-only`, `workspace`, or `required`: as `workspace`, and
    /// a person is asked first where nothing confines them.
    #[schemars(schema_with = "sandbox")]
    pub sandbox: Option<SandboxChoice>,
    /// What jobs without a sandbox are kept from: `off`, `signals` (the default of agents that may
    /// not do everything) or `files`.
    #[schemars(schema_with = "confine")]
    pub confine: Option<ConfineMode>,
    /// The size of agents' terminals, such as `100x30`: columns and rows.
    #[schemars(schema_with = "size")]
    pub size: Option<String>,
    /// Where processes are started: `holder`, which keeps them running without the daemon.
    #[schemars(schema_with = "domain")]
    pub domain: Option<String>,
    /// How long each attempt may take, such as `30m`.
    pub timeout: Option<HumanDuration>,
    /// How often a failed attempt is repeated.
    pub retry: Option<RetryDefinition>,
    /// Where tasks work: `shared`, `run`, `task` or `auto`. Without it they share the run's base
    /// directory.
    pub isolation: Option<Isolation>,
    /// The folder to work in; relative ones start at the run's base directory.
    pub cwd: Option<String>,
    /// What is added to the environment of each job.
    pub env: BTreeMap<String, String>,
    /// The shell for commands.
    #[schemars(schema_with = "shell")]
    pub shell: Value,
}

/// How far a job is confined, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxChoice {
    Off,
    ReadOnly,
    Workspace,
    /// As `Workspace`, and it must be enforced.
    Required,
}

impl SandboxChoice {
    pub(crate) fn mode(self) -> SandboxMode {
        match self {
            Self::Off => SandboxMode::Off,
            Self::ReadOnly => SandboxMode::ReadOnly,
            Self::Workspace | Self::Required => SandboxMode::Workspace,
        }
    }
}

/// One step: a map with a `name`, a `type` and what the type needs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepDefinition {
    /// What it is called: lowercase letters, digits and dashes, once in the grimoire.
    #[schemars(schema_with = "kebab")]
    pub name: String,
    /// What it does: `agent`, `agent-loop`, `parallel-agents`, `loop`, `script` or `gate`.
    #[serde(rename = "type")]
    pub kind: StepType,
    /// The steps that must be over before it starts, by name: `[plan, build]`; `[]` starts it at
    /// once. Without it, the step written before it.
    pub needs: Option<Vec<String>>,
    /// The step is skipped unless this holds when its turn comes: `size == 'large'`.
    pub when: Option<String>,
    /// How long each attempt may take, such as `30m`.
    pub timeout: Option<HumanDuration>,
    /// How often a failed attempt is repeated.
    pub retry: Option<RetryDefinition>,
    /// The folder to work in; relative ones start at the run's base directory.
    pub cwd: Option<String>,
    /// Where its tasks work: `shared` (in the run's base directory), `run` (in the run's git
    /// worktree), `task` (each in a worktree of its own), or `auto`: agents of a fan-out that write
    /// have a worktree each, and the run has one too then.
    pub isolation: Option<Isolation>,
    /// What becomes of the worktrees of its tasks: `in-order` lands them on the run's worktree in
    /// the order of the tasks (the default), `ask` asks a person first, `none` leaves them.
    pub land: Option<LandMode>,
    /// What happens when one cannot be landed because both sides changed the same: `block` asks a
    /// person (the default), `agent` lets its agent resolve it, `skip` goes on without it.
    pub on_conflict: Option<OnConflict>,
    /// The message of the commit with what an agent left uncommitted in its worktree.
    pub commit: Option<String>,
    /// What is added to the environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The variable that the result is kept in: `${NAME}` in later steps.
    pub output: Option<String>,
    /// What happens when the step fails: `block` asks a person, `fail` fails the run, `continue`
    /// goes on. Gates and parallel agents block unless told otherwise, the others fail.
    #[schemars(with = "OnFailureName")]
    #[serde(default)]
    pub on_failure: Option<OnFailure>,
    /// What happens when its process is gone and nothing recorded how it ended, as after a power
    /// cut: `ask` a person (the default), `retry` it, or let it `fail`, which follows `on_failure`.
    #[schemars(with = "OnLostName")]
    #[serde(default)]
    pub on_lost: Option<OnLost>,
    /// Whether a person must agree before it starts.
    #[serde(default)]
    pub needs_approval: bool,
    /// How long people have to agree, such as `2h`; then it is denied. For steps with
    /// `needs_approval` and gates that ask a person.
    pub approval_timeout: Option<HumanDuration>,
    /// What the agent is told. For agents.
    pub prompt: Option<String>,
    /// The agent's type, such as `claude`. For agents.
    pub adapter: Option<String>,
    /// `headless` (the default: one prompt, no questions) or `interactive`. For agents.
    pub mode: Option<AgentMode>,
    /// The model. For agents.
    pub model: Option<String>,
    /// What the agent may do without asking: `read-only`, `ask`, `edits` or `all`. For agents.
    pub permissions: Option<PermissionLevel>,
    /// Further arguments for the agent's program. For agents.
    pub extra_args: Option<Vec<String>>,
    /// Whether the adapter's policy may answer the agent's questions. For agents.
    pub auto_approve: Option<bool>,
    /// Whether a headless agent is spoken to in its own protocol, where its adapter has one. One with
    /// `permissions: ask` is without it. For agents.
    pub channel: Option<bool>,
    /// How far the job is confined: `off`, `read-only`, `workspace`, or `required`: as `workspace`,
    /// and a person is asked first where nothing confines it.
    #[schemars(schema_with = "sandbox")]
    #[serde(default)]
    pub sandbox: Option<SandboxChoice>,
    /// What the job is kept from without a sandbox: `off`, `signals` (the default of agents that may
    /// not do everything) or `files`.
    #[schemars(schema_with = "confine")]
    #[serde(default)]
    pub confine: Option<ConfineMode>,
    /// The size of the agent's terminal, such as `100x30`: columns and rows. For agents.
    #[schemars(schema_with = "size")]
    #[serde(default)]
    pub size: Option<String>,
    /// Where its process is started: `holder`, which keeps it running without the daemon.
    #[schemars(schema_with = "domain")]
    #[serde(default)]
    pub domain: Option<String>,
    /// What the result must be: `text`, `any` (also nothing), `json`, a JSON schema, or `comments`
    /// (a review, shown at the lines it is about). For agents and scripts.
    #[schemars(schema_with = "expect")]
    #[serde(default)]
    pub expect: Value,
    /// Which exit codes count as success: a list, or `any`; 0 if nothing is said.
    #[schemars(schema_with = "exit_codes")]
    #[serde(default)]
    pub ok_exit_codes: Value,
    /// The array that is run over, an agent or a command for each element: `${tasks}`, or a list. For
    /// agents, scripts and gates with a command.
    #[schemars(schema_with = "for_each")]
    #[serde(default)]
    pub for_each: Value,
    /// What an element is called in the texts; `item` if nothing is said. With `for_each`.
    #[serde(rename = "as")]
    pub item: Option<String>,
    /// How many run at a time; 4 if nothing is said. With `for_each`.
    #[schemars(range(min = 1, max = 1000))]
    pub max_concurrent: Option<u32>,
    /// The agent that judges each round. For `agent-loop`.
    pub arbiter: Option<ArbiterDefinition>,
    /// The steps of a round: agents and scripts, one after the other. For `loop`.
    #[schemars(length(min = 1))]
    pub steps: Option<Vec<StepDefinition>>,
    /// What ends the loop: a command by exit code 0, `{command: cargo test}`, in an `agent-loop` beside
    /// or instead of an arbiter; in a `loop` also a condition that holds after a round. For loops.
    pub until: Option<UntilChoice>,
    /// How many rounds there are at most; 5 if nothing is said. For loops.
    #[schemars(range(min = 1, max = 1000))]
    pub max_iterations: Option<u32>,
    /// What happens after the last round: `block` (the default) asks a person, `proceed` goes on
    /// with what there is, `fail` fails the step. For loops.
    #[schemars(with = "OnLimitName")]
    #[serde(default)]
    pub on_max_iterations: Option<OnLimit>,
    /// What each further round begins with: `fresh` (the default) is a new conversation, `continue`
    /// the conversation of the round before. For `agent-loop`.
    #[schemars(with = "LoopContextName")]
    #[serde(default)]
    pub context: Option<LoopContext>,
    /// The command. For scripts and gates.
    pub command: Option<String>,
    /// The shell for the command: `bash`, `sh` or `zsh`, or a program with arguments.
    #[schemars(schema_with = "shell")]
    #[serde(default)]
    pub shell: Value,
    /// What is said to the person who is asked. For gates.
    pub message: Option<String>,
    /// Whether the person may also skip the question and go on. For gates without a command.
    #[serde(default)]
    pub skippable: bool,
}

/// The types of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum StepType {
    /// Runs one agent once.
    Agent,
    /// An agent and an arbiter in turns.
    AgentLoop,
    /// One agent for each element of an array.
    ParallelAgents,
    /// Steps in rounds, until a command or a condition says that they are done.
    Loop,
    /// Runs a command in a shell.
    Script,
    /// A check that has to pass.
    Gate,
}

/// What a step may do when it fails.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum OnFailureName {
    Block,
    Fail,
    Continue,
}

/// What a loop may do after its last round.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum OnLimitName {
    Block,
    Proceed,
    Fail,
}

/// What a round of a loop may begin with.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum LoopContextName {
    Fresh,
    Continue,
}

/// How often a failed attempt is repeated: a map such as `{attempts: 3, delay: 10s}`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryDefinition {
    /// How many attempts there are altogether, the first one included.
    #[schemars(range(min = 1, max = 100))]
    pub attempts: u32,
    /// How long to wait before each but the first, such as `10s`.
    pub delay: Option<HumanDuration>,
}

/// What ends a loop, as it is written.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum UntilChoice {
    /// A condition.
    Condition(String),
    Command(UntilDefinition),
}

/// The command that says after each round whether a loop is done.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UntilDefinition {
    /// The command. Exit code 0 ends the loop; what it prints otherwise is `${verdict.reason}` in the
    /// next round. An arbiter is asked only after it passed.
    #[schemars(length(min = 1))]
    pub command: String,
    /// The shell for the command; that of the step's defaults if nothing is said.
    #[schemars(schema_with = "shell")]
    #[serde(default)]
    pub shell: Value,
    /// How long it may take, such as `10m`; the step's timeout if nothing is said.
    pub timeout: Option<HumanDuration>,
    /// Whether it is run before the first round as well. If it passes there, no agent is started and
    /// the output of the step is null.
    #[serde(default)]
    pub first: bool,
}

/// The agent that judges the rounds of a loop. It can look at everything and change nothing.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArbiterDefinition {
    /// What it is asked. It is given the round's output and the story of the rounds so far.
    #[schemars(length(min = 1))]
    pub prompt: String,
    /// Its type; that of the step if nothing is said.
    pub adapter: Option<String>,
    /// The model that the agent uses, by the name its CLI knows.
    pub model: Option<String>,
    /// Further arguments for its program.
    pub extra_args: Option<Vec<String>>,
}
