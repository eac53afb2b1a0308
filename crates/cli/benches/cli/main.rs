//! How long the command line takes from the shell's view: starting up, and looking at ten
//! thousand sessions through the daemon; against a program that does nothing, in the same run.
//! Writes its section of docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench cli                      measure and write docs/benchmarks.md
//! cargo xtask bench cli -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench cli -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]

mod home;
mod report;

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use coven_testkit::bench::arguments;

use self::home::Home;

/// How much to measure.
struct Plan {
    sessions: usize,
    /// How often each command is run; the median counts.
    rounds: usize,
}

const FULL: Plan = Plan { sessions: 10_000, rounds: 41 };
const QUICK: Plan = Plan { sessions: 500, rounds: 5 };

/// One command and how long it took.
struct Row {
    name: &'static str,
    median: Duration,
    slowest: Duration,
}

fn main() -> io::Result<()> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), None)?;
    let plan = if arguments.quick { QUICK } else { FULL };
    eprintln!("making {} sessions", plan.sessions);
    let home = Home::new(plan.sessions)?;
    let start = Instant::now();
    home.run(&["daemon", "start"])?;
    let first = start.elapsed();
    // The first look waits until the daemon has found everything again.
    home.run(&["ls"])?;
    let found = start.elapsed();
    let mut rows = vec![measure(&plan, "/bin/true", || Command::new("/bin/true"))?];
    let commands: [(&'static str, &[&str]); 6] = [
        ("coven --version", &["--version"]),
        ("coven ls", &["ls"]),
        ("coven ls --all", &["ls", "--all"]),
        ("coven ls --search", &["ls", "--search", "brisk-otter-77"]),
        ("coven show NAME", &["show", &home.real]),
        ("coven", &[]),
    ];
    for (name, args) in commands {
        eprintln!("{name}");
        rows.push(measure(&plan, name, || home.command(args))?);
    }
    home.run(&["daemon", "stop"])?;
    let section = report::section(&plan, first, found, &rows);
    println!("{section}");
    if let Some(path) = arguments.publish(&section)? {
        eprintln!("written to {}", path.display());
    }
    Ok(())
}

fn measure(plan: &Plan, name: &'static str, make: impl Fn() -> Command) -> io::Result<Row> {
    let mut times = Vec::new();
    for _ in 0..plan.rounds {
        let mut command = make();
        let start = Instant::now();
        let output = command.output()?;
        times.push(start.elapsed());
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
    }
    times.sort_unstable();
    let slowest = times.last().copied().unwrap_or_default();
    Ok(Row { name, median: times[times.len() / 2], slowest })
}
