//! Sessions that wait for a person: the memory they take, and taking them up again.

use std::error::Error;
use std::time::{Duration, Instant};

use coven_model::WorkflowStatus;
use coven_orchestrator::Orchestrator;

use crate::place::{Place, memory, scripts};
use crate::{CONCURRENT_SESSIONS, Plan, steps};

/// What sessions that wait take.
pub(crate) struct Waiting {
    /// Memory of each, in KiB.
    pub(crate) memory: f64,
    /// Making all of them, until each waits.
    pub(crate) made: Duration,
    /// Opening the base directory, until each waits again.
    pub(crate) taken_up: Duration,
}

pub(crate) async fn measure() -> Result<Waiting, Box<dyn Error>> {
    let place = Place::new()?;
    let orchestrator = place.open().await?;
    let definition = scripts(0, true);
    // The first one brings what all share.
    waits(&orchestrator, &definition).await?;
    let before = memory();
    let begun = Instant::now();
    for _ in 0..CONCURRENT_SESSIONS {
        waits(&orchestrator, &definition).await?;
    }
    let made = begun.elapsed();
    let memory = (memory().saturating_sub(before)) as f64 / CONCURRENT_SESSIONS as f64;
    orchestrator.close().await;
    drop(orchestrator);

    let begun = Instant::now();
    let orchestrator = place.open().await?;
    for entry in orchestrator.list() {
        let controller = orchestrator.controller(&entry.id).ok_or("it is not live")?;
        controller.snapshot().view().cloned().ok_or("it has no view")?;
    }
    let taken_up = begun.elapsed();
    orchestrator.close().await;
    Ok(Waiting { memory, made, taken_up })
}

async fn waits(orchestrator: &Orchestrator, definition: &str) -> Result<(), Box<dyn Error>> {
    let id = orchestrator.execute_workflow(Place::session(definition)).await?;
    let controller = orchestrator.controller(&id).ok_or("it is not live")?;
    if controller.wait(true).await != WorkflowStatus::Blocked {
        return Err("a run did not wait".into());
    }
    Ok(())
}

/// Taking up one session with a long journal. Says how many facts it has, and how long it took
/// until the session answered.
pub(crate) async fn long(plan: &Plan) -> Result<(u64, Duration), Box<dyn Error>> {
    // A script makes three facts or more; how many there are is counted below.
    let definition = scripts(plan.facts / 4, true);
    let mut best = (0, Duration::MAX);
    for _ in 0..plan.rounds {
        let place = Place::new()?;
        let written = steps::write(&place, &definition)?;
        if written.status != WorkflowStatus::Blocked {
            return Err("the long run does not wait".into());
        }
        let begun = Instant::now();
        let orchestrator = place.open().await?;
        let controller = orchestrator.controller(&written.id).ok_or("it is not live")?;
        controller.snapshot().view().cloned().ok_or("it has no view")?;
        let took = begun.elapsed();
        orchestrator.close().await;
        let folder = place.path().join(".coven/sessions").join(written.id.as_str());
        let journal = std::fs::read_to_string(folder.join("journal.jsonl"))?;
        let facts = journal.lines().count() as u64 - 1;
        if took < best.1 {
            best = (facts, took);
        }
    }
    Ok(best)
}
