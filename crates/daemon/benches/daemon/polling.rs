//! The same agents under tmux, asked for their screens every half second, as tools do that are
//! built on it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use coven_testkit::bench::asking::AGENT;
use coven_testkit::bench::tmux;

use crate::place::DEADLINE;
use crate::questions::{Measured, painted, since_epoch, variables};
use crate::{Plan, Times};

/// How often the screens are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Measures; nothing if there is no tmux.
pub(crate) async fn measure(plan: &Plan) -> io::Result<Option<Measured>> {
    if tmux::version().is_none() {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let server = Server { folder: folder.path() };
    let script = folder.path().join("agent.sh");
    std::fs::write(&script, AGENT)?;
    for number in 0..plan.agents {
        let name = format!("p{number}");
        let run = format!("exec bash {}", script.display());
        let mut command = tmux::command(
            server.folder,
            &["new-session", "-d", "-x", "120", "-y", "40", "-s", &name, &run],
        );
        said(command.envs(variables(plan)))?;
    }
    let (mut delays, mut doubled, mut seen) = (Vec::new(), 0, BTreeSet::new());
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    let begun = tokio::time::Instant::now();
    // The server ends with the last agent.
    while let Ok(panes) = server.run(&["list-sessions", "-F", "#{session_name}"]) {
        ticks.tick().await;
        if begun.elapsed() > DEADLINE {
            return Err(io::Error::other("the agents under tmux never end"));
        }
        for pane in panes.lines() {
            let Ok(screen) = server.run(&["capture-pane", "-p", "-t", pane]) else {
                continue;
            };
            let now = since_epoch();
            let Some(painted) = screen.lines().find_map(painted) else { continue };
            if seen.insert(painted) {
                delays.push(now.saturating_sub(painted));
            } else {
                doubled += 1;
            }
            server.run(&["send-keys", "-t", pane, "y"]).ok();
        }
    }
    let asked = plan.agents * plan.questions;
    Ok(Some(Measured { asked, delays: Times::new(delays), doubled }))
}

/// A server of our own.
struct Server<'a> {
    folder: &'a Path,
}

impl Server<'_> {
    fn run(&self, arguments: &[&str]) -> io::Result<String> {
        said(&mut tmux::command(self.folder, arguments))
    }
}

/// What a command says, if it succeeds.
fn said(command: &mut Command) -> io::Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        self.run(&["kill-server"]).ok();
    }
}
