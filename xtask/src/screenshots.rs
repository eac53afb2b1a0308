//! `cargo xtask screenshots`: pictures of the page in a real browser against the real daemon, to be
//! looked at.

use std::path::PathBuf;

use crate::error::Error;
use crate::{browser, cargo};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder they go to
    #[arg(long, default_value = "target/screenshots")]
    out: PathBuf,
}

/// Runs the one test that makes pictures, which the usual tests leave out.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    browser::arrange()?;
    let line = [
        "test",
        "--package",
        "coven-daemon",
        "--test",
        "daemon",
        "page::screenshots",
        "--",
        "--ignored",
        "--nocapture",
    ];
    let out = cargo::root().join(&args.out);
    let ended = cargo::command(&line).env("COVEN_SCREENSHOTS", &out).status();
    cargo::finish(&line, ended)?;
    eprintln!("the pictures are in {}", out.display());
    Ok(())
}
