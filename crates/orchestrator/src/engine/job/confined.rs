//! Jobs that may not write: what they get to write all the same, what nothing keeps them from, and
//! what changed while they ran.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use coven_adapters::AgentAdapter;
use coven_model::{JobOutcome, SandboxMode};
use coven_runtime::domain::Sandbox as Confined;
use coven_runtime::hold::HolderFolder;
use coven_runtime::sandbox::Enforcement;

use super::JobDetails;
use super::picture::{self, FolderMetadata};
use coven_folder::best_effort;

/// The folder for a confined job's own files, in the attempt's folder. What else is there is our
/// record of the job, which is not the job's to write.
const SCRATCH_FOLDER: &str = "scratch";

/// Its mode: for its owner alone.
const PRIVATE_MODE: u32 = 0o700;

/// The oldest version of Landlock that keeps a process from emptying files.
const TRUNCATION_ABI: i32 = 3;

impl JobDetails {
    /// The folder that a confined job may write to, made if it is not there. A link in its place
    /// is refused, because the job would be allowed to write where the link leads.
    pub(super) fn scratch(&self) -> std::io::Result<Option<PathBuf>> {
        if self.spec.sandbox == SandboxMode::Off {
            return Ok(None);
        }
        let made = self.attempt.folder().make(SCRATCH_FOLDER, PRIVATE_MODE)?;
        Ok(Some(made.path().to_owned()))
    }

    /// What a confined job may write: a folder of its own, and what its program cannot do without.
    pub(super) fn sandbox(&self, adapter: &dyn AgentAdapter) -> Option<Confined> {
        if self.spec.sandbox == SandboxMode::Off {
            return None;
        }
        let home = self.executor.env.get(&OsString::from("HOME")).map(PathBuf::from);
        let own =
            adapter.config().state.write.iter().filter_map(|path| match path.strip_prefix("~/") {
                Some(rest) => Some(home.as_ref()?.join(rest)),
                None => Some(PathBuf::from(path)),
            });
        let mut write: Vec<PathBuf> = own.collect();
        if let Ok(Some(scratch)) = self.attempt.folder().find(SCRATCH_FOLDER) {
            write.push(scratch.path().to_owned());
        }
        write.extend(["/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts"].map(PathBuf::from));
        if self.spec.sandbox == SandboxMode::Workspace {
            write.push(self.cwd());
        }
        write.retain(|path| path.exists());
        Some(Confined { write })
    }

    /// What is not compared: what the job may write, and what we write.
    fn not_compared(&self, adapter: &dyn AgentAdapter) -> BTreeSet<PathBuf> {
        let allowed = self.sandbox(adapter).map(|confined| confined.write).unwrap_or_default();
        let ours = self.executor.shared.base_dir.join(".coven/sessions");
        let all = allowed.into_iter().chain([ours]);
        all.filter_map(|path| std::fs::canonicalize(path).ok()).collect()
    }

    /// Takes a picture of the working folder of a job that may only read, and keeps it in the
    /// attempt's folder: the process that sees the job's end may be another one.
    pub(super) fn look_before(&self, adapter: &dyn AgentAdapter) {
        if self.spec.sandbox != SandboxMode::ReadOnly {
            return;
        }
        let picture = FolderMetadata::take(&self.cwd(), &self.not_compared(adapter));
        // Without a picture nothing is compared, which the start of the job tells.
        best_effort("keep what a job's folder looked like", picture.save(self.attempt.folder()));
    }

    /// Adds to an outcome what changed while the job ran, if it was not to change anything.
    pub(super) fn with_touched(&self, outcome: JobOutcome) -> JobOutcome {
        let attempt = self.attempt.folder();
        let taken = || matches!(attempt.stat(picture::FILE), Ok(Some(_)));
        if self.spec.sandbox != SandboxMode::ReadOnly || !taken() {
            return outcome;
        }
        let Ok(adapter) = self.adapter() else { return outcome };
        let confined = matches!(self.enforced(), Some(Enforcement::Files { .. }));
        let Some(before) = FolderMetadata::load(attempt) else { return outcome };
        let now = FolderMetadata::take(&self.cwd(), &self.not_compared(&*adapter));
        JobOutcome { touched: before.differences(&now, confined), ..outcome }
    }

    /// What confines the process, as it was written down when it was started.
    fn enforced(&self) -> Option<Enforcement> {
        HolderFolder::new(self.attempt.path()).spawn_record().ok().flatten()?.sandbox
    }

    /// What of its confinement is not enforced, if that is so.
    pub(super) fn exposure(&self) -> Option<String> {
        if self.spec.sandbox == SandboxMode::Off {
            return None;
        }
        let mut reasons: Vec<String> = self.enforced().and_then(unenforced).into_iter().collect();
        if self.spec.sandbox == SandboxMode::ReadOnly {
            match FolderMetadata::load(self.attempt.folder()) {
                None => reasons.push("the metadata of its files is not compared".to_owned()),
                Some(picture) if picture.capped => reasons.push(format!(
                    "its folder has too many files: only the first {} are compared",
                    picture.len()
                )),
                Some(_) => {}
            }
        }
        let is_exposed = !reasons.is_empty();
        is_exposed.then(|| format!("it was to be confined, but {}", reasons.join(", and ")))
    }
}

/// What the kernel lets a confined process do that it is not to do.
fn unenforced(enforced: Enforcement) -> Option<String> {
    match enforced {
        Enforcement::Nothing => Some(
            "this kernel has no Landlock, so nothing keeps it from changing any file".to_owned(),
        ),
        Enforcement::Files { abi } if abi < TRUNCATION_ABI => Some(format!(
            "version {abi} of Landlock in this kernel does not keep it from emptying files"
        )),
        Enforcement::Files { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_does_not_enforce_is_said() {
        assert!(unenforced(Enforcement::Nothing).unwrap().contains("has no Landlock"));
        assert!(unenforced(Enforcement::Files { abi: 2 }).unwrap().contains("version 2"));
        assert_eq!(unenforced(Enforcement::Files { abi: 3 }), None);
    }
}
