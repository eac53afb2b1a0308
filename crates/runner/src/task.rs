//! What a runner is asked to run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use coven_model::{AgentMode, PermissionLevel};
use coven_runtime::domain::{Domain, Sandbox};
use coven_terminal::screen::GridSize;

use crate::hook::HookAddress;

/// One task for one agent.
#[derive(Clone, Debug)]
pub struct AgentTask {
    /// Tells this job from all others; the agent has it as `COVEN_JOB`.
    pub job: String,
    pub mode: AgentMode,
    pub prompt: Option<String>,
    /// Arguments of the task's own.
    pub extra_args: Vec<String>,
    /// What the agent may do; the adapter's default if missing.
    pub permission: Option<PermissionLevel>,
    /// The model; the agent's own choice if missing.
    pub model: Option<String>,
    /// Whether the adapter's arguments for automatic approval are added.
    pub auto_approve: bool,
    /// The conversation to continue.
    pub resume: Option<String>,
    /// The id for a new conversation, where the agent lets us choose; a UUID.
    pub new_session: Option<String>,
    /// Messages to send one by one, each when the agent is idle. When the last one's turn is over
    /// the task is done, though the program still runs.
    pub pending_inputs: Vec<String>,
    /// Whether the process stays when the task is done.
    pub keep_alive: bool,
    /// Which exit codes count as success.
    pub ok_codes: OkCodes,
    /// How long the task may take.
    pub timeout: Option<Duration>,
    /// The size of the terminal.
    pub size: GridSize,
    /// Texts that must not appear in clean output or excerpts.
    pub secrets: Vec<String>,
    /// Whether a headless agent is spoken to in its own protocol, where it has one.
    pub channel: ChannelUse,
    /// Why it is not spoken to all the same: its program refused to be.
    pub channel_refused: Option<String>,
    /// Where an agent on a terminal is to report to, where its program can.
    pub hooks: Option<HookAddress>,
}

/// Whether a headless agent is spoken to in its own protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelUse {
    /// It is started with its prompt, for one turn.
    #[default]
    Unwanted,
    /// It is, where its program can.
    Wanted,
    /// It cannot do without: there is more to say to it than its prompt.
    Needed,
}

impl ChannelUse {
    pub fn is_wanted(self) -> bool {
        self != Self::Unwanted
    }
}

impl AgentTask {
    /// An interactive task with nothing special about it.
    pub fn interactive(job: impl Into<String>, prompt: Option<&str>) -> Self {
        Self {
            job: job.into(),
            mode: AgentMode::Interactive,
            prompt: prompt.map(str::to_owned),
            extra_args: Vec::new(),
            permission: None,
            model: None,
            auto_approve: false,
            resume: None,
            new_session: None,
            pending_inputs: Vec::new(),
            keep_alive: false,
            ok_codes: OkCodes::default(),
            timeout: None,
            size: GridSize::new(120, 40),
            secrets: Vec::new(),
            channel: ChannelUse::Unwanted,
            channel_refused: None,
            hooks: None,
        }
    }

    /// Whether it is meant to be spoken to in its own protocol, as far as is known before its
    /// program is looked at.
    pub fn wants_channel(&self) -> bool {
        self.channel.is_wanted() && self.channel_refused.is_none()
    }

    /// A headless task with nothing special about it.
    pub fn headless(job: impl Into<String>, prompt: &str) -> Self {
        Self { mode: AgentMode::Headless, ..Self::interactive(job, Some(prompt)) }
    }
}

/// Which exit codes count as success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OkCodes {
    These(Vec<i32>),
    /// Whatever the program says: any exit is success.
    Any,
}

impl Default for OkCodes {
    fn default() -> Self {
        Self::These(vec![0])
    }
}

impl OkCodes {
    /// Whether a code counts as success.
    pub fn contains(&self, code: i32) -> bool {
        match self {
            Self::These(codes) => codes.contains(&code),
            Self::Any => true,
        }
    }
}

/// Where a task runs.
#[derive(Clone)]
pub struct TaskPlace {
    /// What starts its process.
    pub domain: Arc<dyn Domain>,
    pub cwd: PathBuf,
    /// The whole environment it starts from; the adapter changes it.
    pub env: BTreeMap<OsString, OsString>,
    /// The folder of this attempt, for domains that keep one.
    pub folder: Option<PathBuf>,
    /// A folder for what it is given to read, such as a prompt that is too long for an argument;
    /// the folder of the attempt if none is said.
    pub inputs: Option<PathBuf>,
    /// What it may write to, if it is confined.
    pub sandbox: Option<Sandbox>,
    /// Programs that are not to be looked up in `PATH`: `coven` is the one that runs.
    pub programs: BTreeMap<String, PathBuf>,
}

impl TaskPlace {
    /// The folder for what the task is given to read.
    pub(crate) fn inputs(&self) -> Option<&Path> {
        self.inputs.as_deref().or(self.folder.as_deref())
    }
}
