//! Processes that an agent leaves behind, for testing the code that has to find them. The agent
//! starts its own program again in the role of a helper, which says when it is ready, so that a
//! test waits for that and not for a time.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::error::Error;
use crate::streams::{AgentStreams, UnbufferedOutput};
use crate::{SUBCOMMAND, signals, wait};

/// A process that belongs to an agent. It is written as one argument, which only an agent gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelperProcess {
    /// Starts a process that lingers and ends at once, which leaves it without a parent.
    ForkAway(LingerOptions),
    /// Lives in a session of its own, and cannot be ended politely.
    Linger(LingerOptions),
    /// Keeps the terminal, and writes `late` to it this long after the agent has ended.
    LateWriter(Duration),
}

/// A process that only waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LingerOptions {
    /// How long it lives.
    pub time: Duration,
    /// Where it writes its process id.
    pub pid_file: Option<PathBuf>,
}

impl fmt::Display for HelperProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (role, time, pid_file) = match self {
            Self::ForkAway(linger) => ("fork-away", linger.time, linger.pid_file.as_deref()),
            Self::Linger(linger) => ("linger", linger.time, linger.pid_file.as_deref()),
            Self::LateWriter(time) => ("late-writer", *time, None),
        };
        write!(f, "{role} {}", time.as_micros())?;
        pid_file.map_or(Ok(()), |path| write!(f, " {}", path.display()))
    }
}

/// An argument that no agent gives.
#[derive(Debug, thiserror::Error)]
#[error("not the role of a helper")]
pub struct UnknownHelper;

impl FromStr for HelperProcess {
    type Err = UnknownHelper;

    fn from_str(text: &str) -> Result<Self, UnknownHelper> {
        let mut words = text.splitn(3, ' ');
        let mut word = || words.next().ok_or(UnknownHelper);
        let (role, time) = (word()?, word()?);
        let time = Duration::from_micros(time.parse().map_err(|_| UnknownHelper)?);
        let linger = LingerOptions { time, pid_file: words.next().map(PathBuf::from) };
        match role {
            "fork-away" => Ok(Self::ForkAway(linger)),
            "linger" => Ok(Self::Linger(linger)),
            "late-writer" => Ok(Self::LateWriter(time)),
            _ => Err(UnknownHelper),
        }
    }
}

/// Leaves a process behind that no longer has anything to do with this one, and returns its id.
pub(crate) fn double_fork(linger: LingerOptions) -> io::Result<u32> {
    let mut helper = command(&HelperProcess::ForkAway(linger))?;
    helper.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = helper.spawn()?;
    let mut told = String::new();
    if let Some(output) = child.stdout.take() {
        // Ends when the process that lingers has said its id and closed its output.
        BufReader::new(output).read_to_string(&mut told)?;
    }
    child.wait()?;
    told.trim()
        .parse()
        .map_err(|_| io::Error::other("the process that was to linger did not start"))
}

/// Leaves a process behind that writes when this one has ended, however it ends: that is when the
/// returned pipe breaks.
pub(crate) fn late_writer(after: Duration) -> io::Result<ChildStdin> {
    let mut helper = command(&HelperProcess::LateWriter(after))?;
    helper.stdin(Stdio::piped()).stdout(Stdio::inherit()).stderr(Stdio::piped());
    let mut child = helper.spawn()?;
    let (Some(input), Some(ready)) = (child.stdin.take(), child.stderr.take()) else {
        return Err(io::Error::other("the late writer has no pipes"));
    };
    if BufReader::new(ready).read_line(&mut String::new())? == 0 {
        return Err(io::Error::other("the late writer did not start"));
    }
    Ok(input)
}

fn command(helper: &HelperProcess) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SUBCOMMAND).arg("--helper").arg(helper.to_string());
    Ok(command)
}

/// Is a helper, until its end.
pub(crate) fn run(helper: &HelperProcess, streams: AgentStreams<'_>) -> Result<u8, Error> {
    let (what, result) = match helper {
        HelperProcess::ForkAway(linger) => ("fork away", fork_away(linger)),
        HelperProcess::Linger(linger) => ("linger", self::linger(linger, streams)),
        HelperProcess::LateWriter(after) => ("write late", write_late(*after, streams)),
    };
    result.map(|()| 0).map_err(|source| Error::Helper { what, source })
}

fn fork_away(linger: &LingerOptions) -> io::Result<()> {
    // Not waited for: that is the point.
    command(&HelperProcess::Linger(linger.clone()))?.spawn().map(drop)
}

fn linger(linger: &LingerOptions, streams: AgentStreams<'_>) -> io::Result<()> {
    setsid()?;
    signals::ignore()?;
    let pid = std::process::id();
    if let Some(path) = &linger.pid_file {
        fs::write(path, format!("{pid}\n"))?;
    }
    writeln!(UnbufferedOutput(streams.output), "{pid}")?;
    leave_streams()?;
    wait::pause(linger.time);
    Ok(())
}

fn write_late(after: Duration, streams: AgentStreams<'_>) -> io::Result<()> {
    signals::ignore()?;
    writeln!(UnbufferedOutput(streams.errors), "ready")?;
    dup2_stderr(streams.output)?;
    while rustix::io::read(streams.input, &mut [0; 64])? > 0 {}
    wait::pause(after);
    UnbufferedOutput(streams.output).write_all(b"late\n")
}

/// Closes the three streams of this process, as far as safe code can: nothing lies behind them
/// any more.
pub(crate) fn leave_streams() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_survives_being_an_argument() {
        let time = Duration::from_millis(1500);
        for helper in [
            HelperProcess::ForkAway(LingerOptions { time, pid_file: None }),
            HelperProcess::ForkAway(LingerOptions { time, pid_file: Some("/tmp/a b".into()) }),
            HelperProcess::Linger(LingerOptions {
                time: Duration::ZERO,
                pid_file: Some("p".into()),
            }),
            HelperProcess::LateWriter(time),
        ] {
            assert_eq!(helper.to_string().parse::<HelperProcess>().unwrap(), helper);
        }
        for text in ["", "linger", "linger x", "other 1", "linger -1"] {
            assert!(text.parse::<HelperProcess>().is_err(), "{text}");
        }
    }
}
