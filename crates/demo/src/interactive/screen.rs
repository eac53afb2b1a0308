//! A terminal that was taken over, and is given back whatever happens.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::job::{ProcessGroup, RunningCommand};
use crate::signals::EndingWatch;
use crate::streams::{AgentStreams, UnbufferedOutput};
use crate::tui::{self, TuiSize};

/// A terminal in raw mode. Dropping it gives the terminal back, also when the agent panics, and a
/// signal that ends the process does so first.
pub(super) struct RawTerminal<'a> {
    output: BorrowedFd<'a>,
    last_will: Arc<Mutex<LastWill>>,
    /// Dropped after the terminal was given back.
    _ending: EndingWatch,
}

/// What has to be done before this process may end.
struct LastWill {
    terminal: Option<SavedTermios>,
    last_words: String,
    /// The command that is running, by its process group.
    job: Option<Pid>,
}

struct SavedTermios {
    terminal: OwnedFd,
    termios: Termios,
}

impl<'a> RawTerminal<'a> {
    pub(super) fn take_over(streams: AgentStreams<'a>, alternate: bool) -> io::Result<Self> {
        let termios = tcgetattr(streams.input)?;
        let mut raw = termios.clone();
        raw.make_raw();
        let terminal = streams.input.try_clone_to_owned()?;
        let last_will = Arc::new(Mutex::new(LastWill {
            terminal: Some(SavedTermios { terminal, termios }),
            last_words: tui::restore_sequences(alternate),
            job: None,
        }));
        let ending = EndingWatch::start({
            let last_will = Arc::clone(&last_will);
            let output = streams.output.try_clone_to_owned()?;
            move || last_will.lock().execute(output.as_fd())
        })?;
        let screen = Self { output: streams.output, last_will, _ending: ending };
        tcsetattr(streams.input, OptionalActions::Now, &raw)?;
        Ok(screen)
    }

    pub(super) fn size(&self) -> TuiSize {
        tcgetwinsize(self.output)
            .map_or(TuiSize::default(), |size| TuiSize::reported(size.ws_col, size.ws_row))
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        UnbufferedOutput(self.output).write_all(bytes)
    }

    /// Starts a command that will not outlive this process. No signal comes in between.
    pub(super) fn start_job(&self, command: &str) -> io::Result<RunningCommand> {
        let mut last_will = self.last_will.lock();
        let job = RunningCommand::start(command, ProcessGroup::Own)?;
        last_will.job = job.own_group();
        Ok(job)
    }

    /// Ends the command, if it has not ended.
    pub(super) fn end_job(&self, job: Option<RunningCommand>) {
        let mut last_will = self.last_will.lock();
        drop(job);
        last_will.job = None;
    }

    /// Gives the terminal back after its picture has been put in order, and forgets it.
    pub(super) fn give_back(self) {
        if let Some(saved) = self.last_will.lock().terminal.take() {
            saved.restore();
        }
    }
}

impl Drop for RawTerminal<'_> {
    fn drop(&mut self) {
        self.last_will.lock().execute(self.output);
    }
}

impl LastWill {
    fn execute(&mut self, output: BorrowedFd<'_>) {
        if let Some(group) = self.job.take() {
            // It may have ended by itself.
            kill_process_group(group, Signal::KILL).ok();
        }
        if let Some(saved) = self.terminal.take() {
            saved.restore();
            // Only if there is room for it: a terminal that is not read must not block our exit.
            let mut fds = [PollFd::from_borrowed_fd(output, PollFlags::OUT)];
            if poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
                .is_ok_and(|ready| ready > 0)
            {
                UnbufferedOutput(output).write_all(self.last_words.as_bytes()).ok();
            }
        }
    }
}

impl SavedTermios {
    fn restore(self) {
        // Nothing more can be done for a terminal that is gone.
        tcsetattr(&self.terminal, OptionalActions::Now, &self.termios).ok();
    }
}
