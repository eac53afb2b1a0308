//! `cargo xtask schemathesis`: requests made up from the API's own document, against the real
//! daemon, and every answer held against the document. Opt-in: it installs the program that makes
//! them up, from `PyPI`, into target/schemathesis/.

use std::process::Command;

use crate::cargo;
use crate::error::Error;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Passed on to `schemathesis run`
    #[arg(last = true)]
    rest: Vec<String>,
}

const SCHEMATHESIS_VERSION: &str = "4.32.5";

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let folder = cargo::root().join("target/schemathesis").join(SCHEMATHESIS_VERSION);
    let program = folder.join("bin/schemathesis");
    if !program.exists() {
        eprintln!("installing schemathesis {SCHEMATHESIS_VERSION} in {}", folder.display());
        let mut python = Command::new("python3");
        cargo::succeed(python.args(["-m", "venv", "--clear"]).arg(&folder))?;
        let mut pip = Command::new(folder.join("bin/pip"));
        let package = format!("schemathesis=={SCHEMATHESIS_VERSION}");
        cargo::succeed(pip.args(["install", "--quiet", &package]))?;
    }
    let line = [
        "test",
        "--package",
        "coven-daemon",
        "--test",
        "daemon",
        "schemathesis::",
        "--",
        "--ignored",
        "--nocapture",
    ];
    let ended = cargo::command(&line)
        .env("COVEN_SCHEMATHESIS", &program)
        .env("COVEN_SCHEMATHESIS_ARGS", args.rest.join(" "))
        .status();
    cargo::finish(&line, ended)
}
