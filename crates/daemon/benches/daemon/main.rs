//! What the daemon costs and how quick it is: from an agent's paint to an event at a client,
//! attaching, listing and starting with ten thousand sessions, many followers, many idle agents;
//! and in the same run what a tool gets that asks tmux every half second. Writes its section of
//! docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench daemon                      measure and write docs/benchmarks.md
//! cargo xtask bench daemon -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench daemon -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]
#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

mod attaching;
mod followers;
mod idle;
mod place;
mod polling;
mod questions;
mod report;
mod sessions;

use std::io;
use std::time::Duration;

use coven_testkit::bench::arguments;

/// How much to measure.
struct Plan {
    /// Agents that ask at once, and how often each does.
    agents: usize,
    questions: usize,
    /// How often a viewer attaches.
    attaches: usize,
    /// Sessions that are listed.
    sessions: usize,
    followers: &'static [usize],
    /// Steps of the run they follow.
    steps: usize,
    /// Agents that do nothing.
    idle: usize,
    /// How long they are watched.
    watched: Duration,
}

const FULL: Plan = Plan {
    agents: 20,
    questions: 20,
    attaches: 200,
    sessions: 10_000,
    followers: &[1, 100, 1000],
    steps: 100,
    idle: 1000,
    watched: Duration::from_secs(20),
};
const QUICK: Plan = Plan {
    agents: 20,
    questions: 3,
    attaches: 20,
    sessions: 500,
    followers: &[1, 100],
    steps: 20,
    idle: 40,
    watched: Duration::from_secs(3),
};

fn main() -> io::Result<()> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), None)?;
    let plan = if arguments.quick { QUICK } else { FULL };
    let reactor = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let section = reactor.block_on(measure(&plan))?;
    print!("{section}");
    arguments.publish(&section).map(drop)
}

async fn measure(plan: &Plan) -> io::Result<String> {
    eprintln!("questions");
    let questions = questions::measure(plan).await?;
    eprintln!("polling");
    let polling = polling::measure(plan).await?;
    eprintln!("attaching");
    let attaching = attaching::measure(plan).await?;
    eprintln!("sessions");
    let sessions = sessions::measure(plan).await?;
    eprintln!("followers");
    let followers = followers::measure(plan).await?;
    eprintln!("idle");
    let idle = idle::measure(plan).await?;
    Ok(report::section(
        plan,
        &questions,
        polling.as_ref(),
        &attaching,
        &sessions,
        &followers,
        &idle,
    ))
}

struct Times(Vec<Duration>);

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time that this share of all does not exceed.
    fn at(&self, share: f64) -> Duration {
        let index = (self.0.len().saturating_sub(1) as f64 * share).round() as usize;
        self.0.get(index).copied().unwrap_or_default()
    }
}
