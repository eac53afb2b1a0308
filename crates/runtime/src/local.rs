//! Processes started right here, which end with us.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Child;
use std::time::Duration;

use coven_folder::best_effort;
use coven_terminal::screen::GridSize;
use rustix::io::Errno;
use rustix::process::Signal;

use crate::domain::{
    DiscardResult, Domain, DomainId, ExitStatus, InputMode, Pane, PaneStream, ReadOutcome,
    ReaderActivity, SpawnConfig, SpawnError, StopMode,
};
use crate::launch::{LaunchStreams, Launched, launch, set_size};
use crate::machine::ProcessHandle;
use crate::processes::{self, Identity};
use crate::readiness::{Interest, Selector};

/// How long a process may take to vanish after it was killed. Longer only happens to one stuck in
/// the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts processes as children of this process, each in a session of its own. They are ended
/// when their pane is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDomain;

impl LocalDomain {
    pub fn new() -> Self {
        Self
    }
}

impl Domain for LocalDomain {
    fn id(&self) -> DomainId {
        DomainId("local".to_owned())
    }

    fn spawn(&self, config: &SpawnConfig) -> Result<Box<dyn Pane>, SpawnError> {
        let launched = launch(config, false, None)?;
        let pane = LocalPane::new(launched, config.job.clone());
        Ok(Box::new(
            pane.map_err(|source| SpawnError::Io { step: "watching the process", source })?,
        ))
    }
}

/// A process and everything it started.
struct LocalPane {
    child: Child,
    leader: Identity,
    job: String,
    streams: LaunchStreams,
    /// Watches the streams and the process: readable when any of them is.
    readiness: Selector,
    process: ProcessHandle,
    status: Option<ExitStatus>,
    /// Whether what the leader left behind was ended.
    cleared: bool,
    /// Whether `readiness` also waits for room in the input.
    awaits_room: bool,
    discard_result: Option<DiscardResult>,
}

impl LocalPane {
    fn new(launched: Launched, job: String) -> io::Result<Self> {
        let Launched { child, streams } = launched;
        let pid = child.id() as i32;
        // The child is ours and not yet reaped, so its id is still its own, even if it has ended.
        let leader = Identity::of(pid).unwrap_or(Identity { pid, start: 0 });
        let process = ProcessHandle::open(pid)?;
        let readiness = Selector::new()?;
        let pane = Self {
            child,
            leader,
            job,
            streams,
            readiness,
            process,
            status: None,
            cleared: false,
            awaits_room: false,
            discard_result: None,
        };
        for descriptor in pane.descriptors() {
            pane.readiness.add(descriptor, Interest::Read, 0)?;
        }
        Ok(pane)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let streams = match &self.streams {
            LaunchStreams::Terminal { master, .. } => vec![master],
            LaunchStreams::Pipes { output, error, .. } => {
                [output, error].into_iter().flatten().collect()
            }
        };
        streams.into_iter().map(AsFd::as_fd).chain([self.process.as_fd()]).collect()
    }

    /// Has `readiness` wait for room in the input, or not any more. A terminal is watched for output
    /// already, with the same descriptor; an input pipe is watched only while it is full.
    fn await_room(&mut self, awaits: bool) -> io::Result<()> {
        if awaits == self.awaits_room {
            return Ok(());
        }
        match &self.streams {
            LaunchStreams::Terminal { master, .. } => {
                let interest = if awaits { Interest::ReadOrWrite } else { Interest::Read };
                self.readiness.change(master.as_fd(), interest, 0)?;
            }
            LaunchStreams::Pipes { input: Some(input), .. } if awaits => {
                self.readiness.add(input.as_fd(), Interest::Write, 0)?;
            }
            LaunchStreams::Pipes { input: Some(input), .. } => {
                self.readiness.remove(input.as_fd())?;
            }
            LaunchStreams::Pipes { input: None, .. } => {}
        }
        self.awaits_room = awaits;
        Ok(())
    }

    fn write_once(&self, bytes: &[u8]) -> io::Result<usize> {
        let descriptor = match &self.streams {
            LaunchStreams::Terminal { master, .. } => master,
            LaunchStreams::Pipes { input, .. } => {
                input.as_ref().ok_or(io::ErrorKind::BrokenPipe)?
            }
        };
        if bytes.is_empty() {
            return Ok(0);
        }
        match rustix::io::write(descriptor, bytes) {
            Ok(length) => Ok(length),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(Errno::IO) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes note of the leader's end, and ends what it left behind.
    fn notice_end(&mut self) {
        if self.status.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.status = Some(status.into());
            // The descriptor of an ended process stays readable; it has said what it had to say.
            best_effort("stop watching a process", self.readiness.remove(self.process.as_fd()));
        }
        if self.status.is_some() && !self.cleared {
            self.end_rest();
        }
    }

    fn end_rest(&mut self) {
        if self.cleared {
            return;
        }
        let (session, job) = (self.leader.pid, self.job.clone());
        processes::end_all(|| processes::of_leader(session, &job), KILL_TIMEOUT);
        self.cleared = true;
    }
}

impl From<std::process::ExitStatus> for ExitStatus {
    fn from(status: std::process::ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(-1),
        }
    }
}

impl Pane for LocalPane {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        let ended = !self.is_alive();
        match &mut self.streams {
            LaunchStreams::Terminal { master, .. } => {
                match rustix::io::read(&*master, &mut *buffer) {
                    Ok(0) | Err(Errno::IO) => Ok(ReadOutcome::End),
                    Ok(length) => Ok(ReadOutcome::Data(PaneStream::Output, length)),
                    // The other end is open here too, so only the processes' end is the end.
                    Err(Errno::AGAIN) if ended => Ok(ReadOutcome::End),
                    Err(Errno::AGAIN | Errno::INTR) => Ok(ReadOutcome::Pending),
                    Err(error) => Err(error.into()),
                }
            }
            LaunchStreams::Pipes { output, error, .. } => {
                for (stream, end) in [(PaneStream::Output, output), (PaneStream::Error, error)] {
                    let Some(descriptor) = end else { continue };
                    match rustix::io::read(&*descriptor, &mut *buffer) {
                        Ok(0) => *end = None,
                        Ok(length) => return Ok(ReadOutcome::Data(stream, length)),
                        // A process elsewhere may hold the pipe; what is here has been read.
                        Err(Errno::AGAIN) if ended => *end = None,
                        Err(Errno::AGAIN | Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                let open = matches!(&self.streams, LaunchStreams::Pipes { output, error, .. } if output.is_some() || error.is_some());
                Ok(if open { ReadOutcome::Pending } else { ReadOutcome::End })
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_alive() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = self.write_once(bytes);
        let is_short = matches!(written, Ok(length) if length < bytes.len());
        self.await_room(is_short)?;
        written
    }

    fn discard_unread(&mut self, at_least: u32) -> io::Result<()> {
        self.discard_result = self.streams.discard_unread(at_least);
        if self.discard_result.is_none() { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
    }

    fn discard_result(&mut self) -> Option<DiscardResult> {
        self.discard_result.take()
    }

    fn output_is_closed(&self) -> bool {
        self.streams.output_is_closed()
    }

    fn input_mode(&self) -> Option<InputMode> {
        self.streams.input_mode()
    }

    fn stopped_reader(&self) -> Option<i32> {
        processes::stopped_reader(self.leader.pid)
    }

    fn reader_activity(&self) -> Option<ReaderActivity> {
        processes::reader_activity(self.leader.pid)
    }

    fn close_input(&mut self) -> io::Result<()> {
        let is_alive = self.is_alive();
        match &self.streams {
            LaunchStreams::Terminal { .. } if !is_alive => Err(io::ErrorKind::BrokenPipe.into()),
            // On a terminal an end of file is a key.
            LaunchStreams::Terminal { .. } => self.write_once(&[0x04]).map(drop),
            LaunchStreams::Pipes { .. } => {
                self.await_room(false)?;
                if let LaunchStreams::Pipes { input, .. } = &mut self.streams {
                    *input = None;
                }
                Ok(())
            }
        }
    }

    fn resize(&mut self, size: GridSize) -> io::Result<()> {
        match &self.streams {
            LaunchStreams::Terminal { master, .. } => Ok(set_size(master, size)?),
            LaunchStreams::Pipes { .. } => Ok(()),
        }
    }

    fn stop(&mut self, stop: StopMode) -> io::Result<()> {
        self.notice_end();
        match stop {
            StopMode::Polite { .. } if self.status.is_none() => {
                processes::signal_group(self.leader.pid, Signal::TERM);
                // A stopped process cannot end before it goes on.
                processes::signal_group(self.leader.pid, Signal::CONT);
            }
            StopMode::Polite { .. } => {}
            StopMode::Force => {
                if self.status.is_none() {
                    self.child.kill()?;
                    self.status = Some(self.child.wait()?.into());
                }
                self.end_rest();
            }
        }
        Ok(())
    }

    fn is_alive(&mut self) -> bool {
        self.notice_end();
        self.status.is_none()
    }

    fn exit_status(&mut self) -> Option<ExitStatus> {
        self.notice_end();
        self.status
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.readiness.as_fd())
    }
}

impl Drop for LocalPane {
    fn drop(&mut self) {
        // An error means that there is nothing left to end.
        best_effort("end a process whose pane is dropped", self.stop(StopMode::Force));
    }
}
