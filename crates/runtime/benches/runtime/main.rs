//! What owning processes costs: panes by the thousand started, idle and stopped, output from a
//! pane to the screen and the disk, and adopting. Writes its section of docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench runtime                      measure and write docs/benchmarks.md
//! cargo xtask bench runtime -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench runtime -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]
#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

mod adopting;
mod fleet;
mod output;
mod proc;
mod report;
mod scale;

use std::io;
use std::time::Duration;

use coven_testkit::bench::arguments::{self, Arguments};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use fleet::Kind;

/// How much to measure.
struct Plan {
    /// How many panes are started, and how long they are left alone before they are stopped.
    scales: &'static [(usize, Duration)],
    /// Bytes of each stream of output.
    stream: usize,
    /// How often each subject reads each stream.
    rounds: usize,
    /// Bytes that a job has printed when it is adopted.
    adopted: usize,
    /// How often it is adopted.
    adoptions: usize,
}

const FULL: Plan = Plan {
    scales: &[(200, Duration::ZERO), (1000, Duration::from_secs(30))],
    stream: 64_000_000,
    rounds: 3,
    adopted: 16_000_000,
    adoptions: 20,
};
const QUICK: Plan = Plan {
    scales: &[(200, Duration::from_secs(3))],
    stream: 4_000_000,
    rounds: 1,
    adopted: 6_000_000,
    adoptions: 3,
};

enum Run {
    Measure {
        plan: Plan,
        arguments: Arguments,
    },
    /// One domain at one scale, in a process of its own.
    Scale {
        kind: Kind,
        count: usize,
        idle: Duration,
    },
}

fn main() -> io::Result<()> {
    raise_descriptor_limit()?;
    match run()? {
        Run::Measure { plan, arguments } => measure(&plan, &arguments),
        Run::Scale { kind, count, idle } => scale::child(kind, count, idle),
    }
}

/// A thousand panes need more descriptors than a process may have unless it asks.
fn raise_descriptor_limit() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?)
}

fn run() -> io::Result<Run> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), Some(scale::ARGUMENT))?;
    match arguments.own.as_slice() {
        [] => Ok(Run::Measure { plan: if arguments.quick { QUICK } else { FULL }, arguments }),
        [_, count, idle, kind] => {
            let number = |text: &String| text.parse::<u64>().map_err(io::Error::other);
            let (count, idle) = (number(count)? as usize, Duration::from_millis(number(idle)?));
            Ok(Run::Scale { kind: Kind::named(kind)?, count, idle })
        }
        _ => Err(io::Error::other(format!("{} needs three values", scale::ARGUMENT))),
    }
}

fn measure(plan: &Plan, arguments: &Arguments) -> io::Result<()> {
    let scales = scale::measure(plan.scales)?;
    let directory = coven_testkit::folders::temporary()?;
    let streams = output::streams(plan.stream, directory.path())?;
    let cpu = output::measure(&streams, plan.rounds, directory.path())?;
    let adoptions = adopting::measure(plan, directory.path())?;
    let section = report::section(plan, &scales, &streams, &cpu, &adoptions);
    println!("{section}");
    if let Some(path) = arguments.publish(&section)? {
        eprintln!("written to {}", path.display());
    }
    Ok(())
}
