//! What keeping sessions costs: durable facts per second, replaying a journal, listing, and
//! writing views; against a bare append and sync in the same run. Writes its section of
//! docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench store                      measure and write docs/benchmarks.md
//! cargo xtask bench store -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench store -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]
#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

mod appends;
mod listing;
mod replay;
mod report;
mod views;

use std::io;
use std::time::{Duration, Instant};

use coven_model::{SessionId, Timestamp};
use coven_store::{BaseDir, SealKey, SessionAuthority};
use coven_testkit::bench::arguments::{self, Arguments};
use coven_testkit::bench::cpu;

/// How much to measure.
struct Plan {
    /// Facts that one session records.
    single: usize,
    /// Facts that each of a hundred sessions records.
    each: usize,
    /// How long journals are that are replayed.
    journals: &'static [usize],
    /// Sessions that are listed.
    sessions: usize,
    /// How often each thing is measured; the best counts.
    rounds: usize,
}

const FULL: Plan = Plan {
    single: 3000,
    each: 100,
    journals: &[1000, 10_000, 100_000],
    sessions: 10_000,
    rounds: 5,
};
const QUICK: Plan =
    Plan { single: 300, each: 10, journals: &[1000, 10_000], sessions: 1000, rounds: 1 };

/// How many sessions record at the same time.
const CONCURRENT_SESSIONS: usize = 100;

/// The time of every fact.
const FACT_TIME: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn main() -> io::Result<()> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), None)?;
    let plan = if arguments.quick { QUICK } else { FULL };
    measure(&plan, &arguments)
}

fn measure(plan: &Plan, arguments: &Arguments) -> io::Result<()> {
    eprintln!("appends");
    let appends = appends::measure(plan)?;
    eprintln!("replay");
    let replays = replay::measure(plan)?;
    eprintln!("listing");
    let listing = listing::measure(plan)?;
    eprintln!("views");
    let views = views::measure(plan)?;
    let section = report::section(plan, &appends, &replays, &listing, &views);
    println!("{section}");
    if let Some(path) = arguments.publish(&section)? {
        eprintln!("written to {}", path.display());
    }
    Ok(())
}

fn id(number: usize) -> io::Result<SessionId> {
    let text = format!("01890a5d-ac96-774b-bcce-{number:012x}");
    SessionId::new(text).map_err(io::Error::other)
}

/// How long something takes, on the clock and in CPU time.
#[derive(Clone, Copy)]
struct Took {
    wall: Duration,
    cpu: Duration,
}

/// How long something takes, the least of some rounds.
fn took<T>(rounds: usize, mut work: impl FnMut() -> io::Result<T>) -> io::Result<Took> {
    let mut least = Took { wall: Duration::MAX, cpu: Duration::MAX };
    for _ in 0..rounds {
        let (start, before) = (Instant::now(), cpu::own());
        let done = work()?;
        least.wall = least.wall.min(start.elapsed());
        least.cpu = least.cpu.min(cpu::own().saturating_sub(before));
        drop(done);
    }
    Ok(least)
}

/// The same on the clock alone.
fn least<T>(rounds: usize, work: impl FnMut() -> io::Result<T>) -> io::Result<Duration> {
    Ok(took(rounds, work)?.wall)
}

/// A key, and jobs below the base directory itself.
pub(crate) fn authority(base: &BaseDir) -> SessionAuthority {
    SessionAuthority::new(SealKey::from_secret(&[7; 32]), base.path().join("jobs"))
}
