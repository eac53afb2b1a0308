//! A command of a script or gate, as something that can be launched.

use std::collections::BTreeMap;
use std::path::Path;

use coven_adapters::config::{ModeConfig, ModesConfig, StdinSource};
use coven_adapters::launch::{LaunchError, LaunchRequest, LaunchSpec};
use coven_adapters::{AgentAdapter, Config};
use coven_model::{FileVariable, ShellWork};

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

/// The environment variable that has the path of the file of a value.
pub(super) fn file_variable(file: &FileVariable) -> String {
    format!("{}_FILE", file.variable)
}

impl Shell {
    /// What a shell runs before the command, to read the values that did not fit into its
    /// environment. They become variables of the shell alone, for which the system has no limit.
    fn reading_files(&self) -> String {
        let read = |file: &FileVariable| {
            let (name, path) = (&file.variable, file_variable(file));
            // The dot keeps line feeds at the end of the value, which `$(...)` takes away.
            format!("{name}=$(cat \"${path}\" && printf .); {name}=${{{name}%.}}; ")
        };
        self.work.files.iter().map(read).collect()
    }
}

impl AgentAdapter for Shell {
    fn kind(&self) -> &'static str {
        "shell-command"
    }

    fn launch(&self, _: &LaunchRequest<'_>) -> Result<LaunchSpec, LaunchError> {
        let mut argv: Vec<String> = match &self.work.shell {
            Some(shell) if !shell.is_empty() => shell.clone(),
            _ => ShellWork::usual_shell(self.has_bash).map(str::to_owned).collect(),
        };
        argv.push(self.reading_files() + &self.work.text);
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
            channel: None,
            fallback: None,
            reports: false,
        })
    }

    fn config(&self) -> &Config {
        &self.config
    }
}
