//! Which version of a CLI is installed: asked of the program by need, and remembered until the
//! program changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use coven_runtime::installed;
use tokio::sync::Semaphore;

/// How long a listing waits for a program to say its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(2);

/// How many are asked at once: some of them start a whole runtime for it.
const MAX_PROCESSES: usize = 4;

/// The most of a version that is shown.
const MAX_VERSION_CHARS: usize = 100;

/// Asks programs for their versions, a few at a time.
#[derive(Debug)]
pub(crate) struct InstalledVersions {
    places: Arc<Semaphore>,
}

impl Default for InstalledVersions {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_PROCESSES)) }
    }
}

impl InstalledVersions {
    /// What a program says about itself, if it says anything in time.
    pub(crate) async fn of(&self, path: &Path, args: &[String]) -> Option<String> {
        let place = self.places.clone().acquire_owned().await.ok()?;
        let (path, args) = (path.to_owned(), args.to_vec());
        let asked = tokio::task::spawn_blocking(move || {
            let printed = installed::printed_by(&path, &args, None, VERSION_TIMEOUT);
            drop(place);
            printed
        });
        first_line(&asked.await.ok()?.ok()?)
    }
}

fn first_line(printed: &str) -> Option<String> {
    let text = coven_terminal::sanitise::strip(printed.as_bytes());
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(crate::text::excerpt(line, MAX_VERSION_CHARS))
}

/// Where a command is, as a shell would find it.
pub(crate) fn find(command: &str) -> Option<PathBuf> {
    installed::find(command, std::env::var_os("PATH").as_deref())
}
