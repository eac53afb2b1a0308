//! Steps of sessions with their actors: gates that are answered at once, and jobs that are
//! processes, in one session and in many at once.

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use coven_model::event::InterventionDecision;
use coven_model::{InterventionChoice, WorkflowStatus};
use coven_orchestrator::{NewSession, Orchestrator, PublishedEvent};

use crate::place::{Place, gates, scripts};
use crate::{CONCURRENT_SESSIONS, Plan};

/// What a run of steps takes, and as many processes alone.
pub(crate) struct Ran {
    pub(crate) steps: usize,
    pub(crate) took: Duration,
    /// Starting as many shells one after the other, with nothing around them.
    pub(crate) bare: Duration,
}

/// Gates one after the other in one session, each answered as soon as it is published: what a
/// session's actor takes for a durable step without a process.
pub(crate) async fn gated(plan: &Plan, sessions: usize) -> Result<Duration, Box<dyn Error>> {
    let definition = gates(plan.in_process / sessions);
    let mut best = Duration::MAX;
    for _ in 0..plan.rounds {
        let place = Place::new()?;
        let orchestrator = place.open().await?;
        let begun = Instant::now();
        let mut runs = tokio::task::JoinSet::new();
        for _ in 0..sessions {
            runs.spawn(answer_all(orchestrator.clone(), Place::session(&definition)));
        }
        while let Some(run) = runs.join_next().await {
            run?.map_err(|error| error.to_string())?;
        }
        best = best.min(begun.elapsed());
        orchestrator.close().await;
    }
    Ok(best)
}

/// Runs a session and answers whatever it asks.
async fn answer_all(
    orchestrator: Orchestrator,
    new: NewSession,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let id = orchestrator.execute_workflow(new).await?;
    let mut events = orchestrator.subscribe(&id, 0).await?;
    while let Some(envelope) = events.next().await? {
        let PublishedEvent::Fact { event, .. } = envelope.what else { continue };
        match &*event {
            coven_model::SessionEvent::InterventionRequired { intervention, .. } => {
                let decision = InterventionDecision::new(InterventionChoice::Approve, "bench");
                orchestrator.answer(&intervention.id, decision, None).await?;
            }
            coven_model::SessionEvent::WorkflowCompleted { .. } => return Ok(()),
            _ => {}
        }
    }
    Err("the run did not complete".into())
}

/// Steps one after the other in one session.
pub(crate) async fn sequential(plan: &Plan) -> Result<Ran, Box<dyn Error>> {
    let definition = scripts(plan.processes, false);
    let mut best = Duration::MAX;
    for _ in 0..plan.rounds {
        let place = Place::new()?;
        let orchestrator = place.open().await?;
        let begun = Instant::now();
        let id = orchestrator.execute_workflow(Place::session(&definition)).await?;
        let controller = orchestrator.controller(&id).ok_or("it is not live")?;
        if controller.wait(false).await != WorkflowStatus::Completed {
            return Err("a run did not complete".into());
        }
        best = best.min(begun.elapsed());
        orchestrator.close().await;
    }
    Ok(Ran { steps: plan.processes, took: best, bare: shells(plan.processes)? })
}

/// As many shells that do nothing, one after the other.
fn shells(count: usize) -> Result<Duration, Box<dyn Error>> {
    let begun = Instant::now();
    for _ in 0..count {
        let status = Command::new("bash").args(["-euo", "pipefail", "-c", "true"]).status()?;
        if !status.success() {
            return Err("a shell failed".into());
        }
    }
    Ok(begun.elapsed())
}

/// Many sessions at once, of some steps each.
pub(crate) async fn many(plan: &Plan) -> Result<Ran, Box<dyn Error>> {
    const STEPS: usize = 3;
    let definition = scripts(STEPS, false);
    let place = Place::new()?;
    let orchestrator = place.open().await?;
    let begun = Instant::now();
    let mut controllers = Vec::new();
    for _ in 0..CONCURRENT_SESSIONS {
        let id = orchestrator.execute_workflow(Place::session(&definition)).await?;
        controllers.push(orchestrator.controller(&id).ok_or("it is not live")?);
    }
    for controller in controllers {
        if controller.wait(false).await != WorkflowStatus::Completed {
            return Err("a run did not complete".into());
        }
    }
    let took = begun.elapsed();
    orchestrator.close().await;
    let steps = CONCURRENT_SESSIONS * STEPS;
    let bare = shells(plan.processes)?.mul_f64(steps as f64 / plan.processes as f64);
    Ok(Ran { steps, took, bare })
}
