//! Panes of one domain, and their end: whatever happens, nothing that was started is left running
//! or unreaped.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coven_runtime::domain::{Domain, Pane, ReadOutcome, SpawnConfig, StopMode};
use coven_runtime::hold::HolderFolder;
use coven_runtime::processes::Identity;
use coven_runtime::{HolderDomain, LocalDomain};
use coven_testkit::programs::TestProgram;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, waitpid};

/// Longer than anything takes on a loaded machine; only what is stuck takes this long.
pub(crate) const DEADLINE: Duration = Duration::from_mins(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Local,
    Holder,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Local, Self::Holder];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Holder => "holder",
        }
    }

    pub(crate) fn named(name: &str) -> io::Result<Self> {
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| io::Error::other(format!("there is no domain {name}")))
    }

    fn domain(self) -> Box<dyn Domain> {
        match self {
            Self::Local => Box::new(LocalDomain::new()),
            Self::Holder => Box::new(HolderDomain::new(TestProgram::Holder.path())),
        }
    }
}

/// Panes of one domain. All of them end with this value.
pub(crate) struct Fleet {
    kind: Kind,
    domain: Box<dyn Domain>,
    /// Attempt folders are made here.
    root: PathBuf,
    pub(crate) panes: Vec<Box<dyn Pane>>,
    folders: Vec<HolderFolder>,
}

impl Fleet {
    pub(crate) fn new(kind: Kind, root: &Path) -> Self {
        let (panes, folders) = (Vec::new(), Vec::new());
        Self { kind, domain: kind.domain(), root: root.to_owned(), panes, folders }
    }

    pub(crate) fn spawn(&mut self, mut config: SpawnConfig) -> io::Result<&mut dyn Pane> {
        if self.kind == Kind::Holder {
            let path = self.root.join(&config.job);
            self.folders.push(HolderFolder::new(&path));
            config.folder = Some(path);
        }
        let pane = self.domain.spawn(&config).map_err(io::Error::other)?;
        self.panes.push(pane);
        match self.panes.last_mut() {
            Some(pane) => Ok(&mut **pane),
            None => Err(io::Error::other("there is no pane")),
        }
    }

    /// The folder of the last one.
    pub(crate) fn folder(&self) -> io::Result<&HolderFolder> {
        self.folders.last().ok_or_else(|| io::Error::other("there is no folder"))
    }

    pub(crate) fn holders(&self) -> io::Result<Vec<Identity>> {
        let mut holders = Vec::with_capacity(self.folders.len());
        for folder in &self.folders {
            let record = folder.spawn_record().map_err(io::Error::other)?;
            holders.extend(record.and_then(|record| record.holder));
        }
        Ok(holders)
    }

    /// Ends all of them and waits until they, and their holders, are gone.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + DEADLINE;
        let holders = self.holders()?;
        let mut result = Ok(());
        for pane in &mut self.panes {
            result = result.and(pane.stop(StopMode::Force));
        }
        for pane in &mut self.panes {
            result = result.and(wait_for_end(&mut **pane, deadline));
        }
        if result.is_err() || holders.len() > self.panes.len() {
            // A holder that we could not reach ends its job when it is asked to end.
            for holder in &holders {
                // It may be gone.
                holder.signal(Signal::TERM).ok();
            }
        }
        for holder in holders {
            result = result.and(reap(holder, deadline));
        }
        self.panes.clear();
        self.folders.clear();
        result
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("something may be left running: {error}");
        }
    }
}

/// Waits until a pane has something to tell.
pub(crate) fn wait_ready(pane: &dyn Pane, deadline: Instant) -> io::Result<()> {
    let Some(readiness) = pane.readiness() else { return Ok(()) };
    wait_readable(PollFd::new(&readiness, PollFlags::IN), deadline)
}

fn wait_readable(descriptor: PollFd<'_>, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut [descriptor], Some(&timeout)) {
        Ok(0) => Err(io::Error::new(io::ErrorKind::TimedOut, "nothing happened")),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn wait_for_end(pane: &mut dyn Pane, deadline: Instant) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match pane.read(&mut buffer)? {
            ReadOutcome::End => return Ok(()),
            ReadOutcome::Data(..) => {}
            ReadOutcome::Pending => wait_ready(pane, deadline)?,
        }
    }
}

/// Waits for the end of a holder and takes note of it. The domain would do so at its next start.
fn reap(holder: Identity, deadline: Instant) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(holder.pid) else { return Ok(()) };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => wait_readable(PollFd::new(&process, PollFlags::IN), deadline)?,
        // Reaped already.
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    }
    // The domain may have been quicker.
    waitpid(Some(pid), WaitOptions::NOHANG).ok();
    Ok(())
}
