//! Why there is no daemon.

use std::io;
use std::path::PathBuf;

use coven_notation::Report;

/// Why a daemon cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody knows where the user's files are.
    #[error("there is no HOME; set it, or XDG_CONFIG_HOME and XDG_STATE_HOME, to absolute paths")]
    NoHome,
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
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The port is taken, or may not be used.
    #[error("cannot listen on 127.0.0.1:{port}: {source}; choose another `port` in config.yaml")]
    Port {
        /// The port.
        port: u16,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The path of the socket is longer than the system permits.
    #[error("the path of the socket is too long: {}; set XDG_STATE_HOME to a shorter path", .0.display())]
    LongSocket(PathBuf),
    /// The configuration is wrong.
    #[error("config.yaml has errors:\n{}", .0.render(false))]
    Config(Box<Report>),
    /// Numbers cannot be counted.
    #[error("metrics cannot be set up: {0}")]
    Metrics(String),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }
}

fn named(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
