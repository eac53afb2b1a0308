//! Commands that people want run when something happens to a run: `on` in `config.yaml`.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use coven_model::event::SessionEvent;
use coven_model::{SessionId, Timestamp};
use coven_orchestrator::{FeedItem, PublishedEvent};
use tokio::process::Command;
use tokio::sync::Semaphore;

use crate::clock::now;
use crate::config::Hooks;
use crate::service::Service;

/// How many run at once. Others wait for their turn.
const MAX_RUNNING: usize = 8;

/// How long one may take.
const HOOK_TIMEOUT: Duration = Duration::from_mins(1);

/// Runs hooks and counts facts, until the service stops.
pub(crate) async fn watch(service: Service) {
    let mut events = service.all_events(None);
    let (stopping, places) = (service.stopping(), Arc::new(Semaphore::new(MAX_RUNNING)));
    while let Some(Some(item)) = stopping.run_until_cancelled(events.next()).await {
        let FeedItem::Event(envelope) = item else { continue };
        match &envelope.what {
            PublishedEvent::Fact { event, .. } => {
                count(&service, event, envelope.time);
                if let Some((status, command)) = wanted(&service.context().config.on, event) {
                    let hook = run(
                        service.clone(),
                        places.clone(),
                        envelope.session.clone(),
                        status,
                        command.to_owned(),
                    );
                    service.spawn(hook);
                }
            }
            PublishedEvent::Live(coven_orchestrator::LiveEvent::Output { length, .. }) => {
                service.metrics().count("coven_output_bytes_total", &[], *length as u64);
            }
            PublishedEvent::Live(coven_orchestrator::LiveEvent::Storage { problem }) => {
                tracing::warn!(session = %envelope.session, "the session {problem}");
            }
            PublishedEvent::Live(_) => {}
        }
    }
}

fn count(service: &Service, event: &SessionEvent, at: Timestamp) {
    let metrics = service.metrics();
    metrics.count("coven_facts_total", &[("type", known(event))], 1);
    metrics.took("coven_event_lag_seconds", &[], now().since(at));
    let how = match event {
        SessionEvent::StepCompleted { .. } => "completed",
        SessionEvent::StepFailed { .. } => "failed",
        SessionEvent::StepSkipped { .. } => "skipped",
        _ => return,
    };
    metrics.count("coven_steps_total", &[("how", how)], 1);
}

/// A fact of a later version can be called anything.
fn known(event: &SessionEvent) -> &str {
    if matches!(event, SessionEvent::Unknown { .. }) { "unknown" } else { event.kind() }
}

fn wanted<'a>(hooks: &'a Hooks, event: &SessionEvent) -> Option<(&'static str, &'a str)> {
    let (status, command) = match event {
        SessionEvent::WorkflowBlocked { .. } => ("blocked", &hooks.blocked),
        SessionEvent::WorkflowFailed { .. } => ("failed", &hooks.failed),
        SessionEvent::WorkflowCompleted { .. } => ("completed", &hooks.completed),
        _ => return None,
    };
    Some((status, command.as_deref()?))
}

async fn run(
    service: Service,
    places: Arc<Semaphore>,
    id: SessionId,
    status: &'static str,
    command: String,
) {
    let Ok(_place) = places.acquire_owned().await else { return };
    let item = service.show(id.as_str()).await.ok().map(|workflow| workflow.item);
    let (name, goal, base_dir) = match item {
        Some(item) => (item.name, item.goal.unwrap_or_default(), item.base_dir),
        None => Default::default(),
    };
    let spawned = Command::new("sh")
        .args(["-c", &command])
        .env("COVEN_WORKFLOW", id.as_str())
        .env("COVEN_STATUS", status)
        .env("COVEN_NAME", &name)
        .env("COVEN_GOAL", without_nul(&goal))
        .env("COVEN_BASE_DIR", &base_dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let ended = match spawned {
        Ok(mut child) => {
            let stopping = service.stopping();
            let waited =
                stopping.run_until_cancelled(tokio::time::timeout(HOOK_TIMEOUT, child.wait()));
            match waited.await {
                Some(Ok(Ok(code))) if code.success() => "well",
                Some(Ok(_)) => "failed",
                Some(Err(_)) => "too long",
                None => "stopped",
            }
        }
        Err(error) => {
            tracing::warn!("a hook cannot be started: {error}");
            "failed"
        }
    };
    service.metrics().count("coven_hooks_total", &[("ended", ended)], 1);
    tracing::info!(workflow = %id, status, ended, "a hook ran");
}

fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}
