//! tmux as a subject: a server of our own with one detached pane that prints a file, and the CPU
//! time the kernel counted for that server.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use coven_terminal::screen::GridSize;

/// tmux needs about a second for the longest stream; only a stuck server takes this long.
const TMUX_DEADLINE: Duration = Duration::from_mins(2);

/// A server whose pane is about to print a file. Ends with this value.
pub struct TmuxServer<'a> {
    folder: &'a Path,
    /// Process id of the server.
    pid: u32,
}

/// A command to a server of our own, whose socket lies in this folder.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("tmux");
    command
        .args(["-L", "bench", "-f", "/dev/null"])
        .args(arguments)
        .env("TMUX_TMPDIR", folder)
        .env("LC_ALL", "C.UTF-8")
        .env("SHELL", "/bin/sh")
        .env_remove("TMUX")
        .stdin(Stdio::null());
    command
}

/// `tmux -V`, if there is one.
pub fn version() -> Option<String> {
    let output = Command::new("tmux").arg("-V").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl<'a> TmuxServer<'a> {
    /// Starts a server whose socket is in the folder; nothing if tmux is not installed.
    pub fn start(folder: &'a Path, file: &Path, size: GridSize) -> io::Result<Option<Self>> {
        if version().is_none() {
            return Ok(None);
        }
        let print = format!(
            "stty raw -echo; tmux wait-for go; cat '{}'; tmux wait-for -S done; exec cat >/dev/null",
            file.display()
        );
        let (columns, rows) = (size.columns.to_string(), size.rows.to_string());
        let mut server = Self { folder, pid: 0 };
        server.run(&[
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            &print,
            ";",
            "set",
            "status",
            "off",
        ])?;
        let told = server.run(&["display-message", "-p", "#{pid} #{pane_width} #{pane_height}"])?;
        let [pid, width, height] = told.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(io::Error::other(format!("tmux told {told:?}")));
        };
        if (width, height) != (&columns, &rows) {
            return Err(io::Error::other(format!("the pane of tmux is {width}x{height}")));
        }
        server.pid = pid.parse().map_err(io::Error::other)?;
        Ok(Some(server))
    }

    /// Lets the pane print, and gives the CPU time of the server until all was printed. What it
    /// has not yet read then, a few KiB at most, is not counted.
    pub fn read(&self) -> io::Result<Duration> {
        let before = self.time()?;
        self.run(&["wait-for", "-S", "go"])?;
        let waiting = command(self.folder, &["wait-for", "done"]).spawn()?;
        wait(waiting)?;
        Ok(self.time()?.saturating_sub(before))
    }

    /// CPU time of the server, in user and kernel mode.
    fn time(&self) -> io::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        // The second field, a name in parentheses, may hold anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<u64>().ok())
            .sum();
        Ok(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()))
    }

    fn run(&self, arguments: &[&str]) -> io::Result<String> {
        let output = command(self.folder, arguments).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let talk = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(io::Error::other(format!("tmux {}: {talk}", arguments[0])))
    }
}

impl Drop for TmuxServer<'_> {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.run(&["kill-server"]).ok();
    }
}

/// Waits for the end of a process until the deadline. If that passes, the caller ends the server
/// and with it the process.
fn wait(mut process: Child) -> io::Result<()> {
    let (done, end) = sync_channel(1);
    thread::spawn(move || done.send(process.wait()));
    let status =
        end.recv_timeout(TMUX_DEADLINE).map_err(|_| io::Error::other("tmux took too long"))??;
    if status.success() { Ok(()) } else { Err(io::Error::other("tmux ended early")) }
}
