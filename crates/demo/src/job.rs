//! A command that runs while the agent does other things, and what it printed.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::SIGCHLD;

use crate::wait::{SignalWakeups, ready};

/// How much of what a command prints is kept.
const MAX_KEPT_BYTES: usize = 64 * 1024;

/// How much is still read after the command has ended. What it left behind may print for ever.
const MAX_DRAINED_BYTES: usize = 1024 * 1024;

/// What became of a command or of another thing that was to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolOutcome {
    pub(crate) ok: bool,
    /// What is to be told about it.
    pub(crate) output: String,
}

impl ToolOutcome {
    pub(crate) fn ok(output: impl Into<String>) -> Self {
        Self { ok: true, output: output.into() }
    }

    pub(crate) fn failed(output: impl Into<String>) -> Self {
        Self { ok: false, output: output.into() }
    }
}

impl<T: Into<String>> From<io::Result<T>> for ToolOutcome {
    fn from(result: io::Result<T>) -> Self {
        match result {
            Ok(output) => Self::ok(output),
            Err(error) => Self::failed(error.to_string()),
        }
    }
}

/// In which process group a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessGroup {
    /// In ours: what ends us ends it.
    Ours,
    /// In its own, so that it can be ended without us.
    Own,
}

/// A command that was started. It ends with this value.
pub(crate) struct RunningCommand {
    child: Child,
    group: ProcessGroup,
    /// What it prints, until it has closed it.
    pipe: Option<PipeReader>,
    output: Vec<u8>,
    dropped: usize,
}

impl RunningCommand {
    /// Starts the command with `sh -c`.
    pub(crate) fn start(command: &str, group: ProcessGroup) -> io::Result<Self> {
        Self::spawn(Command::new("sh"), command, group)
    }

    /// Starts the command with `sh -c` in this folder.
    pub(crate) fn start_in(folder: &Path, command: &str, group: ProcessGroup) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell.current_dir(folder);
        Self::spawn(shell, command, group)
    }

    fn spawn(mut shell: Command, command: &str, group: ProcessGroup) -> io::Result<Self> {
        let (pipe, writer) = io::pipe()?;
        ioctl_fionbio(&pipe, true)?;
        shell.args(["-c", command]).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        if group == ProcessGroup::Own {
            shell.process_group(0);
        }
        let child = shell.spawn()?;
        Ok(Self { child, group, pipe: Some(pipe), output: Vec::new(), dropped: 0 })
    }

    /// Becomes readable when there is something to [`check`](Self::check); so does SIGCHLD.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// The process group of the command, if it is not ours.
    pub(crate) fn own_group(&self) -> Option<Pid> {
        (self.group == ProcessGroup::Own).then(|| Pid::from_child(&self.child))
    }

    /// Reads what there is to read, and tells how the command ended if it has.
    pub(crate) fn check(&mut self) -> io::Result<Option<ToolOutcome>> {
        // In this order, so that everything it printed is there once it has ended.
        let status = self.child.try_wait()?;
        self.read(if status.is_some() { MAX_DRAINED_BYTES } else { MAX_KEPT_BYTES })?;
        Ok(status.map(|status| self.outcome(status)))
    }

    fn read(&mut self, limit: usize) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let mut left = limit;
        while let Some(pipe) = &self.pipe
            && left > 0
        {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let kept = count.min(MAX_KEPT_BYTES - self.output.len());
                    self.output.extend_from_slice(&buffer[..kept]);
                    self.dropped += count - kept;
                    left = left.saturating_sub(count);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn outcome(&self, status: ExitStatus) -> ToolOutcome {
        let mut output = String::from_utf8_lossy(&self.output).trim_end().to_owned();
        let mut note = |text: String| {
            output.push_str(if output.is_empty() { "" } else { "\n" });
            output.push_str(&text);
        };
        if self.dropped > 0 {
            note(format!("({} more bytes)", self.dropped));
        }
        match (status.code(), status.signal()) {
            (Some(0), _) => {}
            (Some(code), _) => note(format!("(exit code {code})")),
            (None, Some(signal)) => note(format!("(killed by signal {signal})")),
            (None, None) => note("(ended in an unknown way)".to_owned()),
        }
        ToolOutcome { ok: status.success(), output }
    }
}

impl Drop for RunningCommand {
    /// Ends the command if it has not ended, with all it has started, as far as it can be found.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        if let Some(group) = self.own_group() {
            kill_process_group(group, Signal::KILL).ok();
        }
        // It may have ended in between.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Runs the command and waits for its end.
pub(crate) fn run(command: &str, group: ProcessGroup) -> io::Result<ToolOutcome> {
    let ended = SignalWakeups::new(&[SIGCHLD])?;
    let mut job = RunningCommand::start(command, group)?;
    loop {
        ended.clear();
        if let Some(outcome) = job.check()? {
            return Ok(outcome);
        }
        ready([Some(ended.as_fd()), job.fd()], None)?;
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_command_is_known_by_its_output_and_its_end() {
        assert_eq!(
            run("echo out; echo err >&2", ProcessGroup::Ours).unwrap(),
            ToolOutcome::ok("out\nerr")
        );
        assert_eq!(run("true", ProcessGroup::Own).unwrap(), ToolOutcome::ok(""));
        let failed = run("echo no; exit 3", ProcessGroup::Ours).unwrap();
        assert_eq!(failed, ToolOutcome::failed("no\n(exit code 3)"));
        let killed = run("kill -9 $$", ProcessGroup::Ours).unwrap();
        assert_eq!(killed, ToolOutcome::failed("(killed by signal 9)"));
    }

    #[test]
    fn a_command_that_closes_its_output_is_waited_for() {
        let outcome = run("echo a; exec >&- 2>&-; sleep 0.05; exit 4", ProcessGroup::Ours).unwrap();
        assert_eq!(outcome, ToolOutcome::failed("a\n(exit code 4)"));
    }

    #[test]
    fn what_a_command_leaves_behind_is_not_waited_for() {
        let outcome = run("sleep 2 & echo started", ProcessGroup::Ours).unwrap();
        assert_eq!(outcome, ToolOutcome::ok("started"));
    }

    #[test]
    fn much_output_is_counted_but_not_kept() {
        let outcome = run("head -c 300000 /dev/zero | tr '\\0' x", ProcessGroup::Ours).unwrap();
        let (kept, note) = outcome.output.split_once('\n').unwrap();
        assert_eq!((kept.len(), note), (MAX_KEPT_BYTES, "(234464 more bytes)"));
    }

    #[test]
    fn a_command_ends_with_its_value_and_takes_its_children_along() {
        let job = RunningCommand::start("sleep 1000 & sleep 1000", ProcessGroup::Own).unwrap();
        let group = job.own_group().unwrap();
        assert_eq!(kill_process_group(group, Signal::CONT), Ok(()));
        drop(job);
        // The children are killed, but only their new parent, init, can reap them.
        let end = Instant::now() + Duration::from_secs(20);
        while kill_process_group(group, Signal::CONT).is_ok() {
            assert!(Instant::now() < end, "the children live on");
            std::thread::yield_now();
        }
    }
}
