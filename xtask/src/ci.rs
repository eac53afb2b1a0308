//! `cargo xtask ci`: what a change must pass before it lands, cheapest check first.

use std::time::Instant;

use crate::error::Error;
use crate::{cargo, test, tidy};

type Step = (&'static str, fn() -> Result<(), Error>);

const STEPS: [Step; 4] = [
    ("formatting", || cargo::run(&["fmt", "--all", "--check"])),
    ("clippy", || cargo::run(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
    ("tidy", tidy::run),
    ("tests", || test::run(&test::Args::default())),
];

/// Runs the steps in order and stops at the first that fails.
pub(crate) fn run() -> Result<(), Error> {
    let start = Instant::now();
    let outcome = STEPS.iter().try_for_each(|(name, step)| {
        eprintln!("== {name}");
        step()
    });
    let word = if outcome.is_ok() { "passed" } else { "failed" };
    eprintln!("== {word} after {:.0?}", start.elapsed());
    outcome
}
