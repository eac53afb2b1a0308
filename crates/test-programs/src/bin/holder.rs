//! A holder on its own: what `coven hold` does, without the rest of `coven`. Apart from the agent,
//! because benchmarks measure what a holder takes.

use std::process::ExitCode;

fn main() -> ExitCode {
    coven_testkit::agent::hold_from_args()
}
