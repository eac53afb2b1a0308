//! The policies of the user and of a trusted project, read again when their files change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use coven_folder::read_plain_file;
use coven_notation::{MAX_BYTES, SourceFile};
use coven_policy::{EffectivePolicies, Policy};

/// When a file changed last, and how long it is: enough to know whether to read it again.
type Mark = Option<(SystemTime, u64)>;

/// The policy files that count for one folder.
#[derive(Debug)]
pub(crate) struct PolicyFiles {
    user: PathBuf,
    project: PathBuf,
    seen: Option<(Mark, Mark, bool)>,
}

impl PolicyFiles {
    pub(crate) fn new(config_dir: &Path, base_dir: &Path) -> Self {
        let user = config_dir.join("policy.yaml");
        Self { user, project: base_dir.join(".coven/policy.yaml"), seen: None }
    }

    /// The policies, if they may be other than the last time.
    ///
    /// If one of the files is wrong there are none, so that everything is asked: a rule that
    /// forbids something may be in the part that could not be read.
    pub(crate) fn changed(&mut self, trusted: bool) -> Option<Result<EffectivePolicies, String>> {
        let now = (mark(&self.user), mark(&self.project), trusted);
        if self.seen == Some(now) {
            return None;
        }
        self.seen = Some(now);
        let project = if trusted { read(&self.project) } else { Ok(None) };
        Some(read(&self.user).and_then(|user| Ok(EffectivePolicies { user, project: project? })))
    }
}

fn mark(path: &Path) -> Mark {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// The policy in a file; none if there is no file. Says what is wrong with it.
pub fn read(path: &Path) -> Result<Option<Policy>, String> {
    let bytes = match read_plain_file(path, MAX_BYTES as u64) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
    };
    let read = SourceFile::from_bytes(path.display().to_string(), bytes);
    let policy = read.and_then(|source| Policy::read(&source));
    policy.map(Some).map_err(|report| report.render(false))
}
