//! What reading a terminal costs: CPU time per MB of output, and memory per screen, against the
//! bare emulator and tmux in the same run. Writes its section of docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench terminal                      measure and write docs/benchmarks.md
//! cargo xtask bench terminal -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench terminal -- --quick           a short look, printed only
//! ```

#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

mod memory;
mod report;
mod streams;
mod subjects;

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use coven_testkit::bench::page;

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
        write: Option<PathBuf>,
    },
    /// One case of the memory benchmark, in a process of its own.
    Memory {
        subject: String,
        case: String,
        screens: String,
    },
}

fn main() -> io::Result<()> {
    match arguments(env::args().skip(1))? {
        Run::Measure { plan, write } => measure(&plan, write.as_deref()),
        Run::Memory { subject, case, screens } => memory::child(&subject, &case, &screens),
    }
}

fn arguments(mut arguments: impl Iterator<Item = String>) -> io::Result<Run> {
    let value = |name: &str, from: Option<String>| {
        from.ok_or_else(|| io::Error::other(format!("{name} needs a value")))
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut write = Some(root.join("docs/benchmarks.md"));
    let mut plan = FULL;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo says that it is a benchmark it runs.
            "--bench" => {}
            "--quick" => (plan, write) = (QUICK, None),
            "--write" => write = Some(root.join(value("--write", arguments.next())?)),
            memory::ARGUMENT => {
                return Ok(Run::Memory {
                    subject: value(memory::ARGUMENT, arguments.next())?,
                    case: value(memory::ARGUMENT, arguments.next())?,
                    screens: value(memory::ARGUMENT, arguments.next())?,
                });
            }
            _ => {
                let message =
                    format!("unknown argument {argument}; there are --quick and --write PATH");
                return Err(io::Error::other(message));
            }
        }
    }
    Ok(Run::Measure { plan, write })
}

fn measure(plan: &Plan, write: Option<&Path>) -> io::Result<()> {
    let folder = streams::Folder::new()?;
    let streams = streams::all(plan.stream, &folder)?;
    let cpu = subjects::measure(&streams, plan.rounds, &folder)?;
    let attach: Vec<_> = streams.iter().map(subjects::attach).collect();
    eprintln!("memory");
    let memory = memory::measure(plan.screens)?;
    let section = report::section(plan, &streams, &cpu, &attach, &memory);
    println!("{section}");
    if let Some(path) = write {
        page::write(path, &section)?;
        eprintln!("written to {}", path.display());
    }
    Ok(())
}
