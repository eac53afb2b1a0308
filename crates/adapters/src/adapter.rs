//! One adapter, made for one task.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use coven_model::AutoPolicy;
use coven_terminal::keys::KeyPress;

use crate::config::Config;
use crate::launch::{self, LaunchError, LaunchRequest, LaunchSpec};
use crate::rules::ScreenRules;
use crate::sniffer::ScreenSniffer;

/// What an adapter is made with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where the program will run.
    pub cwd: Option<PathBuf>,
    /// Variables of the task.
    pub env: BTreeMap<String, String>,
    /// The name to show; the adapter's type if missing.
    pub name: Option<String>,
    /// An adapter file that counts over all layers.
    pub config_path: Option<PathBuf>,
}

/// A piece of what a program printed.
#[derive(Clone, Copy, Debug)]
pub struct OutputChunk<'a> {
    /// Whether it came on standard error; a terminal has only one stream.
    pub on_stderr: bool,
    pub raw: &'a [u8],
    /// The same as text, without sequences and secrets.
    pub clean: &'a str,
}

/// Whatever differs between agent CLIs.
///
/// The adapter files make [`ConfigAdapter`]s. A program that embeds Coven can bring a type of its
/// own; everything but the launch has an answer that fits a program about which nothing is known.
pub trait AgentAdapter: Send + Sync {
    /// The type, as it is named in workflows.
    fn kind(&self) -> &str;

    /// The name to show.
    fn name(&self) -> &str {
        self.kind()
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Result<LaunchSpec, LaunchError>;

    /// The rules that read its screen.
    fn rules(&self) -> Arc<ScreenRules> {
        Arc::default()
    }

    /// How to answer it without a person, if it says so.
    fn auto_policy(&self) -> Option<&AutoPolicy> {
        None
    }

    /// Is told everything the program prints, the same way from a terminal and from pipes.
    fn observe(&self, output: OutputChunk<'_>) {
        let _ = output;
    }

    /// What is known about it beyond that.
    fn config(&self) -> &Config;
}

/// An adapter made from files.
#[derive(Clone, Debug)]
pub struct ConfigAdapter {
    kind: String,
    options: Options,
    config: Arc<Config>,
    rules: Arc<ScreenRules>,
}

impl ConfigAdapter {
    pub(crate) fn new(
        kind: &str,
        options: Options,
        config: Arc<Config>,
        rules: Arc<ScreenRules>,
    ) -> Self {
        Self { kind: kind.to_owned(), options, config, rules }
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// A sniffer for one run of the program.
    pub fn sniffer(&self) -> ScreenSniffer {
        ScreenSniffer::new(self.rules.clone())
    }
}

impl AgentAdapter for ConfigAdapter {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn name(&self) -> &str {
        self.options.name.as_deref().unwrap_or(&self.kind)
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Result<LaunchSpec, LaunchError> {
        let mut launch = launch::launch(&self.kind, &self.config, request)?;
        for (key, value) in &self.options.env {
            launch.unset.retain(|unset| unset != key);
            launch.env.insert(key.clone(), value.clone());
        }
        Ok(launch)
    }

    fn rules(&self) -> Arc<ScreenRules> {
        self.rules.clone()
    }

    fn auto_policy(&self) -> Option<&AutoPolicy> {
        self.config.auto_policy.as_ref()
    }

    fn config(&self) -> &Config {
        &self.config
    }
}

/// The keys that a list of names stands for. The names were checked when the file was read; one
/// that is no key is left out.
pub fn keys(names: &[String]) -> Vec<KeyPress> {
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// The id of a conversation that a program shows on its screen.
pub fn session_on(resume: &crate::config::ResumeConfig, screen: &str) -> Option<String> {
    let pattern = regex::Regex::new(resume.screen_pattern.as_deref()?).ok()?;
    Some(pattern.captures(screen)?.get(1)?.as_str().to_owned())
}
