//! `cargo xtask upgrade`: an older build beside this one. Builds a commit of the past, lets its
//! daemon and its holders run agents, and has this tree's build go on with them. Opt-in: it builds
//! everything a second time, in target/upgrade/.

use std::path::Path;
use std::process::Command;

use crate::cargo;
use crate::error::Error;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The older commit: the first one that had a daemon, unless named
    #[arg(long, value_name = "COMMIT", default_value = FIRST)]
    from: String,
}

/// The first commit with a daemon and a command line that uses it.
const FIRST: &str = "a4bc6c2";

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let folder = cargo::root().join("target/upgrade");
    let sources = folder.join("sources");
    if sources.exists() {
        git(&sources, &["checkout", "--quiet", "--force", "--detach", &args.from])?;
    } else {
        let place = sources.to_string_lossy();
        // A clone of its own leaves the list of worktrees here as it is.
        git(&cargo::root(), &["clone", "--quiet", "--shared", "--no-checkout", ".", &place])?;
        git(&sources, &["checkout", "--quiet", "--detach", &args.from])?;
    }
    let build = ["build", "--package", "coven-cli", "--bin", "coven"];
    let ended = cargo::command(&build)
        .current_dir(&sources)
        .env("CARGO_TARGET_DIR", folder.join("build"))
        .status();
    cargo::finish(&build, ended)?;
    let line = ["test", "--package", "coven-cli", "--test", "cli", "upgrade::"];
    let line = [&line[..], &["--", "--ignored", "--nocapture"]].concat();
    let ended = cargo::command(&line).env("COVEN_OLDER", folder.join("build/debug/coven")).status();
    cargo::finish(&line, ended)
}

fn git(folder: &Path, args: &[&str]) -> Result<(), Error> {
    let mut command = Command::new("git");
    cargo::succeed(command.args(args).current_dir(folder))
}
