//! Which version of a CLI is installed: asked of the program by need, and remembered until the
//! program changes.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::process::Command;
use tokio::sync::Semaphore;

/// How long a program may take to say its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(2);

/// How many are asked at once: some of them start a whole runtime for it.
const MAX_PROCESSES: usize = 4;

/// The most of a version that is shown.
const MAX_VERSION_CHARS: usize = 100;

/// When a program changed last, and what it said then.
type KnownVersion = (Option<SystemTime>, Option<String>);

/// Versions that were asked for.
#[derive(Debug)]
pub(crate) struct InstalledVersions {
    known: Mutex<HashMap<PathBuf, KnownVersion>>,
    places: Semaphore,
}

impl Default for InstalledVersions {
    fn default() -> Self {
        Self { known: Mutex::default(), places: Semaphore::new(MAX_PROCESSES) }
    }
}

impl InstalledVersions {
    /// What a program says about itself, if it says anything in time.
    pub(crate) async fn of(&self, path: &Path, args: &[String]) -> Option<String> {
        let changed = path.metadata().and_then(|about| about.modified()).ok();
        let known = self.known.lock().get(path).cloned();
        if let Some((then, version)) = known
            && then == changed
        {
            return version;
        }
        let _place = self.places.acquire().await.ok()?;
        let child = Command::new(path)
            .args(args)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(VERSION_TIMEOUT, child).await.ok()?.ok();
        let version = output.and_then(|output| first_line(&output.stdout));
        let mut known = self.known.lock();
        known.insert(path.to_owned(), (changed, version.clone()));
        version
    }
}

fn first_line(output: &[u8]) -> Option<String> {
    let text = coven_terminal::sanitise::strip(output);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(crate::text::excerpt(line, MAX_VERSION_CHARS))
}

/// Where a command is, as a shell would find it.
pub(crate) fn find(command: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if command.contains('/') {
        return Some(PathBuf::from(command)).filter(|path| path.is_absolute()).filter(runs);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(command))
        .find(runs)
}
