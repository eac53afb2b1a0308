//! The project's own chores, so that a person and the machine that guards the main branch run the
//! same thing: `cargo xtask --help` lists them. One file per verb.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "chores talk to the terminal")]

mod attack;
mod bench;
mod browser;
mod cargo;
mod check_darwin;
mod ci;
mod drift;
mod error;
mod fuzz;
mod numbers;
mod real_agents;
mod schemathesis;
mod screenshots;
mod soak;
mod test;
mod tidy;
mod upgrade;
mod web;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The chores of the Coven workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run every test of the workspace
    Test(test::Args),
    /// Check what the compiler cannot: layers, headers, lengths, printing, spec ids, links
    Tidy,
    /// Count names, comments and lines, to compare two states of the code
    Numbers(numbers::Args),
    /// Measure, in release mode, and write the numbers to docs/benchmarks.md
    Bench(bench::Args),
    /// Fuzz the parsers that read what agents write
    Fuzz(fuzz::Args),
    /// Kill creators, holders and hostile processes hundreds of times
    Soak(soak::Args),
    /// Attack the built program in ways that need root, namespaces, sshd or a browser
    Attack(attack::Args),
    /// Install the real agent CLIs and drive them offline; writes docs/real-agents.md
    RealAgents(real_agents::Args),
    /// Drive published versions of the agent CLIs offline; writes docs/drift.md and fixtures/drift
    Drift(drift::Args),
    /// Hold the API against its document with made-up requests
    Schemathesis(schemathesis::Args),
    /// Let an older build and this one share their sessions, agents and daemon
    Upgrade(upgrade::Args),
    /// Build the page, and hold what is committed against it
    Web(web::Args),
    /// Take pictures of the page in every size, dark and light
    Screenshots(screenshots::Args),
    /// Check that everything that ships type-checks for macOS
    CheckDarwin,
    /// Everything a change must pass: formatting, clippy, tidy, tests
    Ci,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::Test(args) => test::run(&args),
        Verb::Tidy => tidy::run(),
        Verb::Numbers(args) => numbers::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Fuzz(args) => fuzz::run(&args),
        Verb::Soak(args) => soak::run(&args),
        Verb::Attack(args) => attack::run(&args),
        Verb::RealAgents(args) => real_agents::run(&args),
        Verb::Drift(args) => drift::run(&args),
        Verb::Schemathesis(args) => schemathesis::run(&args),
        Verb::Upgrade(args) => upgrade::run(&args),
        Verb::Web(args) => web::run(&args),
        Verb::Screenshots(args) => screenshots::run(&args),
        Verb::CheckDarwin => check_darwin::run(),
        Verb::Ci => ci::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::FAILURE
        }
    }
}
