//! The adapter file: everything Coven knows about one agent CLI, as data.
//!
//! The structs here are the published schema (`coven schema adapter`): their doc comments are its
//! descriptions. Every key may be missing, because a file of a later layer says only what it
//! changes; [`crate::ConfigAdapter`] fills in the defaults.

mod abilities;
mod answer;
mod approval;
mod channel;
mod check;
mod entries;
mod grant;
mod hooks;
pub mod layering;
mod merge;
mod versioned;

use std::collections::BTreeMap;
use std::time::Duration;

use coven_model::{AgentMode, AutoPolicy, PermissionLevel, TerminalSize};
use coven_notation::{FileProblem, FileSyntax, HumanDuration, ParsedFile, SourceFile};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{ScreenRules, is_hidden_line};
use crate::sniffer::START_LIMIT;

pub use answer::{AnswerConfig, AnswerLine};
pub use approval::ApprovalConfig;
pub use channel::ChannelConfig;
pub use entries::EntriesConfig;
pub use grant::{FullGrant, PermissionGrant};
pub use hooks::HooksConfig;
pub use merge::merge;
pub use versioned::{VersionedLaunch, VersionedMode, VersionedModes};

/// How long a program has to end by itself when its adapter does not say.
const DEFAULT_STOP_GRACE: Duration = Duration::from_secs(5);

/// The smallest terminal that shows questions whole when its adapter does not say.
const DEFAULT_USABLE_SIZE: TerminalSize = TerminalSize { columns: 40, rows: 10 };

/// The version of the format this program writes and knows.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// An adapter file: how to start, read, answer and stop one agent CLI.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(title = "Coven adapter")]
pub struct Config {
    /// Where an editor finds the schema of this file. Ignored.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The version of this format: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    /// How the adapter is shown.
    pub metadata: MetadataConfig,
    /// The program to start; the adapter's type if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The oldest version of the program that this file is known to work with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_version: Option<String>,
    /// The version of the program that this file was tested with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tested_version: Option<String>,
    /// Arguments that make the program print its version.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub version_args: Vec<String>,
    /// How to install the program, in words, for a person who does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// Changes to the environment of the program.
    pub env: EnvConfig,
    /// How the program is started, by mode.
    pub modes: ModesConfig,
    /// Arguments for each permission level.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub permissions: BTreeMap<PermissionLevel, PermissionGrant>,
    /// Arguments that choose a model; `${model}` stands for its name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<String>,
    /// Rules that read the screen. Their order is their priority.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub states: IndexMap<String, StateRule>,
    /// What the program says beside the screen.
    pub signals: SignalsConfig,
    /// Patterns of what changes by itself while a question stays the same (seconds, spinners).
    /// Removed before a digest is taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
    /// Dialogs of the program itself, with the keys that answer them. They come before `states`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dialogs: Vec<DialogConfig>,
    /// What an approval is about: where the tool and the command stand in it. The first that
    /// matches counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalConfig>,
    /// How the entries of its menus are found and used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<EntriesConfig>,
    /// Where the program writes down what was said on a terminal, so that the output of a task is its
    /// answer. Without it, the output is all that the screen shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerConfig>,
    /// The smallest terminal on which the program shows its questions whole, such as `60x15`. What
    /// it asks on a smaller one counts as cut and is never answered without a person. Without it,
    /// `40x10`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_size: Option<String>,
    /// How long the program may take to start before a person is told; 60 seconds if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_bound: Option<HumanDuration>,
    /// The keys for what a person does most.
    pub keys: KeysConfig,
    /// How to answer the program without a person, when a task asks for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_policy: Option<AutoPolicy>,
    /// The program's own protocol, for headless tasks that ask or take more than one prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelConfig>,
    /// What the program reports by itself while it runs on a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksConfig>,
    /// How to continue an earlier conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeConfig>,
    /// What is different about starting some versions of the program. Where several entries are
    /// about a version, later ones win.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<VersionedLaunch>,
    /// What the program must be able to write for itself, for sandboxes.
    pub state: StateFiles,
    /// How the program is stopped.
    pub stop: StopConfig,
}

/// How an adapter is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MetadataConfig {
    /// The name for people; the adapter's type if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The name of an icon; `agent` if missing. `coven adapter check` names those there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// One sentence about the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Changes to the environment of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EnvConfig {
    /// Variables to set, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Variables to take away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

/// The two ways to start a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ModesConfig {
    /// How the program is started on a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive: Option<ModeConfig>,
    /// One prompt, no terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headless: Option<ModeConfig>,
}

impl ModesConfig {
    /// The settings of a mode, if the program has it.
    pub fn get(&self, mode: AgentMode) -> Option<&ModeConfig> {
        match mode {
            AgentMode::Interactive => self.interactive.as_ref(),
            AgentMode::Headless => self.headless.as_ref(),
        }
    }
}

/// How a program is started in one mode. The arguments are `baseArgs`, those of the permission
/// level, of the model and of a resumed conversation, the caller's, and the prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ModeConfig {
    /// Arguments that always come first.
    pub base_args: Vec<String>,
    /// Where the prompt goes.
    pub prompt_position: PromptPosition,
    /// The option that takes the prompt, where `promptPosition` is `flag`; the argument that lets
    /// the program read its input, where it is `stdin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_flag: Option<String>,
    /// Arguments by permission level, where this mode has its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub permissions: BTreeMap<PermissionLevel, PermissionGrant>,
    /// Arguments that continue an earlier conversation, where this mode has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Vec<String>>,
    /// The permission level of a task that names none. Headless runs default to `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_permission: Option<PermissionLevel>,
    /// How the output is read (`claude-stream-json`, `codex-json`, `gemini-stream-json`,
    /// `opencode-json`, `qwen-stream-json`, `copilot-json`, `text`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Whether a headless run needs a terminal all the same.
    pub use_pty: bool,
    /// What a headless run gets as input.
    pub stdin: StdinSource,
    /// Changes to the environment in this mode alone.
    pub env: EnvConfig,
}

/// Where a prompt goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptPosition {
    /// It is the last argument.
    #[default]
    Last,
    /// It is the value of an option, which comes last.
    Flag,
    /// The program takes none at the start; it is typed once the program is idle.
    Typed,
    /// The program reads it from its input, where other users of the machine cannot see it.
    /// `promptFlag` is an argument that says so, if one is needed. Only for runs without a
    /// terminal.
    Stdin,
    /// It is in a file that only the user can read, and the last argument names that file.
    File,
    /// It is a message of the program's own protocol (`channel`).
    Channel,
}

/// What a headless run gets as input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StdinSource {
    /// Nothing: it is at its end from the start.
    #[default]
    Null,
    /// A pipe that stays open.
    Pipe,
}

/// One rule that reads the screen. Only `pattern` is needed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateRule {
    /// A regular expression over the lines of the region; `^` and `$` stand for the ends of a
    /// line.
    pub pattern: String,
    /// Flags of the pattern: `i` ignores case, `s` lets `.` match line ends, `x` allows spaces
    /// and comments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flags: String,
    /// What a match means. Without it, a rule named `interaction_idle` means idle, any other name
    /// with `interaction` in it an approval, and every other name working.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MatchKind>,
    /// Where to look: `screen`, `tail:N` (the last N lines that are not empty at the end),
    /// `head:N`, or `cursor:N` (the cursor's line and the N-1 above it). Without it, `screen`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// A pattern that must not match in the same region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<String>,
    /// A pattern for the line with which a question begins. What is shown to a person, and what
    /// an answer is bound to, goes from the last such line above the match to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
    /// A pattern for what a person said. The rule counts only below the last such line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// Whether the cursor must be visible, or must not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<CursorRule>,
    /// Counts even where the program itself says by OSC 7501 or its title that it is idle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite_signal: bool,
    /// Whether what is typed as an answer is a secret, such as a password: it is delivered, and
    /// recorded nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// What the rule is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What a rule asks of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CursorRule {
    /// It must be visible.
    Visible,
    /// It must be hidden.
    Hidden,
}

/// What a match means.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MatchKind {
    /// The program is starting up.
    Starting,
    /// It works on its turn.
    Working,
    /// It is ready for the next message.
    Idle,
    /// It asks whether it may do something.
    Approval,
    /// It asks for a text.
    Question,
    /// It offers entries to choose from.
    Choice,
    /// It shows a dialog of its own.
    Dialog,
    /// Its turn ended with an error.
    Error,
    /// It does not work; what it does else, the screen says. For titles.
    Rest,
}

/// What a program says beside the screen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SignalsConfig {
    /// Whether it tells its state by OSC 7501.
    pub osc7501: bool,
    /// What its window title means. The first that matches counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub title: Vec<TitleRule>,
    /// What silence means, where nothing else is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietRule>,
}

/// What a window title means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TitleRule {
    /// A regular expression over the title.
    pub pattern: String,
    /// Flags of the pattern.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flags: String,
    /// What a match means.
    pub kind: MatchKind,
}

/// What it means that a program prints nothing for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuietRule {
    /// How long nothing was printed.
    pub after: HumanDuration,
    /// What the agent is doing then.
    pub kind: MatchKind,
}

/// A dialog of the program itself, with the keys that answer it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DialogConfig {
    /// The name of the dialog, for policies and messages.
    pub name: String,
    /// A regular expression over the lines of the region.
    pub pattern: String,
    /// Flags of the pattern.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flags: String,
    /// Where to look, as in a state. Without it, `screen`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// A pattern that must not match in the same region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<String>,
    /// A pattern for the line with which the dialog begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
    /// What it asks for; a dialog if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MatchKind>,
    /// Whether what is typed as an answer is a secret, such as an API key: it is delivered, and
    /// recorded nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// The keys for each answer, such as `accept` and `decline`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Vec<String>>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What a person does about it, where that is not to be seen in the dialog: for a login, how to
    /// sign in once for all agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// The keys for what a person does most. Names as in `Enter`, `Esc`, `Ctrl+C`, `2`, `y`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KeysConfig {
    /// Keys that approve, this once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approve: Vec<String>,
    /// Keys that approve, so that the agent does not ask again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approve_always: Vec<String>,
    /// Keys that deny what the agent asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Keys with which the program shows all of a question that it has cut off. A person is told of
    /// them; they are never pressed without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub show_all: Vec<String>,
    /// Keys that interrupt the agent's turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interrupt: Vec<String>,
    /// Keys that submit the text that was typed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submit: Vec<String>,
    /// Keys that quit the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quit: Vec<String>,
}

/// How to continue an earlier conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ResumeConfig {
    /// Arguments that continue it; `${agentSession}` stands for its id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Arguments that begin a new conversation with an id of our own (a UUID), where the program
    /// can.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_args: Vec<String>,
    /// A pattern whose first group is the id, as the program prints it on its screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screen_pattern: Option<String>,
}

/// What a program must be able to write for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StateFiles {
    /// Files and folders; `~` is the user's home.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Files of the user that a confined job gets a copy of, in a home of its own: settings and
    /// credentials, no histories. Where it is empty, the job may write to `write` itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<String>,
    /// Those of the copied files that are brought back when the program renewed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// Further TCP ports that a job which may only read connects to. Those of web servers (80, 443)
    /// and of addresses in its environment (`…_BASE_URL`, `…_PROXY`) are allowed anyway.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Variables that move these files elsewhere.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// How a program is stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StopConfig {
    /// How long it has to end by itself after the polite signal; 5 seconds if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<HumanDuration>,
}

impl Config {
    /// The smallest terminal on which the program shows its questions whole.
    pub fn usable_size(&self) -> TerminalSize {
        let said = self.usable_size.as_ref().and_then(|size| size.parse().ok());
        said.unwrap_or(DEFAULT_USABLE_SIZE)
    }

    /// How long the program may take to start before a person is told.
    pub fn start_bound(&self) -> Duration {
        self.start_bound.as_ref().map_or(START_LIMIT, |bound| bound.0)
    }

    /// Whether what is typed as an answer to this rule's question must not be recorded.
    pub fn is_secret(&self, rule: &str) -> bool {
        if is_hidden_line(rule) {
            return true;
        }
        let state = || self.states.get(rule).is_some_and(|state| state.secret);
        self.dialog(rule).map_or_else(state, |dialog| dialog.secret)
    }

    /// The dialog that a rule of the sniffer names.
    pub fn dialog(&self, rule: &str) -> Option<&DialogConfig> {
        let name = rule.strip_prefix("dialog:")?;
        self.dialogs.iter().find(|dialog| dialog.name == name)
    }

    /// What the program may do without asking where a task does not say it. Headless runs have no
    /// person to ask, so it is everything there. Nothing for a program that knows no such levels.
    pub fn default_permission(&self, mode: AgentMode) -> Option<PermissionLevel> {
        let config = self.modes.get(mode)?;
        let headless = (mode == AgentMode::Headless).then_some(PermissionLevel::All);
        let known = |level: &PermissionLevel| {
            config.permissions.contains_key(level) || self.permissions.contains_key(level)
        };
        config.default_permission.or(headless).filter(known)
    }

    /// How long the program has to end by itself.
    pub fn grace(&self) -> Duration {
        self.stop.grace.as_ref().map_or(DEFAULT_STOP_GRACE, |grace| grace.0)
    }

    /// Reads an adapter file and reports every problem in it.
    pub fn read(source: &SourceFile) -> ParsedFile<Self> {
        let mut read = coven_notation::read::<Self>(source, FileSyntax::Json);
        if let Some(node) = &read.node {
            let found = check::check(source, node);
            if found.iter().any(|problem| problem.code == check::UNKNOWN_PERMISSION) {
                // The same, told by the deserialiser, which knows no better place.
                read.problems.retain(|problem| problem.code != "bad-value");
            }
            read.problems.extend(found);
            if let Some(Err(error)) = read.value.as_ref().map(ScreenRules::new) {
                // Each pattern is right, but one or all of them are too large to be used.
                let place = node.get("states").or(node.get("dialogs")).unwrap_or(node);
                let problem = FileProblem::error("rules-too-large", place.span, error.to_string());
                if !read.problems.iter().any(FileProblem::is_error) {
                    read.problems.push(problem.help("make the patterns shorter"));
                }
            }
            if read.problems.iter().any(FileProblem::is_error) {
                read.value = None;
            }
        }
        read
    }
}

/// The JSON schema of the adapter file.
pub fn schema() -> serde_json::Value {
    coven_notation::schema_of::<Config>()
}

#[cfg(test)]
mod tests;
