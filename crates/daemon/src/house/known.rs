//! The base directories that sessions were made in, remembered from one daemon to the next.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::secret::write_private;

/// The version of `known.json`.
const VERSION: u32 = 1;

/// So many are remembered; the ones that were added last.
const MOST: usize = 1000;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    version: u32,
    base_dirs: Vec<PathBuf>,
}

/// The base directories that are known.
#[derive(Debug)]
pub(crate) struct KnownDirs {
    path: PathBuf,
    dirs: Mutex<Vec<PathBuf>>,
}

impl KnownDirs {
    /// Reads what is known. What cannot be read is found again when it is needed.
    pub(crate) fn open(path: PathBuf) -> Self {
        let file: Option<File> =
            fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let dirs = file.filter(|file| file.version == VERSION).unwrap_or_default().base_dirs;
        Self { path, dirs: Mutex::new(dirs) }
    }

    pub(crate) fn all(&self) -> Vec<PathBuf> {
        self.dirs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers one.
    pub(crate) fn add(&self, path: &Path) {
        let mut dirs = self.dirs.lock().unwrap_or_else(PoisonError::into_inner);
        if dirs.iter().any(|known| known == path) {
            return;
        }
        dirs.push(path.to_owned());
        if dirs.len() > MOST {
            dirs.remove(0);
        }
        let file = File { version: VERSION, base_dirs: dirs.clone() };
        let written = serde_json::to_vec_pretty(&file)
            .map_err(std::io::Error::other)
            .and_then(|text| write_private(&self.path, &text));
        if let Err(error) = written {
            // It is used all the same, and the next daemon has to be told of it again.
            tracing::warn!(file = %self.path.display(), "known folders cannot be kept: {error}");
        }
    }
}
