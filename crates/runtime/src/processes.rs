//! Processes as the system knows them: who they are, what they started, and how to end all of it.
//!
//! A process is known by its id and its start time together, because ids are used again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, pidfd_send_signal, wait,
};
use serde::{Deserialize, Serialize};

/// Names the job a process belongs to, in its environment.
pub const JOB_VARIABLE: &str = "COVEN_JOB";

/// A process that cannot be mistaken for a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The process id.
    pub pid: i32,
    /// When it started, in clock ticks since the system did.
    pub start: u64,
}

/// What the system tells about a process.
struct Stat {
    parent: i32,
    session: i32,
    start: u64,
    zombie: bool,
    name: String,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The name stands in parentheses and may contain anything, parentheses too.
        let (head, tail) = text.rsplit_once(") ")?;
        let name = head.split_once(" (")?.1.to_owned();
        let fields: Vec<&str> = tail.split(' ').collect();
        Some(Self {
            zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
            name,
        })
    }
}

impl Identity {
    /// The process that has this id now. Nothing if there is none, or if it has ended and only
    /// waits to be reaped.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = Stat::read(pid).filter(|stat| !stat.zombie)?;
        Some(Self { pid, start: stat.start })
    }

    /// This process.
    pub fn own() -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self::of(pid).ok_or_else(|| io::Error::other("/proc does not know this process"))
    }

    /// Whether it still runs.
    pub fn is_running(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Its name, for people.
    pub fn name(self) -> Option<String> {
        let stat = Stat::read(self.pid).filter(|stat| stat.start == self.start)?;
        Some(stat.name)
    }

    /// A descriptor that becomes readable when it ends.
    pub(crate) fn open(self) -> io::Result<OwnedFd> {
        let pid = Pid::from_raw(self.pid).ok_or_else(no_such_process)?;
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        // Opened by id, so it may be a later process: what it is now decides.
        if Self::of(self.pid) == Some(self) { Ok(descriptor) } else { Err(no_such_process()) }
    }

    /// Sends a signal to this process and no later one.
    pub fn signal(self, signal: Signal) -> io::Result<()> {
        pidfd_send_signal(self.open()?, signal)?;
        Ok(())
    }
}

fn no_such_process() -> io::Error {
    io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error())
}

/// Tells one start of the system from the next. Process ids and start times mean nothing across.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Every running process with its parent and session.
fn all() -> BTreeMap<i32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let seen = pids.filter_map(|pid| Some((pid, Stat::read(pid)?)));
    let mut all: BTreeMap<i32, Stat> = seen.filter(|(_, stat)| !stat.zombie).collect();
    follow_orphans(&mut all, Stat::read);
    all
}

/// How often a parent may end during one look.
const ORPHANED: usize = 8;

/// Looks again at those whose parent is not among the others. It ended after they were looked at,
/// and by now they have been handed to somebody else; without that they would belong to nobody.
fn follow_orphans(all: &mut BTreeMap<i32, Stat>, mut read: impl FnMut(i32) -> Option<Stat>) {
    for _ in 0..ORPHANED {
        let lost = |stat: &Stat| stat.parent != 0 && !all.contains_key(&stat.parent);
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
pub fn descendants(root: i32) -> Vec<Identity> {
    let all = all();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        next += 1;
        found.extend(all.iter().filter(|(_, stat)| stat.parent == parent).map(|(pid, _)| *pid));
    }
    found[1..]
        .iter()
        .filter_map(|pid| Some(Identity { pid: *pid, start: all.get(pid)?.start }))
        .collect()
}

/// Everything in the session of a process, wherever its parents are.
pub fn of_session(session: i32) -> Vec<Identity> {
    let members = all().into_iter().filter(|(_, stat)| stat.session == session);
    members.map(|(pid, stat)| Identity { pid, start: stat.start }).collect()
}

/// Every process that carries this job in its environment. A process may take it out of there;
/// the job's holder finds it all the same, this finds what a killed holder left.
pub fn of_job(job: &str) -> Vec<Identity> {
    let wanted = format!("{JOB_VARIABLE}={job}").into_bytes();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let carries = |pid: i32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == wanted))
    };
    let members = all().into_iter().filter(|(pid, _)| *pid != own && carries(*pid));
    members.map(|(pid, stat)| Identity { pid, start: stat.start }).collect()
}

/// What ending a tree of processes came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// What still ran when it was forced to end.
    pub forced: Vec<Remnant>,
    /// What could not be ended.
    pub left: Vec<Remnant>,
}

/// A process that should have been gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remnant {
    /// Which one.
    pub process: Identity,
    /// Its name.
    pub name: String,
}

impl Remnant {
    fn of(process: Identity) -> Self {
        Self { process, name: process.name().unwrap_or_default() }
    }
}

/// Ends processes until none is found. New ones may be started meanwhile by those that are not
/// yet gone, so it looks again after every round; a process that cannot be ended, stuck in the
/// kernel, makes it give up at the deadline.
pub fn end_all(mut find: impl FnMut() -> Vec<Identity>, patience: Duration) -> Ended {
    let deadline = Instant::now() + patience;
    let mut ended = Ended::default();
    loop {
        let found = find();
        if found.is_empty() {
            return ended;
        }
        if Instant::now() >= deadline {
            ended.left = found.into_iter().map(Remnant::of).collect();
            return ended;
        }
        let descriptors: Vec<OwnedFd> =
            found.iter().filter_map(|process| process.open().ok()).collect();
        for (process, descriptor) in found.iter().zip(&descriptors) {
            if !ended.forced.iter().any(|remnant| remnant.process == *process) {
                ended.forced.push(Remnant::of(*process));
            }
            // It may have ended by itself meanwhile.
            let _ = pidfd_send_signal(descriptor, Signal::KILL);
        }
        for descriptor in &descriptors {
            wait_for_end(descriptor, deadline);
        }
    }
}

/// Waits until a process has ended, but not beyond the deadline.
fn wait_for_end(descriptor: &OwnedFd, deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).ok();
    // Whatever it says, the next look at the processes decides.
    let _ = poll(&mut [PollFd::new(descriptor, PollFlags::IN)], timeout.as_ref());
}

/// What became of our children.
pub(crate) struct Reaped {
    /// Those that have ended, and how.
    pub(crate) ended: Vec<(i32, rustix::process::WaitStatus)>,
    /// There are none any more, and so no descendants either if they are handed to us.
    pub(crate) childless: bool,
}

/// Takes note of every child that has ended. Only for a process all of whose children are one
/// job's: elsewhere it would take the end of a child from whoever waits for it.
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
        let _ = kill_process_group(group, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(parent: i32) -> Stat {
        Stat { parent, session: 1, start: 1, zombie: false, name: "x".to_owned() }
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
