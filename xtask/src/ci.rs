//! `cargo xtask ci`: what a change must pass before it lands, cheapest check first.

use std::process::Command;
use std::time::Instant;

use crate::error::Error;
use crate::{cargo, test, tidy};

type Step = (&'static str, fn() -> Result<(), Error>);

const STEPS: [Step; 5] = [
    ("formatting", || cargo::run(&["fmt", "--all", "--check"])),
    ("clippy", || cargo::run(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
    ("tidy", tidy::run),
    ("dependencies", dependencies),
    ("tests", || test::run(&test::Args::default())),
];

/// Holds what we depend on against `deny.toml`, where `cargo-deny` is installed. Advisories are
/// left out: they are fetched from the network, and change without a change of ours.
fn dependencies() -> Result<(), Error> {
    let installed = Command::new("cargo").args(["deny", "--version"]).output();
    if installed.is_ok_and(|output| output.status.success()) {
        return cargo::run(&["deny", "check", "bans", "licenses", "sources"]);
    }
    eprintln!("dependencies: not checked, cargo-deny is not installed: cargo install cargo-deny");
    Ok(())
}

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
