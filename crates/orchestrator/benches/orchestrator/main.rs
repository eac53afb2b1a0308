//! What running sessions costs: durable steps per second with a process for each and without one,
//! memory per session that waits, many sessions at once, and taking all of them up again. Writes
//! its section of docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench orchestrator                      measure and write docs/benchmarks.md
//! cargo xtask bench orchestrator -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench orchestrator -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]
#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

mod compared;
mod place;
mod report;
mod running;
mod steps;
mod waiting;

use std::error::Error;

use coven_testkit::bench::arguments::{self, Arguments};

use crate::report::Measured;

/// How much to measure.
struct Plan {
    /// Steps of a run whose jobs are processes.
    processes: usize,
    /// Steps of a run whose jobs are none.
    in_process: usize,
    /// Facts of a journal that is taken up.
    facts: usize,
    /// Files of a folder that is looked at before and after a job.
    compared: usize,
    /// How often each thing is measured; the best counts.
    rounds: usize,
}

const FULL: Plan =
    Plan { processes: 200, in_process: 3000, facts: 10_000, compared: 100_000, rounds: 3 };
const QUICK: Plan =
    Plan { processes: 20, in_process: 300, facts: 1000, compared: 10_000, rounds: 1 };

/// How many sessions share the steps where several actors write at once.
const ACTORS: usize = 10;

/// How many sessions there are where there are many.
const CONCURRENT_SESSIONS: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), None)?;
    let plan = if arguments.quick { QUICK } else { FULL };
    let reactor = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    reactor.block_on(measure(&plan, &arguments))
}

async fn measure(plan: &Plan, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let load = place::load();
    // First, while nothing else has been allocated and freed in this process.
    eprintln!("sessions that wait");
    let waiting = waiting::measure().await?;
    eprintln!("steps without a process");
    let alone = steps::measure(plan)?;
    eprintln!("steps without a process, with the actor");
    let gated = [running::gated(plan, 1).await?, running::gated(plan, ACTORS).await?];
    eprintln!("steps with a process");
    let processes = running::sequential(plan).await?;
    eprintln!("many sessions at once");
    let many = running::many(plan).await?;
    eprintln!("a long journal");
    let long = waiting::long(plan).await?;
    eprintln!("a job that may only read");
    let compared = compared::measure(plan).await?;
    let measured = Measured { alone, gated, processes, many, waiting, long, compared };
    let section = report::section(plan, &load, &measured);
    println!("{section}");
    if let Some(path) = arguments.publish(&section)? {
        eprintln!("written to {}", path.display());
    }
    Ok(())
}
