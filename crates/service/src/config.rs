//! `config.yaml`: what people say about the daemon.
//!
//! ```yaml
//! maxAgents: 12
//! defaultAdapter: claude
//! port: 7717
//! proxyUsers: [caddy]
//! logLevel: info
//! defaults: {isolation: auto}
//! agentClipboard: true
//! retention: {keep: 200, age: 90d}
//! on:
//!   blocked: notify-send "$COVEN_NAME needs you"
//! ```

use std::io;
use std::path::{Path, PathBuf};

use coven_api::workflow::RunIsolation;
use coven_folder::read_plain_file;
use coven_notation::{
    FileSyntax, HumanDuration, MAX_BYTES, ProblemReport, SourceFile, read, schema_of,
};
use coven_store::Retention;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

const DEFAULT_TAPE_GIGABYTES: u32 = 20;

/// Why `config.yaml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The configuration file that was to be read.
        path: PathBuf,
        /// Why the file could not be opened or read.
        #[source]
        source: io::Error,
    },
    /// It has errors, each at its place.
    #[error("config.yaml has errors:\n{}", .0.render(false))]
    Invalid(Box<ProblemReport>),
}

/// What people say about the daemon. Everything may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Coven configuration")]
pub struct ServiceConfig {
    /// How many jobs run at once, over all folders; 8 unless said.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_agents: Option<u32>,
    /// The adapter for steps that name none.
    #[schemars(length(min = 1, max = 64))]
    pub default_adapter: Option<String>,
    /// What runs do whose definition does not say it.
    #[serde(default)]
    pub defaults: RunDefaults,
    /// The port on loopback; unless said it is the one of the last time, or a free one.
    #[schemars(range(min = 1))]
    pub port: Option<u16>,
    /// Other users of this machine whose processes are heard on the port: those of a proxy, as
    /// names or numbers. They need a device like every other client.
    #[serde(default, deserialize_with = "user_names")]
    #[schemars(with = "Vec<UserName>")]
    pub proxy_users: Vec<String>,
    /// How much the log says; `info` unless said.
    pub log_level: Option<LogLevel>,
    /// Which finished sessions stay.
    pub retention: Option<RetentionConfig>,
    /// The file of the key that seals journals; `seal.key` in the state folder unless said. A
    /// relative path counts from the folder of this file.
    pub seal_key: Option<PathBuf>,
    /// The folder of what jobs leave: tapes, outcomes, sockets; `jobs` in the state folder unless
    /// said. Agents must not be able to write it.
    pub jobs_folder: Option<PathBuf>,
    /// Whether agents may write the clipboard of the terminal in which `coven attach` or
    /// `coven play` shows them; no unless said. Nothing lets them read it.
    #[serde(default)]
    pub agent_clipboard: bool,
    /// Whether agents on terminals report by themselves what they do, where they can (`hooks` of an
    /// adapter); no unless said. They report to the daemon's port. While the daemon is away another
    /// user of the machine may have that port, and would read what the agent is asked and does.
    #[serde(default)]
    pub agent_reports: bool,
    /// Commands that are run by `sh -c` when something happens to a run. They have
    /// `COVEN_WORKFLOW`, `COVEN_NAME`, `COVEN_STATUS`, `COVEN_GOAL` and `COVEN_BASE_DIR`.
    #[serde(default)]
    pub on: Hooks,
}

/// What runs do whose definition does not say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunDefaults {
    /// Where agents work: in the folder itself (`shared`, the usual), in a git worktree of the run
    /// (`run`), each task in one of its own (`task`), or so where several that write run beside
    /// each other (`auto`).
    pub isolation: Option<RunIsolation>,
}

/// How much the log says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Only failures that need attention.
    Error,
    /// Also what is unexpected but handled.
    Warn,
    /// Also starts, stops, and requests that change something or are refused.
    #[default]
    Info,
    /// Also requests that only read, and failures that change nothing.
    Debug,
    /// Also what libraries log about their own work, for developers.
    Trace,
}

/// Which finished sessions stay in each folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetentionConfig {
    /// So many, those that changed last; 50 unless said.
    pub keep: Option<u32>,
    /// None longer than this after its last change, such as `90d`.
    pub age: Option<HumanDuration>,
    /// How many GiB the recordings of finished jobs may take, over all folders; 20 unless said.
    /// Beyond that the oldest are shortened to their ends.
    #[schemars(range(min = 1))]
    pub tape_gigabytes: Option<u32>,
}

/// Commands for what happens to runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hooks {
    /// The command for a run that begins to wait for a person.
    pub blocked: Option<String>,
    /// The command for a run that has failed.
    pub failed: Option<String>,
    /// The command for a run that has completed.
    pub completed: Option<String>,
}

/// A user by name or by number.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum UserName {
    Number(u32),
    Name(String),
}

fn user_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<UserName>::deserialize(deserializer)?;
    let text = |name| match name {
        UserName::Number(number) => number.to_string(),
        UserName::Name(name) => name,
    };
    Ok(names.into_iter().map(text).collect())
}

/// The JSON schema of the file.
pub fn schema() -> serde_json::Value {
    schema_of::<ServiceConfig>()
}

impl ServiceConfig {
    /// Reads the file. None is as good as an empty one.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let bytes = match read_plain_file(path, MAX_BYTES as u64) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(ConfigError::File { path: path.to_owned(), source: error }),
        };
        let wrong = |report| ConfigError::Invalid(Box::new(report));
        let source = SourceFile::from_bytes(path.display().to_string(), bytes).map_err(wrong)?;
        if source.text().lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
            return Ok(Self::default());
        }
        let read = read::<Self>(&source, FileSyntax::Yaml);
        read.value.ok_or_else(|| wrong(ProblemReport::new(source, read.problems)))
    }

    /// How many bytes the recordings of finished jobs may take.
    pub(crate) fn tape_quota(&self) -> u64 {
        let said = self.retention.and_then(|retention| retention.tape_gigabytes);
        u64::from(said.unwrap_or(DEFAULT_TAPE_GIGABYTES)) << 30
    }

    pub(crate) fn retention(&self) -> Retention {
        let usual = Retention::default();
        let Some(said) = self.retention else { return usual };
        Retention {
            keep: said.keep.map_or(usual.keep, |keep| keep as usize),
            age: said.age.map_or(usual.age, |age| Some(age.0)),
        }
    }
}

impl LogLevel {
    /// The same for the library that writes the log.
    pub fn filter(self) -> tracing::Level {
        match self {
            Self::Error => tracing::Level::ERROR,
            Self::Warn => tracing::Level::WARN,
            Self::Info => tracing::Level::INFO,
            Self::Debug => tracing::Level::DEBUG,
            Self::Trace => tracing::Level::TRACE,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn load(text: &str) -> Result<ServiceConfig, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        std::fs::write(&path, text).unwrap();
        ServiceConfig::load(&path)
    }

    #[test]
    fn everything_that_can_be_said_is_read_and_nothing_need_be() {
        let config = load(
            "maxAgents: 3\ndefaultAdapter: demo\nport: 7717\nproxyUsers: [caddy, \"33\", 65534]\nlogLevel: debug\n\
             defaults: {isolation: auto}\nretention: {keep: 7, age: 30d}\non: {blocked: notify}\n",
        )
        .unwrap();
        assert_eq!((config.max_agents, config.port), (Some(3), Some(7717)));
        assert_eq!(config.log_level, Some(LogLevel::Debug));
        assert_eq!(config.defaults.isolation, Some(RunIsolation::Auto));
        assert_eq!(config.proxy_users, ["caddy", "33", "65534"]);
        assert_eq!(config.on.blocked.as_deref(), Some("notify"));
        let age = Some(Duration::from_hours(30 * 24));
        assert_eq!(config.retention(), Retention { keep: 7, age });
        for empty in ["", "\n\n", "# nothing yet\n"] {
            assert_eq!(load(empty).unwrap(), ServiceConfig::default(), "{empty:?}");
        }
        assert_eq!(ServiceConfig::default().retention(), Retention::default());
        assert_eq!(
            ServiceConfig::load(Path::new("/nowhere/config.yaml")).unwrap(),
            ServiceConfig::default()
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, said) in [
            ("maxAgents: 0\n", "maxAgents"),
            ("maxAgent: 3\n", "did you mean `maxAgents`"),
            ("port: 99999\n", "port"),
            ("retention: {age: 30}\n", "age"),
            ("logLevel: loud\n", "loud"),
            ("defaults: {isolation: apart}\n", "apart"),
            ("defaults: {isolated: auto}\n", "known keys are `isolation`"),
            ("- a list\n", "list"),
        ] {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("config.yaml"), "{error}");
        }
    }
}
