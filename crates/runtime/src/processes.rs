//! Processes as the system knows them: who they are, what they started, and how to end all of it.
//!
//! A process is known by its id and its start time together, because ids are used again.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use coven_folder::best_effort;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, wait};
use serde::{Deserialize, Serialize};

use crate::domain::ReaderActivity;
use crate::machine::{self, ProcessHandle, ProcessInfo};

/// Names the job a process belongs to, in its environment.
pub const JOB_VARIABLE: &str = "COVEN_JOB";

/// A process that cannot be mistaken for a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    pub pid: i32,
    /// When it started, in a unit of the system's own (on Linux clock ticks since the system did).
    pub start: u64,
}

impl Identity {
    /// The process that has this id now. Nothing if there is none, or if it has ended and only
    /// waits to be reaped.
    pub fn of(pid: i32) -> Option<Self> {
        let info = machine::process(pid).filter(|info| !info.zombie)?;
        Some(Self { pid, start: info.start })
    }

    pub fn own() -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self::of(pid).ok_or_else(|| io::Error::other("the system does not know this process"))
    }

    /// Whether it still runs.
    pub fn is_running(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Its name, for people.
    pub fn name(self) -> Option<String> {
        let info = machine::process(self.pid).filter(|info| info.start == self.start)?;
        Some(info.name)
    }

    /// A handle to this process and no later one.
    pub(crate) fn open(self) -> io::Result<ProcessHandle> {
        let handle = ProcessHandle::open(self.pid)?;
        // Opened by id, so it may be a later process: what it is now decides.
        if Self::of(self.pid) == Some(self) {
            Ok(handle)
        } else {
            Err(rustix::io::Errno::SRCH.into())
        }
    }

    /// Sends a signal to this process and no later one.
    pub fn signal(self, signal: Signal) -> io::Result<()> {
        self.open()?.signal(signal)
    }
}

/// All processes that run, as they were at one look.
pub(crate) struct ProcessTable(BTreeMap<i32, ProcessInfo>);

impl ProcessTable {
    pub(crate) fn read() -> Self {
        Self(all())
    }

    /// Everything a process started that still runs, and what that started, without itself.
    pub(crate) fn descendants(&self, root: i32) -> Vec<Identity> {
        let Self(all) = self;
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for (pid, info) in all {
            children.entry(info.parent).or_default().push(*pid);
        }
        let mut found = vec![root];
        let mut next = 0;
        while let Some(parent) = found.get(next) {
            next += 1;
            if let Some(started) = children.remove(parent) {
                found.extend(started);
            }
        }
        found[1..]
            .iter()
            .filter_map(|pid| Some(Identity { pid: *pid, start: all.get(pid)?.start }))
            .collect()
    }

    /// Whether this very process was among them.
    pub(crate) fn has(&self, process: Identity) -> bool {
        self.0.get(&process.pid).is_some_and(|info| info.start == process.start)
    }
}

/// Every running process with its parent and session.
fn all() -> BTreeMap<i32, ProcessInfo> {
    let pids = machine::process_ids().unwrap_or_default().into_iter();
    let seen = pids.filter_map(|pid| Some((pid, machine::process(pid)?)));
    let mut all: BTreeMap<i32, ProcessInfo> = seen.filter(|(_, info)| !info.zombie).collect();
    follow_orphans(&mut all, machine::process);
    all
}

/// How often a parent may end during one look.
const MAX_LOST_PARENTS: usize = 8;

/// Looks again at those whose parent is not among the others. It ended after they were looked at,
/// and the kernel has given them another parent since; without the second look they would be
/// outside of every tree and outlive the stop of their job.
fn follow_orphans(
    all: &mut BTreeMap<i32, ProcessInfo>,
    mut read: impl FnMut(i32) -> Option<ProcessInfo>,
) {
    for _ in 0..MAX_LOST_PARENTS {
        let lost = |stat: &ProcessInfo| stat.parent != 0 && !all.contains_key(&stat.parent);
        let orphans: Vec<(i32, i32)> = all
            .iter()
            .filter(|(_, stat)| lost(stat))
            .map(|(pid, stat)| (*pid, stat.parent))
            .collect();
        let mut moved = false;
        for (pid, parent) in orphans {
            match read(pid).filter(|stat| !stat.zombie) {
                Some(stat) => {
                    moved |= stat.parent != parent;
                    all.insert(pid, stat);
                }
                None => drop(all.remove(&pid)),
            }
        }
        if !moved {
            return;
        }
    }
}

/// Everything a process started that still runs, and what that started, without itself. Those
/// whose parent has ended are found only if they were handed to this process (a subreaper).
pub(crate) fn descendants(root: i32) -> Vec<Identity> {
    ProcessTable::read().descendants(root)
}

/// Everything in the session of a process, wherever its parents are.
pub fn of_session(session: i32) -> Vec<Identity> {
    let members = all().into_iter().filter(|(_, stat)| stat.session == session);
    members.map(|(pid, stat)| Identity { pid, start: stat.start }).collect()
}

/// The processes that work in a folder or below it, as far as the system shows where they do.
pub fn working_below(folder: &Path) -> io::Result<Vec<Identity>> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    // That of ourselves can be told where any can be.
    machine::working_folder(Identity::own()?.pid)?;
    let works_there =
        |pid: &i32| machine::working_folder(*pid).is_ok_and(|place| place.starts_with(&folder));
    let ids = machine::process_ids()?;
    Ok(ids.into_iter().filter(works_there).filter_map(Identity::of).collect())
}

/// Every process that carries this job in its environment. A process may take it out of there;
/// the job's holder finds it all the same, this finds what a killed holder left.
pub fn of_job(job: &str) -> Vec<Identity> {
    let wanted = format!("{JOB_VARIABLE}={job}").into_bytes();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let carries = |pid: i32| {
        machine::environment(pid)
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == wanted))
    };
    let members = all().into_iter().filter(|(pid, _)| *pid != own && carries(*pid));
    members.map(|(pid, stat)| Identity { pid, start: stat.start }).collect()
}

/// The process that should read what is typed on the terminal of a session, if that is stopped.
pub(crate) fn stopped_reader(leader: i32) -> Option<i32> {
    let group = machine::process(leader)?.foreground?;
    machine::process(group).filter(|reader| reader.stopped).map(|_| group)
}

/// What the processes do that read what is typed on the terminal of a session; nothing where that
/// cannot be told.
pub(crate) fn reader_activity(leader: i32) -> Option<ReaderActivity> {
    let group = machine::process(leader)?.foreground?;
    let is_reader = |info: &ProcessInfo| info.group == group && !info.zombie;
    let readers = all().into_iter().filter(|(_, info)| is_reader(info));
    let mut threads = Vec::new();
    for (pid, _) in readers {
        threads.extend(machine::thread_activity(pid)?);
    }
    if threads.is_empty() {
        return None;
    }
    if !threads.iter().all(|thread| thread.waits_elsewhere) {
        return Some(ReaderActivity::MayRead);
    }
    Some(ReaderActivity::Busy {
        runs: threads.iter().map(|thread| thread.runs).sum(),
        works: threads.iter().any(|thread| thread.works),
    })
}

/// What of a job still runs, seen from a process that is not the parent of what the job abandoned:
/// what its leader started, what is in the leader's session, and what carries the job in its
/// environment. The leader itself is not among them.
pub(crate) fn of_leader(leader: i32, job: &str) -> Vec<Identity> {
    let mut found = descendants(leader);
    found.extend(of_session(leader));
    found.extend(of_job(job));
    found.sort_unstable();
    found.dedup();
    found.retain(|process| process.pid != leader);
    found
}

/// What ending a tree of processes came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeEnding {
    /// What still ran when it was forced to end.
    pub forced: Vec<RemnantProcess>,
    /// What could not be ended.
    pub left: Vec<RemnantProcess>,
}

/// A process that should have been gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemnantProcess {
    pub process: Identity,
    pub name: String,
}

impl RemnantProcess {
    pub(crate) fn of(process: Identity) -> Self {
        Self { process, name: process.name().unwrap_or_default() }
    }
}

/// Ends processes until none is found. New ones may be started meanwhile by those that are not
/// yet gone, so it looks again after every round; a process that cannot be ended, stuck in the
/// kernel, makes it give up at the deadline.
pub fn end_all(mut find: impl FnMut() -> Vec<Identity>, patience: Duration) -> TreeEnding {
    let deadline = Instant::now() + patience;
    let mut ended = TreeEnding::default();
    loop {
        let found = find();
        if found.is_empty() {
            return ended;
        }
        if Instant::now() >= deadline {
            ended.left = found.into_iter().map(RemnantProcess::of).collect();
            return ended;
        }
        let handles: Vec<(Identity, ProcessHandle)> =
            found.iter().filter_map(|process| Some((*process, process.open().ok()?))).collect();
        for (process, handle) in &handles {
            if !ended.forced.iter().any(|remnant| remnant.process == *process) {
                ended.forced.push(RemnantProcess::of(*process));
            }
            // It may have ended by itself meanwhile.
            best_effort("kill a process", handle.signal(Signal::KILL));
        }
        for (_, handle) in &handles {
            wait_for_end(handle, deadline);
        }
    }
}

/// Waits until a process has ended, but not beyond the deadline.
pub(crate) fn wait_for_end(handle: &ProcessHandle, deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).ok();
    // Whatever it says, the next look at the processes decides.
    let ended = poll(&mut [PollFd::new(handle, PollFlags::IN)], timeout.as_ref());
    best_effort("wait for the end of a process", ended);
}

/// What became of our children.
pub(crate) struct Reaped {
    /// Those that have ended, and how.
    pub(crate) ended: Vec<(i32, rustix::process::WaitStatus)>,
    /// There are none any more, and so no descendants either if they are handed to us.
    pub(crate) childless: bool,
}

/// Takes note of every child that has ended. Only for a process all of whose children are one
/// job's: elsewhere it would take the exit status from the code that waits for that child.
pub(crate) fn reap() -> Reaped {
    let mut ended = Vec::new();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended.push((pid.as_raw_nonzero().get(), status)),
            Ok(None) | Err(rustix::io::Errno::INTR) => return Reaped { ended, childless: false },
            Err(_) => return Reaped { ended, childless: true },
        }
    }
}

/// Sends a signal to a process group, if there is one.
pub(crate) fn signal_group(group: i32, signal: Signal) {
    if let Some(group) = Pid::from_raw(group) {
        // A group that is gone needs no signal.
        best_effort("signal a process group", kill_process_group(group, signal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(parent: i32) -> ProcessInfo {
        ProcessInfo {
            group: 0,
            parent,
            session: 1,
            start: 1,
            zombie: false,
            stopped: false,
            foreground: None,
            name: "x".to_owned(),
        }
    }

    #[test]
    fn who_lost_a_parent_during_a_look_is_found_where_it_went() {
        // 40 was looked at as a child of 30, which had ended when it was its turn; it went to 20,
        // and when that ended too to 10.
        let mut all = BTreeMap::from([(1, stat(0)), (10, stat(1)), (40, stat(30)), (50, stat(40))]);
        let mut went = vec![stat(10), stat(20)];
        follow_orphans(&mut all, |pid| {
            assert_eq!(pid, 40);
            went.pop()
        });
        assert_eq!(all[&40].parent, 10);

        let mut gone = BTreeMap::from([(1, stat(0)), (40, stat(30))]);
        follow_orphans(&mut gone, |_| None);
        assert!(!gone.contains_key(&40), "it has ended as well");

        let mut outside = BTreeMap::from([(40, stat(30))]);
        follow_orphans(&mut outside, |_| Some(stat(30)));
        assert_eq!(outside[&40].parent, 30, "a parent that cannot be seen is no reason to go on");
    }
}
