//! A control group of its own for a job, where one can be had: its processes stay known by it when
//! their holder was killed, and all of them can be ended at once.
//!
//! One can be had where the second version of control groups is mounted and the group of the daemon
//! may be divided by its user: in a session of systemd's user manager, or as root. It is a further
//! sign and no wall: a process that may do everything can move itself to another group of its user.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coven_folder::best_effort;
use serde::{Deserialize, Serialize};

use crate::machine;
use crate::processes::Identity;

/// How long a process that has ended may still count as one of its group. The kernel takes it out a
/// moment after its end is told.
const LAST_TASK_TIMEOUT: Duration = Duration::from_millis(200);

/// The group of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobCgroup {
    /// Its name as the system tells it of each process in it.
    name: String,
    /// Its folder.
    folder: PathBuf,
}

impl JobCgroup {
    /// Makes the group for the job of a holder, below our own. Nothing where none can be had.
    pub(crate) fn make(holder: Identity) -> Option<Self> {
        let own = machine::cgroup_of(rustix::process::getpid().as_raw_nonzero().get())?;
        let parent = machine::cgroup_folder(&own)?;
        let last = format!("coven-{}-{}", holder.pid, holder.start);
        let group = Self {
            name: format!("{}/{last}", own.trim_end_matches('/')),
            folder: parent.join(last),
        };
        fs::create_dir(&group.folder).ok()?;
        // Some systems let a group be made and nothing be moved into it.
        let usable = group.entrance().is_ok() && may_write(&parent.join("cgroup.procs"));
        if !usable {
            group.remove();
        }
        usable.then_some(group)
    }

    /// What a process writes `0` to, to be in the group.
    pub(crate) fn entrance(&self) -> io::Result<File> {
        File::options().write(true).open(self.folder.join("cgroup.procs"))
    }

    /// Whether the group of a process is this one, or one below it.
    pub(crate) fn covers(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Everything in it that runs.
    pub(crate) fn members(&self) -> Vec<Identity> {
        let mut found = Vec::new();
        for folder in self.folders() {
            let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            found.extend(text.lines().filter_map(|pid| Identity::of(pid.parse().ok()?)));
        }
        found
    }

    /// Kills everything in it at once, so that nothing can start more meanwhile.
    pub(crate) fn kill(&self) {
        // Kernels before 5.14 have no such file; what is in the group is found and killed then.
        let killed = fs::write(self.folder.join("cgroup.kill"), "1");
        best_effort("kill a control group", killed);
    }

    /// Removes it, if nothing runs in it any more.
    pub(crate) fn remove(&self) {
        let deadline = Instant::now() + LAST_TASK_TIMEOUT;
        for folder in self.folders().iter().rev() {
            let mut removed = fs::remove_dir(folder);
            while is_busy(&removed) && Instant::now() < deadline {
                std::thread::yield_now();
                removed = fs::remove_dir(folder);
            }
            best_effort("remove a control group", removed);
        }
    }

    /// Its folder and all below it, each before those in it.
    fn folders(&self) -> Vec<PathBuf> {
        let mut found = vec![self.folder.clone()];
        let mut next = 0;
        while let Some(folder) = found.get(next) {
            next += 1;
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let is_folder =
                |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
            let below: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).collect();
            found.extend(below);
        }
        found
    }
}

fn is_busy(removed: &io::Result<()>) -> bool {
    let busy = Some(rustix::io::Errno::BUSY.raw_os_error());
    matches!(removed, Err(error) if error.raw_os_error() == busy)
}

fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_covers_itself_and_what_is_below_it() {
        let group = JobCgroup { name: "/a/coven-1-2".to_owned(), folder: PathBuf::new() };
        assert!(group.covers("/a/coven-1-2") && group.covers("/a/coven-1-2/own"));
        assert!(!group.covers("/a/coven-1-23") && !group.covers("/a") && !group.covers("/"));
    }
}
