//! A command of a script or gate, as something that can be launched.

use std::collections::BTreeMap;
use std::path::Path;

use coven_adapters::config::{ModeConfig, ModesConfig, StdinSource};
use coven_adapters::launch::{LaunchError, LaunchRequest, LaunchSpec};
use coven_adapters::{AgentAdapter, Config};
use coven_model::ShellWork;

/// How bash is to run a command: a failure anywhere is a failure, and so is an unset variable.
const BASH: [&str; 4] = ["bash", "-euo", "pipefail", "-c"];
const SH: [&str; 3] = ["sh", "-eu", "-c"];

pub(super) struct Shell {
    work: ShellWork,
    config: Config,
    has_bash: bool,
}

impl Shell {
    pub(super) fn new(work: ShellWork, path: Option<&std::ffi::OsStr>) -> Self {
        let headless = ModeConfig { transcript: Some("text".to_owned()), ..ModeConfig::default() };
        let modes = ModesConfig { interactive: None, headless: Some(headless) };
        let has_bash = path.is_some_and(|path| {
            std::env::split_paths(path).any(|folder| folder.join("bash").is_file())
        }) || Path::new("/bin/bash").is_file();
        Self { work, config: Config { modes, ..Config::default() }, has_bash }
    }
}

impl AgentAdapter for Shell {
    fn kind(&self) -> &'static str {
        "shell-command"
    }

    fn launch(&self, _: &LaunchRequest<'_>) -> Result<LaunchSpec, LaunchError> {
        let usual = if self.has_bash { &BASH[..] } else { &SH[..] };
        let mut argv: Vec<String> = match &self.work.shell {
            Some(shell) if !shell.is_empty() => shell.clone(),
            _ => usual.iter().map(|&word| word.to_owned()).collect(),
        };
        argv.push(self.work.text.clone());
        let command = argv.remove(0);
        Ok(LaunchSpec {
            command,
            args: argv,
            env: self.work.variables.iter().cloned().collect::<BTreeMap<_, _>>(),
            unset: Vec::new(),
            terminal: false,
            stdin: StdinSource::Null,
            permission: None,
            prompt_file: None,
            input: None,
            typed_prompt: None,
            agent_session: None,
        })
    }

    fn config(&self) -> &Config {
        &self.config
    }
}
