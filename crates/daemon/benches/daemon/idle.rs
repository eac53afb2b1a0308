//! Many agents that do nothing: what the daemon costs while it keeps them.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use coven_api::workflow::ActionRequest;
use coven_testkit::programs::TestProgram;

use crate::Plan;
use crate::place::{Home, until};

/// Agents of one session.
const AGENTS_PER_SESSION: usize = 100;

/// An agent that waits at its prompt.
const IDLE_SCRIPT: &str = r"printf '\033[?2004hready> '; read -r line";

pub(crate) struct Measured {
    /// How long it took until all were there.
    pub(crate) started: Duration,
    /// CPU time of the daemon in each second, as a share of one core.
    pub(crate) cpu: f64,
    /// KiB of the daemon for each agent, and of an agent's holder, shared with no other process.
    pub(crate) daemon: f64,
    pub(crate) holder: f64,
}

pub(crate) async fn measure(plan: &Plan) -> io::Result<Measured> {
    let home = Home::new(None, "maxAgents: 10000\n")?;
    let (daemon, _) = home.daemon().await?;
    let pid = daemon.pid();
    let before = private(pid)?;
    let begun = Instant::now();
    let mut sessions = Vec::new();
    for first in (0..plan.idle).step_by(AGENTS_PER_SESSION) {
        let agents = AGENTS_PER_SESSION.min(plan.idle - first);
        sessions.push((daemon.paint(agents, IDLE_SCRIPT, &[]).await?, agents));
    }
    for (session, agents) in &sessions {
        until("all agents are there", async || {
            let workflow = daemon.client.workflow(session.id.as_str()).await.ok()?;
            (workflow.tasks.iter().filter(|task| task.live).count() == *agents).then_some(())
        })
        .await?;
    }
    let started = begun.elapsed();
    // What follows a start is not idling: their screens are saved once they rest.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (from, at) = (daemon.cpu()?, Instant::now());
    tokio::time::sleep(plan.watched).await;
    let used = daemon.cpu()?.saturating_sub(from);
    let cpu = used.as_secs_f64() / at.elapsed().as_secs_f64();
    let daemon_kib = (private(pid)?.saturating_sub(before)) as f64 / plan.idle as f64;
    let holder = holders()?;
    for (session, _) in &sessions {
        daemon
            .client
            .cancel(session.id.as_str(), &ActionRequest::default())
            .await
            .map_err(io::Error::other)?;
    }
    for (session, _) in &sessions {
        daemon.ends(session).await?;
    }
    Ok(Measured { started, cpu, daemon: daemon_kib, holder })
}

/// KiB of a process that it shares with no other.
fn private(pid: i32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default()
    };
    Ok(field("Private_Clean:") + field("Private_Dirty:"))
}

/// The same of our holders, on average.
fn holders() -> io::Result<f64> {
    let program = TestProgram::Agent.path();
    let (mut total, mut count) = (0, 0);
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let ours = words.next() == Some(program.as_os_str().as_encoded_bytes());
        if ours
            && words.next() == Some(b"hold")
            && let Ok(kib) = private(pid)
        {
            total += kib;
            count += 1;
        }
    }
    Ok(total as f64 / f64::from(count.max(1)))
}
