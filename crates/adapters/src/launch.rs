//! How a program is started: from the adapter file and what a task asks for, the exact argv and
//! environment.

use std::collections::BTreeMap;

use coven_model::{AgentMode, PermissionLevel};

use crate::channel::{ChannelKind, ChannelOptions};
use crate::config::{
    ChannelConfig, Config, EnvConfig, HooksConfig, ModeConfig, PromptPosition, StdinSource,
};
use crate::hook::{self, HookTarget, TOKEN_VARIABLE};
use crate::version::ProgramVersion;

/// The longest single argument that Linux takes, without its closing NUL.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 128 * 1024 - 1;

/// The name of the file that a longer prompt is written to, in the folder the caller gives.
pub(crate) const PROMPT_FILE: &str = "prompt.md";

/// What a task asks of a launch.
#[derive(Clone, Debug, Default)]
pub struct LaunchRequest<'a> {
    pub mode: AgentMode,
    pub prompt: Option<&'a str>,
    /// Arguments of the task's own.
    pub extra_args: &'a [String],
    /// What the agent may do; the mode's default if missing.
    pub permission: Option<PermissionLevel>,
    /// The model; the program's own choice if missing.
    pub model: Option<&'a str>,
    /// The version of the program that is installed; the newest if it is not known.
    pub version: Option<&'a ProgramVersion>,
    /// Whether the adapter's arguments for automatic approval are added.
    pub auto_approve: bool,
    /// Which conversation this is.
    pub conversation: LaunchConversation<'a>,
    /// The folder where a prompt that is too long for an argument will be written, as the program
    /// will see it. Without it such a prompt is refused.
    pub prompt_folder: Option<&'a str>,
    /// Whether the program is spoken to in its own protocol, where its adapter has one and its
    /// version knows it.
    pub channel: bool,
    /// Why it is not spoken to all the same: it refused to be.
    pub channel_refused: Option<&'a str>,
    /// Where the program is to report what it does, where its adapter and its version can.
    pub hooks: Option<HookTarget<'a>>,
}

/// Which conversation a launch is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaunchConversation<'a> {
    /// A new one; the program names it.
    #[default]
    New,
    /// A new one, with this id where the program lets us choose.
    NewWithId(&'a str),
    Resume(&'a str),
}

/// How to start a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSpec {
    pub command: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Variables to take away.
    pub unset: Vec<String>,
    /// Whether it gets a terminal.
    pub terminal: bool,
    /// What it gets as input where it has no terminal.
    pub stdin: StdinSource,
    /// The permission level it has.
    pub permission: Option<PermissionLevel>,
    /// A file that must be written first: its name in the prompt folder, and its text.
    pub prompt_file: Option<(String, String)>,
    /// What it reads from its input, to its end.
    pub input: Option<String>,
    /// What to type once the program is idle, where it takes no prompt at the start.
    pub typed_prompt: Option<String>,
    /// The id of the conversation, where it is known before the start.
    pub agent_session: Option<String>,
    /// The protocol that is spoken over its input and output.
    pub channel: Option<ChannelLaunch>,
    /// The protocol that was wanted and that the program does not speak.
    pub fallback: Option<ChannelFallback>,
    /// Whether it reports what it does.
    pub reports: bool,
}

/// Why a program is started without the protocol that was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelFallback {
    pub kind: ChannelKind,
    /// For people: the version that is installed and the first that speaks it, or how it refused.
    pub reason: String,
}

/// The protocol of a process, and how it is begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelLaunch {
    pub kind: ChannelKind,
    pub options: ChannelOptions,
    /// The mode that the program is put into by a message.
    pub mode: Option<String>,
    /// The conversation that is continued by a message.
    pub resume: Option<String>,
    /// The model that is chosen by a message.
    pub model: Option<String>,
}

/// A launch that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The program does not have the mode.
    #[error("the adapter `{adapter}` has no {mode} mode; its modes are: {modes}")]
    NoMode { adapter: String, mode: AgentMode, modes: String },
    /// A headless run without a prompt.
    #[error("a headless run needs a prompt that is not empty")]
    NoPrompt,
    /// The permission level is unknown to the program.
    #[error("the adapter `{adapter}` does not say how to grant `{permission}`; it knows: {known}")]
    NoPermission { adapter: String, permission: PermissionLevel, known: String },
    /// The program's model cannot be chosen.
    #[error("the adapter `{0}` does not say how to choose a model (key `model`)")]
    NoModel(String),
    /// The program cannot continue a conversation.
    #[error("the adapter `{0}` does not say how to continue a conversation (key `resume`)")]
    NoResume(String),
    /// A NUL byte, which no argument can hold.
    #[error("{0} has a NUL byte in it, which no program can be given")]
    Nul(&'static str),
    /// An argument beyond what the system takes.
    #[error("{what} has {bytes} bytes; one argument can have {MAX_ARGUMENT_BYTES}")]
    TooLong { what: &'static str, bytes: usize },
}

/// Makes the launch of an adapter called `name`.
pub fn launch(
    name: &str,
    config: &Config,
    request: &LaunchRequest<'_>,
) -> Result<LaunchSpec, LaunchError> {
    let config = &*config.for_version(request.version);
    let channel = channel(config, request);
    let channel_mode = channel.map(ChannelConfig::launch_mode);
    let mode = match &channel_mode {
        Some(mode) => mode,
        None => mode(name, config, request.mode)?,
    };
    let prompt = request.prompt.filter(|prompt| !prompt.trim().is_empty());
    if prompt.is_none() && request.mode == AgentMode::Headless {
        return Err(LaunchError::NoPrompt);
    }
    if prompt.is_some_and(|prompt| prompt.contains('\0')) {
        return Err(LaunchError::Nul("the prompt"));
    }
    let mut launch = LaunchSpec {
        command: config.command.clone().unwrap_or_else(|| name.to_owned()),
        args: mode.base_args.clone(),
        env: BTreeMap::new(),
        unset: Vec::new(),
        terminal: request.mode == AgentMode::Interactive || mode.use_pty,
        stdin: mode.stdin,
        permission: None,
        prompt_file: None,
        input: None,
        typed_prompt: None,
        agent_session: None,
        channel: None,
        fallback: fallback(name, config, request),
        reports: false,
    };
    launch.environment(&config.env);
    launch.environment(&mode.env);
    let policy = config.auto_policy.as_ref().filter(|_| request.auto_approve);
    let injected = policy.map_or(&[][..], |policy| &policy.inject_args);
    launch.permission(name, config, mode, request, injected)?;
    if let Some(channel) = channel {
        launch.speak(name, config, channel, request)?;
    } else {
        launch.model(name, config, request.model)?;
        launch.conversation(name, config, mode, request.conversation)?;
    }
    launch.args.extend(injected.iter().cloned());
    launch.report(config, request);
    launch.args.extend(request.extra_args.iter().cloned());
    if let Some(prompt) = prompt {
        launch.prompt(mode, prompt, request.prompt_folder)?;
    }
    launch.check()?;
    Ok(launch)
}

/// The protocol that a program is spoken to in: only without a terminal, and only by those that
/// know it.
fn channel<'a>(config: &'a Config, request: &LaunchRequest<'_>) -> Option<&'a ChannelConfig> {
    let is_wanted =
        request.channel && request.channel_refused.is_none() && request.mode == AgentMode::Headless;
    config.channel.as_ref().filter(|channel| is_wanted && channel.is_known_to(request.version))
}

fn fallback(name: &str, config: &Config, request: &LaunchRequest<'_>) -> Option<ChannelFallback> {
    let is_wanted = request.channel && request.mode == AgentMode::Headless;
    let wanted = config.channel.as_ref().filter(|_| is_wanted)?;
    let refused = || request.channel_refused.map(str::to_owned);
    let reason = wanted.too_old(name, config, request.version).or_else(refused)?;
    Some(ChannelFallback { kind: wanted.kind, reason })
}

fn mode<'a>(
    name: &str,
    config: &'a Config,
    mode: AgentMode,
) -> Result<&'a ModeConfig, LaunchError> {
    config.modes.get(mode).ok_or_else(|| {
        let modes: Vec<&str> = [AgentMode::Interactive, AgentMode::Headless]
            .into_iter()
            .filter(|mode| config.modes.get(*mode).is_some())
            .map(AgentMode::as_str)
            .collect();
        let modes = if modes.is_empty() { "none".to_owned() } else { modes.join(", ") };
        LaunchError::NoMode { adapter: name.to_owned(), mode, modes }
    })
}

/// Arguments without the options that other arguments set as well: many programs refuse an option
/// that is there twice.
fn without_options(args: &[String], others: &[String]) -> Vec<String> {
    let is_option = |arg: &String| arg.starts_with('-');
    let mut kept = Vec::new();
    let mut dropping = false;
    for arg in args {
        if is_option(arg) {
            dropping = others.contains(arg);
        }
        if !dropping {
            kept.push(arg.clone());
        }
    }
    kept
}

impl LaunchSpec {
    fn environment(&mut self, env: &EnvConfig) {
        self.env.extend(env.set.clone());
        self.unset.extend(env.unset.iter().cloned());
    }

    /// The level asked for, else the mode's default. Headless runs default to `all`, because
    /// they have no person to ask; where an adapter says nothing about permissions (the plain
    /// form has them in its base arguments), nothing is added.
    fn permission(
        &mut self,
        name: &str,
        config: &Config,
        mode: &ModeConfig,
        request: &LaunchRequest<'_>,
        injected: &[String],
    ) -> Result<(), LaunchError> {
        if mode.prompt_position == PromptPosition::Channel {
            return self.permission_of_channel(name, config, request.permission);
        }
        let grant = |level| mode.permissions.get(&level).or_else(|| config.permissions.get(&level));
        let default = mode.default_permission.or(match request.mode {
            AgentMode::Headless => Some(PermissionLevel::All),
            AgentMode::Interactive => None,
        });
        let level = match (request.permission, default) {
            (Some(level), _) => level,
            (None, Some(level)) if grant(level).is_some() => level,
            (None, _) => return Ok(()),
        };
        let grant = grant(level).ok_or_else(|| {
            let known: Vec<&str> = PermissionLevel::ALL
                .into_iter()
                .filter(|level| grant(*level).is_some())
                .map(PermissionLevel::as_str)
                .collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            LaunchError::NoPermission { adapter: name.to_owned(), permission: level, known }
        })?;
        self.args.extend(without_options(grant.args(), injected));
        self.env.extend(grant.env().map(|(key, value)| (key.clone(), value.clone())));
        self.permission = Some(level);
        Ok(())
    }

    /// A level is granted by arguments, by a message, or, where it is to ask, by what Coven answers.
    /// One that is granted by none of these is refused: the agent would ask where it was to do or to
    /// leave something without that.
    fn permission_of_channel(
        &mut self,
        name: &str,
        config: &Config,
        level: Option<PermissionLevel>,
    ) -> Result<(), LaunchError> {
        let level = level.unwrap_or(PermissionLevel::Ask);
        let Some(channel) = &config.channel else { return Ok(()) };
        if !channel.grants(level) {
            let known = PermissionLevel::ALL.into_iter().filter(|level| channel.grants(*level));
            let known = known.map(PermissionLevel::as_str).collect::<Vec<_>>().join(", ");
            let adapter = name.to_owned();
            return Err(LaunchError::NoPermission { adapter, permission: level, known });
        }
        if let Some(grant) = channel.permissions.get(&level) {
            self.args.extend(grant.args().iter().cloned());
            self.env.extend(grant.env().map(|(key, value)| (key.clone(), value.clone())));
        }
        self.permission = Some(level);
        Ok(())
    }

    /// Notes the protocol, and what is said in it that otherwise stands in the arguments.
    fn speak(
        &mut self,
        name: &str,
        config: &Config,
        channel: &ChannelConfig,
        request: &LaunchRequest<'_>,
    ) -> Result<(), LaunchError> {
        let mode = channel.launch_mode();
        let mut resume = None;
        match request.conversation {
            // The program is given no id where it is not told which conversation to continue.
            conversation if channel.resume.is_some() => {
                self.conversation(name, config, &mode, conversation)?;
            }
            LaunchConversation::Resume(id) => {
                resume = Some(id.to_owned());
                self.agent_session.clone_from(&resume);
            }
            LaunchConversation::New | LaunchConversation::NewWithId(_) => {}
        }
        let by_message = channel.kind == ChannelKind::CodexAppServer;
        let model = request.model.map(str::to_owned).filter(|_| by_message);
        self.model(name, config, request.model.filter(|_| !by_message))?;
        self.channel = Some(ChannelLaunch {
            kind: channel.kind,
            options: channel.options.clone(),
            mode: self.permission.and_then(|level| channel.mode.get(&level)).cloned(),
            resume,
            model,
        });
        Ok(())
    }

    /// Makes the program report what it does, where it can and nothing speaks against it.
    fn report(&mut self, config: &Config, request: &LaunchRequest<'_>) {
        let is_terminal = request.mode == AgentMode::Interactive;
        let known = |hooks: &&HooksConfig| is_terminal && hooks.is_known_to(request.version);
        let Some(hooks) = config.hooks.as_ref().filter(known) else { return };
        let Some(target) = &request.hooks else { return };
        if let Some(arguments) =
            hook::arguments(hooks.kind, target, &[&self.args, request.extra_args])
        {
            self.args.extend(arguments);
            self.env.insert(TOKEN_VARIABLE.to_owned(), target.token.to_owned());
            self.reports = true;
        }
    }

    fn model(
        &mut self,
        name: &str,
        config: &Config,
        model: Option<&str>,
    ) -> Result<(), LaunchError> {
        let Some(model) = model else { return Ok(()) };
        if config.model.is_empty() {
            return Err(LaunchError::NoModel(name.to_owned()));
        }
        self.args.extend(config.model.iter().map(|arg| arg.replace("${model}", model)));
        Ok(())
    }

    fn conversation(
        &mut self,
        name: &str,
        config: &Config,
        mode: &ModeConfig,
        conversation: LaunchConversation<'_>,
    ) -> Result<(), LaunchError> {
        let resume = config.resume.as_ref();
        let (args, id) = match conversation {
            LaunchConversation::New => return Ok(()),
            LaunchConversation::NewWithId(id) => match resume {
                Some(resume) if !resume.new_args.is_empty() => (&resume.new_args, id),
                _ => return Ok(()),
            },
            LaunchConversation::Resume(id) => {
                let args = mode.resume.as_ref().or(resume.map(|resume| &resume.args));
                let args = args.filter(|args| !args.is_empty());
                (args.ok_or_else(|| LaunchError::NoResume(name.to_owned()))?, id)
            }
        };
        self.args.extend(args.iter().map(|arg| arg.replace("${agentSession}", id)));
        self.agent_session = Some(id.to_owned());
        Ok(())
    }

    fn prompt(
        &mut self,
        mode: &ModeConfig,
        prompt: &str,
        folder: Option<&str>,
    ) -> Result<(), LaunchError> {
        if mode.prompt_position == PromptPosition::Channel {
            return Ok(());
        }
        if mode.prompt_position == PromptPosition::Typed {
            self.typed_prompt = Some(prompt.to_owned());
            return Ok(());
        }
        // A domain that has no place for files has none for an input.
        if mode.prompt_position == PromptPosition::Stdin && !self.terminal && folder.is_some() {
            self.args.extend(mode.prompt_flag.iter().cloned());
            self.input = Some(prompt.to_owned());
            return Ok(());
        }
        // No program takes an argument that begins with a space for an option, whether it stands
        // alone or follows one.
        let dash = if prompt.starts_with('-') { " " } else { "" };
        let mut argument = format!("{dash}{prompt}");
        let in_file = mode.prompt_position == PromptPosition::File && folder.is_some();
        if in_file || argument.len() > MAX_ARGUMENT_BYTES {
            let Some(folder) = folder else {
                return Err(LaunchError::TooLong { what: "the prompt", bytes: prompt.len() });
            };
            let path = format!("{}/{PROMPT_FILE}", folder.trim_end_matches('/'));
            self.prompt_file = Some((PROMPT_FILE.to_owned(), prompt.to_owned()));
            argument = format!("Read the file {path} and do exactly what it says.");
        }
        if mode.prompt_position == PromptPosition::Flag {
            self.args.extend(mode.prompt_flag.iter().cloned());
        }
        self.args.push(argument);
        Ok(())
    }

    fn check(&self) -> Result<(), LaunchError> {
        for argument in &self.args {
            if argument.contains('\0') {
                return Err(LaunchError::Nul("an argument"));
            }
            if argument.len() > MAX_ARGUMENT_BYTES {
                return Err(LaunchError::TooLong { what: "an argument", bytes: argument.len() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
