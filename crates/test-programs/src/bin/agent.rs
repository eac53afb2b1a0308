//! The demo agent and the holder it runs under: what `coven demo-agent` and `coven hold` do,
//! without the rest of `coven`.

use std::process::ExitCode;

fn main() -> ExitCode {
    coven_testkit::agent::main()
}
