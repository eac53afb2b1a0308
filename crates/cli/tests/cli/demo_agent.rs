//! `coven demo-agent` as a process: through pipes, on a terminal, and when it misbehaves.

mod conversation;
mod headless;
mod misbehaviour;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, test_kill_process};
use tempfile::TempDir;

use crate::STEP_TIMEOUT;
use crate::terminal::Terminal;

/// A place for an agent to work in and to remember.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command that starts an agent here.
    fn agent<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coven"));
        command.arg("demo-agent").args(arguments).current_dir(self.path());
        command.env("COVEN_DEMO_HOME", self.path().join("sessions")).stdin(Stdio::null());
        command
    }

    /// An agent on a terminal of its own.
    fn terminal(&self, size: (u16, u16), arguments: &[&str]) -> Terminal {
        Terminal::start(self.agent(arguments), size)
    }
}

/// Asks again and again until there is an answer. For what no descriptor tells.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + STEP_TIMEOUT;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "{what} did not happen");
        std::thread::yield_now();
    }
}

/// The process whose id stands in the file, once it does.
fn pid_in(path: &Path) -> Pid {
    eventually("a process id in a file", || {
        let text = fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))?;
        Pid::from_raw(text.trim().parse().ok()?)
    })
}

/// Whether the process runs. One that has ended and waits to be noticed does not.
fn is_alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let zombie =
        stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|s| s.starts_with(" Z")));
    test_kill_process(pid).is_ok() && !zombie
}
