//! `cargo xtask soak`: the survival tests, again and again and with more output. The test command
//! runs the same ones a few times each.

use crate::cargo;
use crate::error::Error;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often hostile processes are stopped and holders killed
    #[arg(long, value_name = "N", default_value_t = 200)]
    stops: u32,
    /// How often a creator is killed during a flood of output
    #[arg(long, value_name = "N", default_value_t = 50)]
    floods: u32,
    /// How much output a flood is
    #[arg(long, value_name = "BYTES", default_value_t = 200_000_000)]
    bytes: u64,
    /// Leave out killing the keeper of a session after each of its records
    #[arg(long)]
    no_records: bool,
}

const STOPS: &[&str] = &[
    "survival::hostile_children_never_survive_a_stop",
    "survival::a_killed_holder_leaves_nothing_after_adoption",
];

const FLOODS: &[&str] = &["survival::a_creator_killed_during_a_flood_loses_nothing"];

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    repeat(STOPS, args.stops, args.bytes)?;
    repeat(FLOODS, args.floods, args.bytes)?;
    if args.no_records { Ok(()) } else { kill_at_every_record() }
}

/// Kills the keeper of a session after each of its records.
fn kill_at_every_record() -> Result<(), Error> {
    let test = "killed::a_run_that_is_killed_at_any_record_ends_as_if_it_had_not_been";
    let line = [
        "test",
        "--package",
        "coven-orchestrator",
        "--test",
        "orchestrator",
        "--",
        "--exact",
        test,
    ];
    eprintln!("== a kill at every record");
    let ended = cargo::command(&line).env("COVEN_TEST_EVERY_RECORD", "1").status();
    cargo::finish(&line, ended)
}

fn repeat(tests: &[&str], runs: u32, bytes: u64) -> Result<(), Error> {
    if runs == 0 {
        return Ok(());
    }
    let mut line = vec!["test", "--release", "--package", "coven-runtime", "--test", "runtime"];
    line.extend(["--", "--exact", "--nocapture"]);
    line.extend(tests);
    eprintln!("== {runs} runs of {}", tests.join(", "));
    let ended = cargo::command(&line)
        .env("COVEN_SOAK_RUNS", runs.to_string())
        .env("COVEN_SOAK_BYTES", bytes.to_string())
        .status();
    cargo::finish(&line, ended)
}
