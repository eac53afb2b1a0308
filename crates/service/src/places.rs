//! The folders of one user: what people configure, and what the daemon keeps.

use std::ffi::OsString;
use std::path::PathBuf;

/// The environment does not say where the user's files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no HOME; set it, or XDG_CONFIG_HOME and XDG_STATE_HOME, to absolute paths")]
pub struct NoHome;

/// The folders of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserFolders {
    /// What people write: `config.yaml`, `policy.yaml`, `adapters/`, `grimoires/`.
    pub config_dir: PathBuf,
    /// What the daemon keeps: the token, the log, the socket, what is known and trusted.
    pub state_dir: PathBuf,
}

impl UserFolders {
    /// The folders that the environment names, as the XDG base directories say.
    pub fn from_env() -> Result<Self, NoHome> {
        Self::from(|name| std::env::var_os(name))
    }

    /// The same from any environment. A relative path in a variable does not count.
    pub fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, NoHome> {
        let absolute =
            |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let folder = |name: &str, below: &str| {
            absolute(name)
                .or_else(|| Some(home.as_ref()?.join(below)))
                .map(|path| path.join("coven"))
        };
        let config_dir = folder("XDG_CONFIG_HOME", ".config").ok_or(NoHome)?;
        let state_dir = folder("XDG_STATE_HOME", ".local/state").ok_or(NoHome)?;
        Ok(Self { config_dir, state_dir })
    }

    /// The Unix socket that the daemon listens on.
    pub fn socket(&self) -> PathBuf {
        self.state_dir.join("run/coven.sock")
    }

    /// The token that requests over TCP show.
    pub fn token(&self) -> PathBuf {
        self.state_dir.join("token")
    }

    /// The file that the daemon logs to.
    pub fn log(&self) -> PathBuf {
        self.state_dir.join("daemon.log")
    }

    /// Which process is the daemon, if there is one, and its address.
    pub fn lock(&self) -> PathBuf {
        self.state_dir.join("run/daemon.lock")
    }

    /// The base directory of sessions that name none.
    pub fn workspace(&self) -> PathBuf {
        self.state_dir.join("workspace")
    }

    pub(crate) fn feed(&self) -> PathBuf {
        self.state_dir.join("feed")
    }

    pub(crate) fn trust(&self) -> PathBuf {
        self.state_dir.join("trust.json")
    }

    /// The user's `config.yaml`; it need not exist.
    pub fn config(&self) -> PathBuf {
        self.config_dir.join("config.yaml")
    }
}
