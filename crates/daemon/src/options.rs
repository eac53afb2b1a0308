//! What a daemon is started with.

use std::path::{Path, PathBuf};

use coven_service::UserFolders;

/// What a daemon is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it keeps its things.
    pub places: UserFolders,
    /// The `coven` program: holds jobs, and is the demo agent.
    pub program: PathBuf,
    /// The port on loopback. Without one it is that of `config.yaml`, or one the system picks.
    pub port: Option<u16>,
    /// Whether there is anything on loopback at all.
    pub tcp: bool,
}

impl Options {
    pub fn new(places: UserFolders, program: impl AsRef<Path>) -> Self {
        Self { places, program: program.as_ref().to_owned(), port: None, tcp: true }
    }
}
