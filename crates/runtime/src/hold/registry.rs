//! Which processes are holders, written down in the state folder before a holder starts anything:
//! its id, its start time, its job, and the processes that were seen below it.
//!
//! That is what tells an agent from a person ([`crate::lineage`]). A holder removes its entry when
//! its job has ended. An entry whose holder is gone means that the holder was killed: what it left
//! is ended, and the entry stays, so that what could not be ended is still known.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use coven_folder::{OpenFolder, absent_is_none, best_effort};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::folder::HolderFolder;
use crate::cgroup::JobCgroup;
use crate::machine;
use crate::processes::{self, Identity, ProcessTable, TreeEnding};

/// The folder of the entries, in the state folder.
const FOLDER: &str = "holders";

/// Its mode: for its owner alone.
const PRIVATE_MODE: u32 = 0o700;

/// The version of an entry. One that is newer counts as far as it can be read.
const VERSION: u32 = 1;

/// How long a holder may take to end its job, which it gives some time to end by itself.
const HOLDER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long what a killed holder left may take to vanish once it is killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The holders of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderRegistry {
    path: PathBuf,
}

/// What is known of one holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HolderEntry {
    pub version: u32,
    /// The start of the system in which the ids mean something.
    pub boot_id: String,
    pub holder: Identity,
    /// The job, as in the environment of its processes.
    pub job: String,
    /// The folder of the attempt, where its end is recorded.
    pub folder: PathBuf,
    /// The limit that marks the job's processes ([`machine::job_limit`]), where the system has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The control group of the job's processes, where one could be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<JobCgroup>,
    /// Processes that were seen below the holder.
    #[serde(default)]
    pub tree: Vec<Identity>,
    /// The holder was killed, and what it left was ended as far as it was known.
    #[serde(default)]
    pub lost: bool,
}

impl HolderEntry {
    /// One of which nothing but its process is known.
    fn unread(holder: Identity, boot_id: String) -> Self {
        Self {
            version: VERSION,
            boot_id,
            holder,
            job: String::new(),
            folder: PathBuf::new(),
            limit: None,
            cgroup: None,
            tree: Vec::new(),
            lost: false,
        }
    }

    /// The session of the job.
    pub fn session(&self) -> &str {
        self.job.split('/').next().unwrap_or_default()
    }
}

impl HolderRegistry {
    /// The holders of a user, in their state folder. Neither need exist.
    pub fn new(state_dir: &Path) -> Self {
        Self { path: state_dir.join(FOLDER) }
    }

    /// The one whose folder this is.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self) -> io::Result<Option<OpenFolder>> {
        Ok(absent_is_none(OpenFolder::open(&self.path))?)
    }

    /// Writes a holder down. It must not start anything before this. With `grouped` its job gets a
    /// control group, where one can be had.
    pub(crate) fn add(
        &self,
        holder: Identity,
        job: &str,
        folder: &Path,
        grouped: bool,
    ) -> io::Result<()> {
        std::fs::create_dir_all(self.path.parent().unwrap_or(&self.path))?;
        let parent = self.path.parent().unwrap_or(Path::new("/"));
        let opened = OpenFolder::open(parent)?.make(FOLDER, PRIVATE_MODE)?;
        let entry = HolderEntry {
            version: VERSION,
            boot_id: machine::boot_id()?,
            holder,
            job: job.to_owned(),
            folder: folder.to_owned(),
            limit: machine::job_limit(),
            cgroup: grouped.then(|| JobCgroup::make(holder)).flatten(),
            tree: Vec::new(),
            lost: false,
        };
        write(&opened, &entry)
    }

    /// The control group of a holder's job.
    pub(crate) fn cgroup(&self, holder: Identity) -> Option<JobCgroup> {
        let text = self.open().ok()??.read(&name(holder)).ok()??;
        serde_json::from_slice::<HolderEntry>(&text).ok()?.cgroup
    }

    /// Forgets a holder whose job has ended.
    pub(crate) fn remove(&self, holder: Identity) -> io::Result<()> {
        let Some(folder) = self.open()? else { return Ok(()) };
        if let Some(cgroup) = self.cgroup(holder) {
            cgroup.remove();
        }
        Ok(folder.remove(&name(holder))?)
    }

    /// The holders since the system started. An error says that they cannot be read, as for a
    /// process that is confined.
    pub fn entries(&self) -> io::Result<Vec<HolderEntry>> {
        let Some(folder) = self.open()? else { return Ok(Vec::new()) };
        let boot = machine::boot_id()?;
        let mut entries = Vec::new();
        let is_entry =
            |file: &&String| Path::new(file).extension().is_some_and(|end| end == "json");
        for file in folder.names()?.iter().filter(is_entry) {
            let Some(text) = folder.read(file)? else { continue };
            match serde_json::from_slice::<HolderEntry>(&text) {
                Ok(entry) if entry.boot_id == boot => entries.push(entry),
                // After a restart of the system nothing of it can be left.
                Ok(_) => best_effort("forget a holder", folder.remove(file)),
                Err(error) => {
                    let path = self.path.join(file);
                    let Some(holder) = holder_of(file) else {
                        let reason = format!("{}: {error}", path.display());
                        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
                    };
                    // A power cut may have left it empty. Its name still says whose it is.
                    if holder.is_running() {
                        entries.push(HolderEntry::unread(holder, boot.clone()));
                    } else {
                        best_effort("forget a holder", folder.remove(file));
                    }
                }
            }
        }
        Ok(entries)
    }

    /// The holders that run now.
    pub fn running(&self) -> io::Result<Vec<HolderEntry>> {
        let mut entries = self.entries()?;
        entries.retain(|entry| entry.holder.is_running());
        Ok(entries)
    }

    /// Ends a job through its holder, and what the holder leaves if it has to be killed.
    pub fn end(&self, entry: &HolderEntry) -> io::Result<()> {
        let Ok(holder) = entry.holder.open() else { return Ok(()) };
        let deadline = Instant::now() + HOLDER_TIMEOUT;
        holder.signal(Signal::TERM)?;
        processes::wait_for_end(&holder, deadline);
        if !entry.holder.is_running() {
            return Ok(());
        }
        let tree = processes::descendants(entry.holder.pid);
        holder.signal(Signal::KILL)?;
        processes::wait_for_end(&holder, Instant::now() + KILL_TIMEOUT);
        end_lost(&HolderEntry { tree, ..entry.clone() });
        self.remove(entry.holder)
    }

    /// Writes down what runs below each holder, ends what killed ones left, and gives the entries as
    /// they are then.
    pub fn refresh(&self) -> io::Result<Vec<HolderEntry>> {
        let mut entries = self.entries()?;
        if entries.is_empty() {
            return Ok(entries);
        }
        let table = ProcessTable::read();
        let folder = self.open()?;
        let folder = folder.as_ref().ok_or(io::ErrorKind::NotFound)?;
        entries.retain_mut(|entry| {
            if entry.holder.is_running() {
                let tree = table.descendants(entry.holder.pid);
                if tree != entry.tree {
                    entry.tree = tree;
                    best_effort("record the processes of a job", write(folder, entry));
                }
                return true;
            }
            if matches!(HolderFolder::new(&entry.folder).exit(), Ok(Some(_))) {
                // It ended in order, and was stopped before it could forget itself.
                entry.cgroup.iter().for_each(JobCgroup::remove);
                best_effort("forget a holder", folder.remove(&name(entry.holder)));
                return false;
            }
            if !matches!(folder.stat(&name(entry.holder)), Ok(Some(_))) {
                // It forgot itself since the entries were read: it ended in order.
                return false;
            }
            if !entry.lost {
                end_lost(entry);
                entry.lost = true;
                best_effort("record the loss of a holder", write(folder, entry));
            }
            true
        });
        Ok(entries)
    }
}

/// Ends what a killed holder left: what is in the control group of its job, what was seen below it
/// and what carries its job. What carries the limit of its job alone is not ended, because the jobs
/// of another daemon have the same.
fn end_lost(entry: &HolderEntry) -> TreeEnding {
    entry.cgroup.iter().for_each(JobCgroup::kill);
    let ended = processes::end_all(|| lost_processes(entry), KILL_TIMEOUT);
    entry.cgroup.iter().for_each(JobCgroup::remove);
    ended
}

fn lost_processes(entry: &HolderEntry) -> Vec<Identity> {
    let table = ProcessTable::read();
    let mut found: BTreeSet<Identity> = BTreeSet::new();
    found.extend(entry.cgroup.iter().flat_map(JobCgroup::members));
    for seen in &entry.tree {
        if table.has(*seen) {
            found.insert(*seen);
            found.extend(table.descendants(seen.pid));
        }
    }
    for carrier in processes::of_job(&entry.job) {
        found.extend(table.descendants(carrier.pid));
        found.insert(carrier);
    }
    found.into_iter().collect()
}

fn name(holder: Identity) -> String {
    format!("{}-{}.json", holder.pid, holder.start)
}

/// The holder whose entry has this name.
fn holder_of(name: &str) -> Option<Identity> {
    let (pid, start) = name.strip_suffix(".json")?.split_once('-')?;
    Some(Identity { pid: pid.parse().ok()?, start: start.parse().ok()? })
}

/// Several processes write entries, and a process does so from several threads: each has a draft of
/// its own, because one that is put in place must be whole.
fn write(folder: &OpenFolder, entry: &HolderEntry) -> io::Result<()> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    if entry.job.is_empty() {
        // What is not known is not written over what may be there.
        return Ok(());
    }
    let mut text = serde_json::to_vec_pretty(entry)?;
    text.push(b'\n');
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = format!("{}.{}-{number}.new", name(entry.holder), std::process::id());
    let written = folder.create_anew(&draft).map_err(io::Error::from).and_then(|mut file| {
        file.write_all(&text)?;
        Ok(folder.rename(&draft, folder, &name(entry.holder))?)
    });
    if written.is_err() {
        best_effort("remove a draft", folder.remove(&draft));
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> (tempfile::TempDir, HolderRegistry, Identity) {
        let state = tempfile::tempdir().unwrap();
        let registry = HolderRegistry::new(state.path());
        let holder = Identity::of(std::process::id() as i32).unwrap();
        registry.add(holder, "session/task/1", state.path(), false).unwrap();
        (state, registry, holder)
    }

    #[test]
    fn an_entry_that_many_write_at_once_is_whole_whenever_it_is_read() {
        let (_state, registry, _) = registry();
        let entry = registry.entries().unwrap().remove(0);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (registry, mut entry) = (registry.clone(), entry.clone());
                scope.spawn(move || {
                    let folder = registry.open().unwrap().unwrap();
                    for turn in 0..200 {
                        // Entries of several lengths, so that a mixture would show.
                        entry.folder = PathBuf::from("x".repeat(number * 700 + turn));
                        write(&folder, &entry).unwrap();
                        let text = folder.read(&name(entry.holder)).unwrap().unwrap();
                        serde_json::from_slice::<HolderEntry>(&text).unwrap();
                    }
                });
            }
        });
        let names = registry.open().unwrap().unwrap().names().unwrap();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn an_entry_that_a_power_cut_emptied_does_not_hide_the_others() {
        let (_state, registry, holder) = registry();
        std::fs::write(registry.path().join(name(holder)), "").unwrap();
        std::fs::write(registry.path().join("1999999999-7.json"), "").unwrap();
        let entries = registry.refresh().unwrap();
        let found: Vec<Identity> = entries.iter().map(|entry| entry.holder).collect();
        assert_eq!(found, [holder], "its name says which process it is about");
        assert!(!registry.path().join("1999999999-7.json").exists());
    }
}
