//! `coven daemon status`.

use std::collections::BTreeMap;

use coven_api::system::StatusResponse;
use serde_json::json;

use crate::failure::{CommandFailure, FailureCode, Result};
use crate::{connect, folders, output};

pub(super) async fn run(as_json: bool) -> Result {
    let Some((client, _)) = connect::running().await? else {
        if as_json {
            output::json(&json!({"running": false, "socket": folders::places()?.socket()}))?;
            return Err(CommandFailure::silent(FailureCode::Unreachable));
        }
        return Err(CommandFailure::new(FailureCode::Unreachable, "the daemon does not run")
            .hint("it starts by itself when a command needs it; or: coven daemon start"));
    };
    let status = client.status().await?;
    if as_json {
        let mut value = serde_json::to_value(&status).map_err(CommandFailure::failed)?;
        value["running"] = json!(true);
        return output::json(&value);
    }
    output::write(&told(&status))
}

fn told(status: &StatusResponse) -> String {
    let now = output::now();
    let mut rows = vec![
        row(
            "daemon",
            format!(
                "coven {}, process {}, since {} ({})",
                status.version,
                status.pid,
                output::moment(status.since),
                output::ago(status.since, now)
            ),
        ),
        row("memory", format!("{} MiB", status.memory_bytes >> 20)),
        row("sessions", counts(&status.sessions)),
        row("agents", counts(&status.agents)),
        row(
            "jobs",
            format!(
                "{} running, {} queued, {} at most",
                status.slots.running, status.slots.queued, status.slots.limit
            ),
        ),
        row("waiting for you", status.waiting.to_string()),
        row("socket", status.socket.clone()),
        row("address", status.address.clone().unwrap_or_else(|| "none".to_owned())),
        row("log", status.log.clone()),
    ];
    if let Some(port) = status.lost_port {
        rows.push(row("lost port", format!("{port}, which another program has now")));
    }
    for job in &status.unattended {
        let what = format!(
            "{} (process {}): its session is gone or cannot be read; `coven daemon stop --agents` \
             ends it",
            job.job, job.pid
        );
        rows.push(row("nobody follows", output::one_line(&what)));
    }
    for base in &status.base_dirs {
        let trust = if base.trusted { ", trusted" } else { "" };
        let problem = base.problem.as_ref().map(|problem| format!(": {problem}"));
        let text = format!(
            "{} (sessions: {}{trust}){}",
            base.path,
            base.sessions,
            problem.unwrap_or_default()
        );
        rows.push(row("folder", output::one_line(&text)));
    }
    output::table(&rows, usize::MAX)
}

fn row(name: &str, value: String) -> Vec<String> {
    vec![name.to_owned(), value]
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let some: Vec<String> = counts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    if some.is_empty() { "none".to_owned() } else { some.join(", ") }
}
