//! Where the daemon keeps its things, and what it is started with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The folders of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// What people write: `config.yaml`, `policy.yaml`, `adapters/`, `grimoires/`.
    pub config_dir: PathBuf,
    /// What we keep: the token, the log, the socket, what is known and trusted.
    pub state_dir: PathBuf,
}

impl Places {
    /// The folders that the environment names, as the XDG base directories say.
    pub fn from_env() -> Result<Self, Error> {
        Self::from(|name| std::env::var_os(name))
    }

    /// The same from any environment. A relative path in a variable does not count.
    pub fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let absolute =
            |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let folder = |name: &str, below: &str| {
            absolute(name)
                .or_else(|| Some(home.as_ref()?.join(below)))
                .map(|path| path.join("coven"))
        };
        let config_dir = folder("XDG_CONFIG_HOME", ".config").ok_or(Error::NoHome)?;
        let state_dir = folder("XDG_STATE_HOME", ".local/state").ok_or(Error::NoHome)?;
        Ok(Self { config_dir, state_dir })
    }

    /// The daemon's socket.
    pub fn socket(&self) -> PathBuf {
        self.state_dir.join("run/coven.sock")
    }

    /// The token that requests over TCP show.
    pub fn token(&self) -> PathBuf {
        self.state_dir.join("token")
    }

    /// The daemon's log.
    pub fn log(&self) -> PathBuf {
        self.state_dir.join("daemon.log")
    }

    /// Who is the daemon, if there is one: its process and its address.
    pub fn lock(&self) -> PathBuf {
        self.state_dir.join("run/daemon.lock")
    }

    /// Where sessions live that name no folder of their own.
    pub fn workspace(&self) -> PathBuf {
        self.state_dir.join("workspace")
    }

    pub(crate) fn feed(&self) -> PathBuf {
        self.state_dir.join("feed")
    }

    pub(crate) fn trust(&self) -> PathBuf {
        self.state_dir.join("trust.json")
    }

    /// What people say about the daemon.
    pub fn config(&self) -> PathBuf {
        self.config_dir.join("config.yaml")
    }
}

/// What a daemon is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it keeps its things.
    pub places: Places,
    /// The `coven` program: holds jobs, and is the demo agent.
    pub program: PathBuf,
    /// The port on loopback. Without one it is that of `config.yaml`, or one the system picks.
    pub port: Option<u16>,
    /// Whether there is anything on loopback at all.
    pub tcp: bool,
}

impl Options {
    /// The usual options.
    pub fn new(places: Places, program: impl AsRef<Path>) -> Self {
        Self { places, program: program.as_ref().to_owned(), port: None, tcp: true }
    }
}
