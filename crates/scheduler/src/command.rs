//! What is to be run: a command with its needs, and what must be true before it may start.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use coven_runtime::domain::{Connection, DomainId, Sandbox, SpawnConfig};
use coven_terminal::screen::GridSize;

/// Names a command. The caller gives it, and gives each only once: ids go up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

impl fmt::Display for CommandId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "command {}", self.0)
    }
}

/// Something an agent can do and a command needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// Run shell commands and programs.
    Shell,
    /// Run an AI coding CLI.
    Agent,
    /// Whatever the caller means by it.
    Named(String),
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell => formatter.write_str("shell"),
            Self::Agent => formatter.write_str("agent"),
            Self::Named(name) => formatter.write_str(name),
        }
    }
}

/// The program or shell line of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandPayload {
    /// A program with its arguments.
    Program(Vec<OsString>),
    /// A line for `/bin/sh -c`.
    Shell(String),
}

/// Who lets a command run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// The command waits for a decision.
    Required {
        /// No decision within this time is a rejection. Nothing means that it may take for ever.
        timeout: Option<Duration>,
    },
    /// Decided by the caller that queued the command.
    Granted {
        /// Who let it run.
        by: String,
        /// The reason that was given.
        reason: String,
    },
}

/// The variables a process gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnvironment {
    /// Those of this process.
    Inherited,
    /// These and no others.
    Exactly(BTreeMap<OsString, OsString>),
}

/// A command: what to run, where, and under which conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCommand {
    /// The id of the command.
    pub id: CommandId,
    /// The program or shell line to run.
    pub payload: CommandPayload,
    /// What the agent that takes it must be capable of, all of it.
    pub capabilities: BTreeSet<Capability>,
    /// Commands that must have succeeded before. They must be queued earlier, so there are no
    /// circles.
    pub dependencies: Vec<CommandId>,
    /// Who lets it run.
    pub approval: Permission,
    /// Where it starts; the default domain for none.
    pub domain: Option<DomainId>,
    /// Terminal or pipes; a terminal of the usual size for none.
    pub connection: Option<Connection>,
    /// The variables of its process.
    pub env: CommandEnvironment,
    /// Its working directory; that of this process for none.
    pub cwd: Option<PathBuf>,
    /// What it may write to, if it is confined.
    pub sandbox: Option<Sandbox>,
    /// The folder of this attempt, for domains that keep one.
    pub folder: Option<PathBuf>,
    /// How many bytes of output are kept on disk, for domains that keep them; the usual for none.
    pub keep: Option<u64>,
    /// Tells its processes apart from all others; made up for none.
    pub job: Option<String>,
    /// Anything the caller wants to find again.
    pub metadata: BTreeMap<String, String>,
}

impl AgentCommand {
    /// A program with its arguments. It may run at once, on a terminal in the default domain,
    /// with our environment and working directory, by any agent capable of [`Capability::Shell`].
    pub fn program(id: CommandId, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self::new(id, CommandPayload::Program(argv.into_iter().map(Into::into).collect()))
    }

    /// A line for the shell, otherwise as [`AgentCommand::program`]. Never build the line from text
    /// that others wrote: hand that over in the environment.
    pub fn shell(id: CommandId, line: impl Into<String>) -> Self {
        Self::new(id, CommandPayload::Shell(line.into()))
    }

    fn new(id: CommandId, payload: CommandPayload) -> Self {
        Self {
            id,
            payload,
            capabilities: [Capability::Shell].into(),
            dependencies: Vec::new(),
            approval: Permission::Granted {
                by: "caller".to_owned(),
                reason: "queued without asking for approval".to_owned(),
            },
            domain: None,
            connection: None,
            env: CommandEnvironment::Inherited,
            cwd: None,
            sandbox: None,
            folder: None,
            keep: None,
            job: None,
            metadata: BTreeMap::new(),
        }
    }

    /// Needs this capability instead.
    #[must_use]
    pub fn needing(self, capability: Capability) -> Self {
        self.needing_all([capability])
    }

    /// Needs one agent with all of these capabilities instead.
    #[must_use]
    pub fn needing_all(self, capabilities: impl IntoIterator<Item = Capability>) -> Self {
        Self { capabilities: capabilities.into_iter().collect(), ..self }
    }

    /// Starts only after these have succeeded.
    #[must_use]
    pub fn after(self, dependencies: impl IntoIterator<Item = CommandId>) -> Self {
        Self { dependencies: dependencies.into_iter().collect(), ..self }
    }

    /// Starts only after an approval. The time for that runs from when it is queued.
    #[must_use]
    pub fn needing_approval(self, timeout: Option<Duration>) -> Self {
        Self { approval: Permission::Required { timeout }, ..self }
    }

    /// Is approved from the beginning, and this is on record.
    #[must_use]
    pub fn approved_by(self, by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { approval: Permission::Granted { by: by.into(), reason: reason.into() }, ..self }
    }

    /// Starts in this domain.
    #[must_use]
    pub fn in_domain(self, domain: DomainId) -> Self {
        Self { domain: Some(domain), ..self }
    }

    /// Gets a terminal of this size.
    #[must_use]
    pub fn on_terminal(self, size: GridSize) -> Self {
        Self { connection: Some(Connection::Terminal(size)), ..self }
    }

    /// Gets pipes instead of a terminal.
    #[must_use]
    pub fn on_pipes(self) -> Self {
        Self { connection: Some(Connection::Pipes), ..self }
    }

    /// What a domain is asked to start. `job` is used if the command does not name its own.
    pub(crate) fn spawn_config(&self, usual: GridSize, job: &str) -> io::Result<SpawnConfig> {
        Ok(SpawnConfig {
            argv: match &self.payload {
                CommandPayload::Program(argv) => argv.clone(),
                CommandPayload::Shell(line) => vec!["/bin/sh".into(), "-c".into(), line.into()],
            },
            cwd: match &self.cwd {
                Some(directory) => directory.clone(),
                None => env::current_dir()?,
            },
            env: match &self.env {
                CommandEnvironment::Inherited => env::vars_os().collect(),
                CommandEnvironment::Exactly(variables) => variables.clone(),
            },
            connection: self.connection.unwrap_or(Connection::Terminal(usual)),
            input: None,
            sandbox: self.sandbox.clone(),
            folder: self.folder.clone(),
            keep: self.keep,
            job: self.job.clone().unwrap_or_else(|| job.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentCommand, CommandEnvironment, CommandId};
    use coven_runtime::domain::Connection;
    use coven_terminal::screen::GridSize;

    #[test]
    fn a_shell_line_is_one_argument_of_the_shell() {
        let command = AgentCommand::shell(CommandId(0), "echo 'a b'");
        let config = command.spawn_config(GridSize::default(), "job").unwrap();
        assert_eq!(config.argv, ["/bin/sh", "-c", "echo 'a b'"]);
        assert_eq!(config.cwd, std::env::current_dir().unwrap());
        assert_eq!(config.env, std::env::vars_os().collect());
    }

    #[test]
    fn what_a_command_says_goes_before_what_is_usual() {
        let mut command = AgentCommand::program(CommandId(0), ["true"]).on_pipes();
        command.env = CommandEnvironment::Exactly([("A".into(), "1".into())].into());
        command.cwd = Some("/".into());
        command.job = Some("mine".to_owned());
        let config = command.spawn_config(GridSize::default(), "made up").unwrap();
        assert_eq!(config.connection, Connection::Pipes);
        assert_eq!(config.env, [("A".into(), "1".into())].into());
        assert_eq!(config.cwd.as_os_str(), "/");
        assert_eq!(config.job, "mine");
    }
}
