//! Steps whose jobs are processes, in one session and in many at once.

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use coven_model::WorkflowStatus;

use crate::place::{Place, scripts};
use crate::{MANY, Plan};

/// What a run of steps takes, and as many processes alone.
pub(crate) struct Ran {
    pub(crate) steps: usize,
    pub(crate) took: Duration,
    /// Starting as many shells one after the other, with nothing around them.
    pub(crate) bare: Duration,
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
        let controller = orchestrator.controller(&id).await.ok_or("it is not live")?;
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
    for _ in 0..MANY {
        let id = orchestrator.execute_workflow(Place::session(&definition)).await?;
        controllers.push(orchestrator.controller(&id).await.ok_or("it is not live")?);
    }
    for controller in controllers {
        if controller.wait(false).await != WorkflowStatus::Completed {
            return Err("a run did not complete".into());
        }
    }
    let took = begun.elapsed();
    orchestrator.close().await;
    let steps = MANY * STEPS;
    let bare = shells(plan.processes)?.mul_f64(steps as f64 / plan.processes as f64);
    Ok(Ran { steps, took, bare })
}
