//! The holder itself: one process that owns one job. It has one thread, waits in one place, and
//! keeps nothing in memory that can grow.
//!
//! Output goes to the tape before anyone else sees it. Clients that fall behind read it back from
//! there at their own pace, so that none of them can hold up the job. The job ends when its
//! process and everything it started are gone; then that is recorded, told, and the holder ends.

mod clients;
mod job;
mod output;
mod secrets;
mod snapper;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use coven_folder::{OpenObstacle, best_effort};
use coven_terminal::screen::Options;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::setsid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::adopt::end_job;
use super::folder::{FolderError, HolderExit, HolderFolder, ReservedFile, SpawnRecord};
use super::registry::HolderRegistry;
use super::request::HoldRequest;
use super::secret::HolderSecret;
use super::snap::{ScreenSnap, rebuild};
use super::start::StartReport;
use crate::domain::{SpawnConfig, SpawnError};
use crate::launch::{launch, set_nonblocking};
use crate::machine;
use crate::processes::Identity;

use clients::{ClientGate, Clients};
use job::HeldJob;
use snapper::Snapper;

/// What a signal to the holder itself gives the job to end.
const SIGNAL_GRACE: Duration = Duration::from_secs(5);

/// How long clients may take to fetch the rest once the job has ended. The tape has it anyway.
const LAST_READ_TIMEOUT: Duration = Duration::from_secs(2);

/// How long until the end is written again after the disk did not take it.
const EXIT_WRITE_RETRY: Duration = Duration::from_millis(500);

/// Why a holder gave up. Its process is never left running.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// The process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The tape cannot be begun.
    #[error(transparent)]
    Tape(#[from] coven_tape::Error),
    /// The process runs, and that cannot be written down.
    #[error("the start cannot be recorded: {0}")]
    Unrecorded(#[source] FolderError),
    /// The system refused something.
    #[error("{step}: {source}")]
    Io { step: &'static str, source: io::Error },
}

impl HoldError {
    fn io(step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { step, source }
    }

    /// Whether the disk has no room for what is kept of the process, which was not started then.
    fn is_full(&self) -> bool {
        let is_full = |error: &io::Error| OpenObstacle::of(error) == OpenObstacle::Full;
        match self {
            Self::Folder(error) => error.is_full(),
            Self::Tape(coven_tape::Error::Io { source, .. }) | Self::Io { source, .. } => {
                is_full(source)
            }
            // The system says the same of terminals of which it has no more.
            Self::Tape(_) | Self::Spawn(_) | Self::Unrecorded(_) => false,
        }
    }

    fn errno(&self) -> Option<i32> {
        match self {
            Self::Spawn(
                SpawnError::NotExecutable { source, .. }
                | SpawnError::WorkingDirectory { source, .. }
                | SpawnError::Exhausted { source, .. }
                | SpawnError::Io { source, .. },
            ) => source.raw_os_error(),
            Self::Spawn(SpawnError::TooLong { .. }) => {
                Some(rustix::io::Errno::TOOBIG.raw_os_error())
            }
            _ => None,
        }
    }
}

/// Holds a process until it and everything it started have ended. Says on `report` whether it
/// started, as soon as that is known. Environment and working directory are this process's own.
pub fn hold(request: HoldRequest, report: &mut dyn Write) -> Result<(), HoldError> {
    let registry = request.registry.clone().map(HolderRegistry::at);
    let started = HolderServer::start(request);
    let message = match &started {
        Ok(_) => StartReport::Started,
        Err(error) => StartReport::Failed {
            message: error.to_string(),
            errno: error.errno(),
            full: error.is_full(),
        },
    };
    let mut line = serde_json::to_vec(&message)
        .map_err(io::Error::from)
        .map_err(HoldError::io("reporting"))?;
    line.push(b'\n');
    // The process that started this holder may be gone already; the job goes on.
    best_effort("report the start", report.write_all(&line).and_then(|()| report.flush()));
    let done = started.and_then(|holder| {
        detach().map_err(HoldError::io("leaving the terminal"))?;
        holder.run()
    });
    if let (Some(registry), Ok(own)) = (registry, Identity::own()) {
        // Nothing of the job is left. An entry that stays is taken for that of a killed holder.
        best_effort("forget a holder", registry.remove(own));
    }
    done
}

/// Saves the screen of a folder's process, as far as its tape goes.
pub fn snap(folder: &HolderFolder) -> Result<(), HoldError> {
    let mut rebuilt = rebuild(folder, &Options::default())?;
    let snap = ScreenSnap::of(&mut rebuilt.screen, rebuilt.offset);
    snap.save(folder).map_err(HoldError::io("saving the screen"))
}

/// Lets go of everything that ties the holder to the process that started it.
#[expect(
    clippy::disallowed_methods,
    reason = "the process is ours alone and uses no relative path"
)]
fn detach() -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    std::env::set_current_dir("/")
}

/// The end of a pipe that a signal writes to.
fn on_signals(signals: &[i32]) -> io::Result<OwnedFd> {
    let (read, write) = io::pipe()?;
    let (read, write) = (OwnedFd::from(read), OwnedFd::from(write));
    set_nonblocking(&read)?;
    set_nonblocking(&write)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, write.try_clone()?)?;
    }
    Ok(read)
}

/// Reads a pipe empty and says whether there was anything.
fn drain(pipe: &OwnedFd) -> bool {
    let mut buffer = [0; 64];
    let mut any = false;
    while rustix::io::read(pipe, &mut buffer).is_ok_and(|length| length > 0) {
        any = true;
    }
    any
}

/// How often a holder without clients looks whether its folder is still there. Without the folder
/// no daemon can ever find the job again, and it must not live on unseen.
const FOLDER_CHECK_INTERVAL: Duration = Duration::from_mins(1);

/// How far the job is.
enum HolderPhase {
    Running,
    /// It has ended; the record is still to be written.
    Ended {
        exit: HolderExit,
        retry: Instant,
    },
    /// It is recorded; clients may fetch the rest until then.
    Recorded {
        until: Instant,
    },
}

struct HolderServer {
    folder: HolderFolder,
    reserved: ReservedFile,
    job: HeldJob,
    clients: Clients,
    children: OwnedFd,
    terminated: OwnedFd,
    phase: HolderPhase,
    /// When to look for the folder, while no client is connected.
    look_at: Option<Instant>,
    /// As long as it is held, no other process can take the start of this job back.
    _claim: File,
}

/// Takes the claim to the folder's process, if it is still wanted. The daemon that started us may
/// have died since, and the next one may have taken the start back because nothing came of it.
fn claim(
    folder: &HolderFolder,
    ticket: Option<&str>,
) -> Result<(File, Option<SpawnRecord>), HoldError> {
    let refused = |why: &str| {
        HoldError::Spawn(SpawnError::Refused(format!("{} {why}", folder.path().display())))
    };
    let claim = folder.claim()?.ok_or_else(|| refused("has a holder already"))?;
    let record = folder.spawn_record()?;
    let wanted = record.as_ref().and_then(|record| record.ticket.as_deref());
    if ticket.is_some() && wanted != ticket {
        return Err(refused("is not wanted any more"));
    }
    Ok((claim, record))
}

impl HolderServer {
    fn start(request: HoldRequest) -> Result<Self, HoldError> {
        // We may already lead a session, and then need no other.
        best_effort("begin a session", setsid());
        machine::adopt_orphans().map_err(HoldError::io("subreaper"))?;
        let children = on_signals(&[SIGCHLD]).map_err(HoldError::io("signals"))?;
        let terminated = on_signals(&[SIGTERM, SIGINT]).map_err(HoldError::io("signals"))?;
        // A hangup means nothing to us, but would end us.
        on_signals(&[SIGHUP]).map_err(HoldError::io("signals"))?;
        let folder = HolderFolder::new(request.folder);
        let secret = request.has_secret.then(|| HolderSecret::receive(io::stdin()));
        let secret = secret.transpose().map_err(HoldError::io("reading the secret"))?;
        let registry = request.registry.map(HolderRegistry::at);
        let config = SpawnConfig {
            argv: request.argv,
            cwd: std::env::current_dir().map_err(HoldError::io("working directory"))?,
            env: std::env::vars_os().collect(),
            connection: request.connection,
            input: request.input,
            sandbox: request.sandbox,
            folder: Some(folder.path().to_owned()),
            keep: None,
            job: request.job,
        };
        let (claim, record) = claim(&folder, request.ticket.as_deref())?;
        let record = completed(record, &config.job)?;
        let recorded = folder.reserve_spawn(&record)?;
        let mut options = coven_tape::Options::default();
        if let Some(keep) = request.keep {
            options.keep = keep;
            options.segment_size = options.segment_size.min(keep / 8).max(64 * 1024);
        }
        let tape = coven_tape::TapeWriter::create(folder.path(), options)?;
        let reserved = folder.reserve_exit()?;
        let own = Identity::own().map_err(HoldError::io("asking the system"))?;
        let cgroup = registry.as_ref().and_then(|registry| registry.cgroup(own));
        let clients = Clients::listen(&folder, ClientGate::new(secret, registry))?;
        let launched = launch(&config, true, cgroup.as_ref())?;
        let snapper = Snapper::new(folder.clone(), options.keep, config.connection);
        let mut job = HeldJob::new(config.job.clone(), launched, tape, config.connection, snapper);
        job.set_cgroup(cgroup);
        let record = SpawnRecord { process: Some(job.leader()), ..record };
        if let Err(error) = folder.complete_spawn_record(&record, &recorded) {
            end_job(&config.job);
            return Err(HoldError::Unrecorded(error));
        }
        let look_at = Some(Instant::now() + FOLDER_CHECK_INTERVAL);
        Ok(Self {
            folder,
            reserved,
            job,
            clients,
            children,
            terminated,
            phase: HolderPhase::Running,
            look_at,
            _claim: claim,
        })
    }

    fn run(mut self) -> Result<(), HoldError> {
        loop {
            self.wait()?;
            let now = Instant::now();
            if drain(&self.children) {
                self.job.reap();
            }
            if drain(&self.terminated) {
                self.job.ask_to_end(now, SIGNAL_GRACE);
            }
            self.job.advance(now, &mut self.clients);
            self.clients.serve(&mut self.job, self.folder.path(), now);
            self.look_for_folder(now);
            if self.finish(now) {
                return Ok(());
            }
        }
    }

    /// Waits until something happens or is due.
    fn wait(&self) -> Result<(), HoldError> {
        let mut wanted: Vec<(BorrowedFd<'_>, PollFlags)> =
            vec![(self.children.as_fd(), PollFlags::IN), (self.terminated.as_fd(), PollFlags::IN)];
        wanted.extend(self.job.wanted());
        wanted.extend(self.clients.wanted(&self.job));
        let mut polled: Vec<PollFd<'_>> = wanted
            .iter()
            .map(|(descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags))
            .collect();
        let due = match &self.phase {
            HolderPhase::Running => self.job.deadline().into_iter().chain(self.look_at).min(),
            HolderPhase::Ended { retry, .. } => Some(*retry),
            HolderPhase::Recorded { until } => Some(*until),
        };
        let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(HoldError::Io { step: "waiting", source: errno.into() }),
        }
    }

    /// Ends a job that no daemon can find any more: its folder is gone, and so is its last client.
    fn look_for_folder(&mut self, now: Instant) {
        if !self.clients.is_empty() {
            self.look_at = None;
        } else if self.look_at.is_none_or(|at| at <= now) {
            self.look_at = Some(now + FOLDER_CHECK_INTERVAL);
            if self.folder.is_gone() {
                self.job.ask_to_end(now, SIGNAL_GRACE);
            }
        }
    }

    /// Records the end once it has come. Says whether all is done.
    fn finish(&mut self, now: Instant) -> bool {
        if matches!(self.phase, HolderPhase::Running)
            && let Some(exit) = self.job.exit()
        {
            self.phase = HolderPhase::Ended { exit, retry: now };
        }
        if let HolderPhase::Ended { exit, retry } = &mut self.phase
            && *retry <= now
        {
            // A full disk may have room again; a folder that was removed does not come back.
            if self.folder.write_exit(exit, &self.reserved).is_ok() || self.folder.is_gone() {
                // From here on the folder says it all; no client need connect any more.
                Clients::close(&self.folder);
                self.clients.tell_exit(exit);
                self.phase = HolderPhase::Recorded { until: now + LAST_READ_TIMEOUT };
                self.clients.serve(&mut self.job, self.folder.path(), now);
            } else {
                *retry = now + EXIT_WRITE_RETRY;
            }
        }
        let HolderPhase::Recorded { until } = self.phase else { return false };
        self.clients.all_told() || until <= now
    }
}

/// The record of the start with its holder, which is this process.
fn completed(record: Option<SpawnRecord>, job: &str) -> Result<SpawnRecord, HoldError> {
    let holder = Identity::own().map_err(HoldError::io("asking the system"))?;
    let boot = machine::boot_id().map_err(HoldError::io("asking the system"))?;
    let record = record.unwrap_or_else(|| SpawnRecord {
        version: SpawnRecord::VERSION,
        job: job.to_owned(),
        argv: Vec::new(),
        cwd: String::new(),
        env: Vec::new(),
        boot_id: boot,
        sandbox: None,
        scoped: None,
        ticket: None,
        holder: None,
        process: None,
    });
    Ok(SpawnRecord { holder: Some(holder), ..record })
}
