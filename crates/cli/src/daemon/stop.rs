//! `coven daemon stop`.

use std::time::Duration;

use coven_api::system::ShutdownRequest;
use coven_runtime::processes::Identity;
use tokio::time::{Instant, interval};

use crate::failure::{CommandFailure, FailureCode, Result};
use crate::{connect, output};

/// How long the daemon may take to go: agents that have to be stopped get their grace first.
const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// How often it is looked whether it is gone.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(super) async fn run(agents: bool) -> Result {
    let Some((client, version)) = connect::running().await? else {
        output::say!("The daemon does not run.");
        if agents {
            // Only a daemon finds them.
            output::say!(
                "If agents of an earlier one go on: coven ls, then coven daemon stop --agents"
            );
        }
        return Ok(());
    };
    let status = client.status().await.ok();
    let live = status.as_ref().map_or(0, |status| status.slots.running);
    let refused: Vec<String> = status
        .into_iter()
        .flat_map(|status| status.base_dirs)
        .filter_map(|base| Some(format!("{}: {}", base.path, base.problem?)))
        .collect();
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
    output::line("the daemon is stopped")?;
    if agents {
        for folder in refused {
            output::say!(
                "note: agents in a folder that could not be opened were not stopped: {}",
                output::one_line(&folder)
            );
        }
    }
    if !agents && live > 0 {
        let (jobs, them) = if live == 1 {
            ("1 job goes".to_owned(), "it")
        } else {
            (format!("{live} jobs go"), "them")
        };
        output::say!("{jobs} on; the next `coven` command that needs the daemon takes {them} up.");
    }
    Ok(())
}
