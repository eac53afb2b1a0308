//! `coven daemon stop`.

use std::time::Duration;

use coven_api::system::ShutdownRequest;
use coven_runtime::hold::{HolderEntry, HolderRegistry};
use coven_runtime::processes::Identity;
use serde_json::json;
use tokio::time::{Instant, interval};

use crate::failure::{CommandFailure, FailureCode, Result};
use crate::{connect, folders, output};

/// How long the daemon may take to go: agents that have to be stopped get their grace first.
const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// How often it is looked whether it is gone.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(super) async fn run(agents: bool, as_json: bool) -> Result {
    if agents && connect::running().await?.is_none() && !jobs_left(&holders()?)?.is_empty() {
        // A daemon cancels their runs, too. Without one they can still be ended.
        if connect::daemon().await.is_err() {
            output::say!("The daemon cannot be started, so its jobs are ended without it.");
            return end_jobs();
        }
    }
    let Some((client, version)) = connect::running().await? else {
        if as_json {
            return output::json(&json!({"stopped": false, "jobs": 0}));
        }
        output::say!("The daemon does not run.");
        return Ok(());
    };
    let live = client.status().await.ok().map_or(0, |status| status.slots.running);
    client.shutdown(ShutdownRequest { stop_agents: agents }).await?;
    let deadline = Instant::now() + STOP_TIMEOUT;
    let mut again = interval(STOP_POLL_INTERVAL);
    let process = i32::try_from(version.pid).ok().and_then(Identity::of);
    while process.is_some_and(Identity::is_running) {
        if Instant::now() >= deadline {
            let seconds = STOP_TIMEOUT.as_secs();
            return Err(CommandFailure::new(
                FailureCode::Failed,
                format!(
                    "the daemon (process {}) is still there after {seconds} seconds",
                    version.pid
                ),
            )
            .hint("coven daemon logs"));
        }
        again.tick().await;
    }
    if as_json {
        let jobs = if agents { 0 } else { live };
        output::json(&json!({"stopped": true, "jobs": jobs}))?;
    } else {
        output::line("the daemon is stopped")?;
    }
    if agents {
        // Those of a folder that the daemon could not open, for one.
        return end_jobs();
    }
    if live > 0 && !as_json {
        let (jobs, them) = if live == 1 {
            ("1 job goes".to_owned(), "it")
        } else {
            (format!("{live} jobs go"), "them")
        };
        output::say!("{jobs} on; the next `coven` command that needs the daemon takes {them} up.");
    }
    Ok(())
}

fn holders() -> Result<HolderRegistry> {
    Ok(HolderRegistry::new(&folders::places()?.state_dir))
}

/// The jobs that run, as their holders are written down.
fn jobs_left(registry: &HolderRegistry) -> Result<Vec<HolderEntry>> {
    registry.running().map_err(CommandFailure::failed)
}

/// Ends the jobs that no daemon ended.
fn end_jobs() -> Result {
    let registry = holders()?;
    for entry in jobs_left(&registry)? {
        registry.end(&entry).map_err(CommandFailure::failed)?;
        output::say!("ended {}, which no daemon followed", output::one_line(&entry.job));
    }
    Ok(())
}
