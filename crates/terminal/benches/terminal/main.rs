//! What reading a terminal costs: CPU time per MB of output, and memory per screen, against the
//! bare emulator and tmux in the same run. Writes its section of docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench terminal                      measure and write docs/benchmarks.md
//! cargo xtask bench terminal -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench terminal -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]
#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

mod memory;
mod report;
mod streams;
mod subjects;

use std::env;
use std::io;

use coven_testkit::bench::arguments::{self, Arguments};

/// How much to measure.
struct Plan {
    /// Bytes of each stream.
    stream: usize,
    /// How often each subject reads each stream.
    rounds: usize,
    /// Screens per process when memory is measured.
    screens: usize,
}

/// Enough for tmux, whose CPU time the kernel tells in hundredths of a second.
const FULL: Plan = Plan { stream: 16_000_000, rounds: 7, screens: 200 };
const QUICK: Plan = Plan { stream: 1_000_000, rounds: 1, screens: 20 };

enum Run {
    Measure {
        plan: Plan,
        arguments: Arguments,
    },
    /// One case of the memory benchmark, in a process of its own.
    Memory {
        subject: String,
        case: String,
        screens: String,
    },
}

fn main() -> io::Result<()> {
    match run()? {
        Run::Measure { plan, arguments } => measure(&plan, &arguments),
        Run::Memory { subject, case, screens } => memory::child(&subject, &case, &screens),
    }
}

fn run() -> io::Result<Run> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), Some(memory::ARGUMENT))?;
    match arguments.own.as_slice() {
        [] => Ok(Run::Measure { plan: if arguments.quick { QUICK } else { FULL }, arguments }),
        [_, subject, case, screens] => {
            let [subject, case, screens] = [subject, case, screens].map(Clone::clone);
            Ok(Run::Memory { subject, case, screens })
        }
        _ => Err(io::Error::other(format!("{} needs three values", memory::ARGUMENT))),
    }
}

fn measure(plan: &Plan, arguments: &Arguments) -> io::Result<()> {
    let folder = streams::Folder::new()?;
    let streams = streams::all(plan.stream, &folder)?;
    let cpu = subjects::measure(&streams, plan.rounds, &folder)?;
    let attach: Vec<_> = streams.iter().map(subjects::attach).collect();
    eprintln!("memory");
    let memory = memory::measure(plan.screens)?;
    let section = report::section(plan, &streams, &cpu, &attach, &memory);
    println!("{section}");
    if let Some(path) = arguments.publish(&section)? {
        eprintln!("written to {}", path.display());
    }
    Ok(())
}
