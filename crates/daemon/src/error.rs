//! Why there is no daemon.

use std::io;
use std::path::PathBuf;

use coven_service::{ConfigError, NoHome, StartError};

/// Why a daemon cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The environment does not say where the user's files are.
    #[error(transparent)]
    NoHome(#[from] NoHome),
    /// An agent would be the parent of everything.
    #[error("an agent cannot start the daemon; start it from a shell of your own")]
    InsideAgent,
    /// There is one already.
    #[error("a daemon runs already{}", named(*pid))]
    Running {
        /// Its process, where it could be read.
        pid: Option<u32>,
    },
    /// Something of its own cannot be read or written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The port is taken, or may not be used.
    #[error("cannot listen on 127.0.0.1:{port}: {source}; choose another `port` in config.yaml")]
    Port {
        port: u16,
        #[source]
        source: io::Error,
    },
    /// The path of the socket is longer than the system permits.
    #[error("the path of the socket is too long: {}; set XDG_RUNTIME_DIR to a folder of your own, or XDG_STATE_HOME to a shorter path", .0.display())]
    LongSocket(PathBuf),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(ConfigError),
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::File { path, source } => Self::File { path, source },
            invalid @ ConfigError::Invalid(_) => Self::Config(invalid),
        }
    }
}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        Self::File { path: error.path, source: error.source }
    }
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }
}

fn named(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
