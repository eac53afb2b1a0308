//! How the whole service stands: in numbers for people, and as metrics.

use std::collections::BTreeMap;

use coven_api::system::{BaseDirStatus, SlotCounts, StatusResponse};
use coven_runtime::machine;

use crate::service::Service;

/// What a session counts as that cannot be opened.
const DAMAGED: &str = "damaged";

/// Every status a session can have, so that a gauge that went back to zero is not missing.
const SESSION_STATUSES: [&str; 7] =
    ["pending", "running", "blocked", "completed", "failed", "cancelled", DAMAGED];
/// Everything an agent can be doing, for the same reason.
const AGENT_STATES: [&str; 7] =
    ["starting", "working", "idle", "awaiting", "error", "exited", "unknown"];

impl Service {
    /// How everything stands now. It has no address: only the transport knows that.
    pub async fn status(&self) -> StatusResponse {
        let context = self.context();
        let places = &context.places;
        let load = context.admission.load();
        let mut status = StatusResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            since: self.since(),
            memory_bytes: machine::resident_memory().unwrap_or(0),
            socket: places.socket().display().to_string(),
            address: None,
            lost_port: None,
            log: places.log().display().to_string(),
            sessions: BTreeMap::new(),
            agents: BTreeMap::new(),
            slots: SlotCounts {
                running: load.running as u64,
                queued: load.queued as u64,
                limit: load.slots as u64,
            },
            waiting: 0,
            unheard: 0,
            unattended: self.unattended_jobs().await,
            base_dirs: Vec::new(),
        };
        for base in self.base_dirs() {
            let mut known = BaseDirStatus {
                path: base.path().display().to_string(),
                sessions: 0,
                trusted: base.trusted(context).await,
                problem: base.problem().await,
            };
            // What is being opened is not waited for: a status is about now.
            let sessions = if base.is_opening() {
                None
            } else {
                base.sessions_without_waiting(context).await.ok().flatten()
            };
            if let Some(sessions) = &sessions {
                let entries = sessions.list();
                known.sessions = entries.len() as u64;
                for entry in entries.into_iter().filter(|entry| !entry.foreign) {
                    let stands =
                        if entry.problem.is_some() { DAMAGED } else { entry.status.as_str() };
                    *status.sessions.entry(stands.to_owned()).or_default() += 1;
                    if entry.status.is_final() && !entry.kept {
                        continue;
                    }
                    let controller = sessions.controller(&entry.id);
                    let verdicts = controller.map(|controller| controller.snapshot().verdicts());
                    for (_, verdict) in verdicts.into_iter().flatten() {
                        *status.agents.entry(verdict.state.as_str().to_owned()).or_default() += 1;
                    }
                }
            }
            if let Some(orchestrator) = base.now() {
                status.waiting += orchestrator.interventions().len() as u64;
                status.unheard += orchestrator.unheard_agents();
            }
            status.base_dirs.push(known);
        }
        status
    }

    /// All metrics, in the text format of Prometheus.
    pub async fn metrics_text(&self) -> String {
        let status = self.status().await;
        let metrics = self.metrics();
        for (name, count) in with_all(&status.sessions, &SESSION_STATUSES) {
            metrics.set("coven_sessions", &[("status", name)], number(count));
        }
        for (name, count) in with_all(&status.agents, &AGENT_STATES) {
            metrics.set("coven_agents", &[("state", name)], number(count));
        }
        let slots = status.slots;
        for (name, count) in
            [("running", slots.running), ("queued", slots.queued), ("limit", slots.limit)]
        {
            metrics.set("coven_jobs", &[("state", name)], number(count));
        }
        metrics.set("coven_interventions_waiting", &[], number(status.waiting));
        metrics.set("coven_unheard_agents", &[], number(status.unheard));
        metrics.set("coven_holders", &[], number(slots.running));
        metrics.set("coven_memory_bytes", &[], number(status.memory_bytes));
        let closed = status.base_dirs.iter().filter(|base| base.problem.is_some()).count();
        metrics.set("coven_base_dirs", &[("open", "no")], number(closed as u64));
        let open = status.base_dirs.len() - closed;
        metrics.set("coven_base_dirs", &[("open", "yes")], number(open as u64));
        metrics.text()
    }
}

fn with_all<'a>(
    counts: &'a BTreeMap<String, u64>,
    names: &'a [&'static str],
) -> impl Iterator<Item = (&'static str, u64)> + 'a {
    names.iter().map(|name| (*name, counts.get(*name).copied().unwrap_or(0)))
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}
